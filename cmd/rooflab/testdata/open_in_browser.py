"""Opens a notebook in JupyterLab with headless Chromium, runs all cells and
prints what the output areas show, one JSON list of texts, one per code cell.

usage: open_in_browser.py CHROMIUM LAB_URL_OF_THE_NOTEBOOK SCREENSHOT.png

JupyterLab must run with --LabApp.expose_app_in_browser=True. Exits with 1 and
says what the page shows when the cells have not run within the time limit.
"""
import base64, itertools, json, subprocess, sys, tempfile, time, urllib.request
import websocket

LIMIT = 180  # seconds; only turns a hang into a message
chromium, url, shot = sys.argv[1:]

# The page has no focus without a window, so JupyterLab has no current widget
# until one is activated.
PANEL = """window.jupyterapp && Array.from(window.jupyterapp.shell.widgets('main')).find(
  w => w.sessionContext && w.content && w.content.widgets)"""

STATE = """(() => {
  const panel = """ + PANEL + """;
  if (!panel) return {phase: window.jupyterapp ? 'no notebook' : 'loading'};
  const kernel = panel.sessionContext.session && panel.sessionContext.session.kernel;
  if (!kernel) return {phase: 'no kernel'};
  const code = panel.content.widgets.filter(w => w.model.type === 'code');
  return {phase: 'open', kernel: kernel.name, status: kernel.status,
    pending: code.filter(w => w.model.executionCount === null || w.node.querySelector('.jp-InputPrompt').textContent.includes('*')).length,
    outputs: code.map(w => w.outputArea.node.textContent),
    pictures: code.map(w => w.outputArea.node.querySelectorAll('img, svg').length),
    tables: code.map(w => w.outputArea.node.querySelectorAll('table').length)};
})()"""

with tempfile.TemporaryDirectory() as profile:
    browser = subprocess.Popen(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1200,1400",
         "--remote-debugging-port=0", "--remote-allow-origins=*", "--user-data-dir=" + profile, "about:blank"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        port = next(line.split(":")[2].split("/")[0] for line in browser.stderr if "DevTools listening on" in line)
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        page = next(t for t in targets if t["type"] == "page")
        ws = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=LIMIT)
        ids = itertools.count(1)

        def call(method, **params):
            n = next(ids)
            ws.send(json.dumps({"id": n, "method": method, "params": params}))
            while True:
                reply = json.loads(ws.recv())
                if reply.get("id") == n:
                    if "error" in reply:
                        sys.exit(f"{method}: {reply['error']}")
                    return reply["result"]

        def evaluate(js):
            return call("Runtime.evaluate", expression=js, returnByValue=True)["result"].get("value")

        call("Page.navigate", url=url)
        end, state, started = time.monotonic() + LIMIT, None, False
        while time.monotonic() < end:
            state = evaluate(STATE)
            if state and state["phase"] == "open":
                if not started and state["status"] == "idle":
                    evaluate("window.jupyterapp.shell.activateById((" + PANEL + ").id);"
                             "void window.jupyterapp.commands.execute('notebook:run-all-cells')")
                    started = True
                elif started and state["status"] == "idle" and state["pending"] == 0:
                    break
            time.sleep(0.2)  # between looks at the page; the condition above ends the loop
        else:
            sys.exit(f"not done after {LIMIT} s: {state}; the page shows: {evaluate('document.body.innerText')!r:.2000}")
        with open(shot, "wb") as f:
            f.write(base64.b64decode(call("Page.captureScreenshot")["data"]))
        print(json.dumps(state))
    finally:
        browser.terminate()
        browser.wait()
