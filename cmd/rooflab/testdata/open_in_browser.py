"""Opens a notebook in JupyterLab with headless Chromium, runs all cells, takes
a screenshot in the light and in the dark theme and prints what is shown as JSON.

usage: open_in_browser.py CHROMIUM LAB_URL_OF_THE_NOTEBOOK SCREENSHOT_FOLDER

JupyterLab must run with --LabApp.expose_app_in_browser=True. Exits with 1 and
says what the page shows when a condition has not come true within the limit.
"""
import base64, itertools, json, os, signal, subprocess, sys, tempfile, time, urllib.request
import websocket

LIMIT = 400  # seconds for everything; only turns a hang into a message
END = time.monotonic() + LIMIT
chromium, url, shots = sys.argv[1:]

# The page has no focus without a window, so JupyterLab has no current widget
# until one is activated.
PANEL = """(window.jupyterapp && Array.from(window.jupyterapp.shell.widgets('main')).find(
  w => w.sessionContext && w.content && w.content.widgets))"""

READY = """(() => {
  const panel = """ + PANEL + """;
  if (!panel) return {phase: window.jupyterapp ? 'no notebook' : 'loading'};
  const kernel = panel.sessionContext.session && panel.sessionContext.session.kernel;
  if (!kernel) return {phase: 'no kernel'};
  return {phase: 'open', ready: kernel.status === 'idle', status: kernel.status};
})()"""

RUN = "window.jupyterapp.shell.activateById(" + PANEL + """.id);
  window.ranAll = false;
  window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.ranAll = true; });
  void 0"""

# Prompts show * until the reply is there; outputs can still be on their way
# then, but not once the kernel is idle. Cells out of view may not be drawn yet.
RAN = """(() => {
  const panel = """ + PANEL + """, code = panel.content.widgets.filter(w => w.model.type === 'code');
  const status = panel.sessionContext.session.kernel.status;
  const waiting = code.filter(w => w.promptNode ? w.promptNode.textContent.includes('*') : w.model.executionCount === null).length;
  return {phase: 'running', ready: window.ranAll && status === 'idle' && waiting === 0, status, waiting,
    outputs: code.map(w => w.outputArea ? w.outputArea.node.textContent : '(not drawn)')};
})()"""

# The whole notebook is given room (cells not drawn yet have guessed heights), so
# that nothing of it is out of view. It was
# scrolled to the last cell, which ran last.
HEIGHT = """(() => {
  const panel = """ + PANEL + """;
  panel.content.activeCellIndex = 0;
  return panel.content.widgets.reduce((h, w) => h + 1.3 * w.node.scrollHeight + 20, 400);
})()"""

SHOWN = """(() => {
  const panel = """ + PANEL + """, code = panel.content.widgets.filter(w => w.model.type === 'code');
  const undrawn = code.filter(w => !w.promptNode || !w.outputArea || !w.node.isConnected || w.node.getBoundingClientRect().width === 0).length;
  if (undrawn) return {ready: false, undrawn};
  const size = e => { const r = e.getBoundingClientRect(); return {width: r.width, height: r.height}; };
  const pictures = w => Array.from(w.outputArea.node.querySelectorAll('img, svg')).filter(
    p => p.closest('.jp-RenderedImage, .jp-RenderedSVG, .jp-RenderedHTMLCommon'));  // not JupyterLab's own icons
  const all = code.flatMap(pictures);
  const scrolled = panel.node.querySelector('.jp-WindowedPanel-outer');
  scrolled.scrollTop = 0;
  return {
    ready: scrolled.scrollTop === 0 && all.every(p => p.tagName !== 'IMG' || p.complete),
    theme: document.body.dataset.jpThemeName,
    kernel: panel.sessionContext.session.kernel.name,
    toolbar: panel.toolbar.node.textContent,
    cells: code.map(w => ({
      prompt: w.promptNode.textContent,
      text: w.outputArea.node.textContent,
      errors: Array.from({length: w.model.outputs.length}, (_, i) => w.model.outputs.get(i)).filter(o => o.type === 'error').length,
      tables: Array.from(w.outputArea.node.querySelectorAll('table')).map(t => ({
        rows: t.tBodies[0] ? t.tBodies[0].rows.length : 0, ...size(t), colour: getComputedStyle(t).color})),
      pictures: pictures(w).map(p => ({...size(p),
        naturalWidth: p.naturalWidth === undefined ? size(p).width : p.naturalWidth,
        naturalHeight: p.naturalHeight === undefined ? size(p).height : p.naturalHeight})),
    }))};
})()"""


class Page:
    def __init__(self, ws):
        self.ws, self.ids = ws, itertools.count(1)

    def call(self, method, **params):
        n = next(self.ids)
        self.ws.send(json.dumps({"id": n, "method": method, "params": params}))
        while True:
            reply = json.loads(self.ws.recv())
            if reply.get("id") == n:
                if "error" in reply:
                    sys.exit(f"{method}: {reply['error']}")
                return reply["result"]

    def evaluate(self, js):
        result = self.call("Runtime.evaluate", expression=js, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"in the page: {result['exceptionDetails']}\nof {js}")
        return result["result"].get("value")

    def wait(self, what, js):
        state = None
        while time.monotonic() < END:
            state = self.evaluate(js)
            if state and state.get("ready"):
                return state
            time.sleep(0.2)  # between looks at the page; the condition above ends the loop
        text = self.evaluate("document.body.innerText")
        sys.exit(f"after {LIMIT} s still waiting for {what}: {state}; the page shows: {text!r:.2000}")


def look(page):
    page.call("Page.enable")
    page.call("Page.navigate", url=url)
    page.wait("the kernel", READY)
    page.evaluate(RUN)
    page.wait("all cells", RAN)
    page.call("Emulation.setDeviceMetricsOverride", width=1200, height=min(int(page.evaluate(HEIGHT)), 12000),
              deviceScaleFactor=1, mobile=False)
    seen = []
    for theme in "JupyterLab Light", "JupyterLab Dark":
        page.evaluate(f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: {theme!r}}}); void 0")
        page.wait(theme, f"({{phase: document.body.dataset.jpThemeName, ready: document.body.dataset.jpThemeName === {theme!r}}})")
        seen.append(page.wait("pictures", SHOWN))
        with open(os.path.join(shots, theme.split()[1].lower() + ".png"), "wb") as f:
            f.write(base64.b64decode(page.call("Page.captureScreenshot")["data"]))
    print(json.dumps(seen))


def gone(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


# Chromium leaves crash reports and caches outside its profile if it can.
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
    own = {k: home for k in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    log = os.path.join(home, "log")
    active = os.path.join(home, "profile", "DevToolsActivePort")  # written once it listens
    with open(log, "w") as errors:
        browser = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--window-size=1200,1400", "--remote-debugging-port=0", "--remote-allow-origins=*",
             "--user-data-dir=" + os.path.join(home, "profile"), "about:blank"],
            stdout=errors, stderr=errors, env={**os.environ, **own}, start_new_session=True)
    try:
        port = ""
        while not port:
            if browser.poll() is not None or time.monotonic() > END:
                with open(log) as f:
                    sys.exit(f"{chromium} did not start:\n{f.read()}")
            if os.path.exists(active):
                with open(active) as f:
                    port = f.readline().strip()
            time.sleep(0.05)  # between looks at the file
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        target = next(t for t in targets if t["type"] == "page")
        page = Page(websocket.create_connection(target["webSocketDebuggerUrl"], timeout=LIMIT))
        look(page)
        page.call("Browser.close")
        browser.wait(30)
    finally:
        if browser.poll() is None:
            browser.terminate()
        stop = time.monotonic() + 10
        while browser.poll() is None or not gone(browser.pid):
            if time.monotonic() > stop:
                try:
                    os.killpg(browser.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                break
            time.sleep(0.05)  # between looks at whether all of its processes ended
        browser.wait()
