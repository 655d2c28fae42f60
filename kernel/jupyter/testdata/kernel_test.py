"""The kernel as Jupyter's own clients see it.

Run by TestJupyterKernelTest of this package, which installs the kernelspec and
points JUPYTER_PATH at it. Three parts: jupyter_kernel_test with every sample
field set, the faults of stock GoNB v0.11.3 one by one and what its special
commands do, and nbclient driving a notebook. A skipped test is a failure: see
main at the end.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import jupyter_kernel_test as jkt
import nbformat
from jupyter_kernel_test.msgspec_v5 import validate_message
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

KERNEL = "rooflab"

# With cold caches the first cell compiles the standard library.
FIRST_CELL = 300
CELL = 60


class Conformance(jkt.KernelTests):
    kernel_name = KERNEL
    language_name = "go"
    file_extension = ".go"

    code_hello_world = 'fmt.Println("hello, world")'
    code_stderr = 'fmt.Fprintln(os.Stderr, "oops")'
    completion_samples = [
        {"text": "fmt.Fprintl", "matches": {"Fprintln"}},
        {"text": "strings.ToUpperS", "matches": {"ToUpperSpecial"}},
    ]
    complete_code_samples = [
        "1 + 2",
        "x := 1",
        'fmt.Println("a")',
        "func f() int { return 1 }",
        "%help",
        "!ls",
        "",
    ]
    incomplete_code_samples = [
        "func f() {",
        "for i := range 3 {",
        "fmt.Println(",
        "x := 1 +",
        "s := `raw",
        "type T struct {",
        "if x == 1 {\n\tx++",
        "/* open",
    ]
    invalid_code_samples = ["x := )", "func }", "a b c", 's := "abc']
    code_page_something = "%help"
    code_generate_error = 'panic("boom")'
    code_execute_result = [
        {"code": "1 + 2", "result": "3"},
        {"code": 'len("abcd")', "result": "4"},
        {"code": "6 * 7", "result": "42"},
        {"code": "[]int{1, 2, 3}"},
    ]
    code_display_data = [
        {"code": 'display.HTML("<b>bold</b>")', "mime": "text/html"},
        {
            "code": 'import "github.com/janpfeifer/gonb/gonbui"\ngonbui.DisplayHTML("<i>via gonbui</i>")',
            "mime": "text/html",
        },
    ]
    code_history_pattern = "1 ? 2"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "fmt.Println"
    code_clear_output = "display.Clear(false)"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        warm_up(cls.kc)

    def test_every_field_is_set(self):
        """A field that a later jupyter_kernel_test adds must be set here too."""
        for name, value in vars(jkt.KernelTests).items():
            if name.startswith("_") or callable(value) or isinstance(value, classmethod):
                continue
            if name in ("kernel_name", "kc", "km"):
                continue
            self.assertTrue(getattr(self, name), f"{name} is not set")


class Welcome(jkt.IopubWelcomeTests):
    kernel_name = KERNEL
    support_iopub_welcome = True


def warm_up(kc):
    kc.execute("import \"fmt\"\nfmt.Print()")
    kc.get_shell_msg(timeout=FIRST_CELL)


class KernelCase(unittest.TestCase):
    """One kernel for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc = start_new_kernel(kernel_name=KERNEL)
        warm_up(cls.kc)

    @classmethod
    def tearDownClass(cls):
        cls.kc.stop_channels()
        cls.km.shutdown_kernel()

    def run(self, result=None):
        """Runs one test; a failed one leaves a fresh kernel to the next."""
        result = result or self.defaultTestResult()
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            self.kc.stop_channels()
            self.km.shutdown_kernel(now=True)
            type(self).setUpClass()
        return result

    def run_cell(self, code, **options):
        """Runs a cell; returns its reply and its outputs."""
        return self.results(self.kc.execute(code, **options))

    def results(self, msg_id):
        reply = self.shell_reply(msg_id)
        outputs = []
        while True:
            msg = self.kc.get_iopub_msg(timeout=CELL)
            if msg["parent_header"].get("msg_id") != msg_id:
                continue
            validate_message(msg, msg["msg_type"], msg_id)
            if msg["msg_type"] == "status" and msg["content"]["execution_state"] == "idle":
                return reply["content"], outputs
            if msg["msg_type"] not in ("status", "execute_input"):
                outputs.append(msg)

    def shell_reply(self, msg_id):
        while True:
            msg = self.kc.get_shell_msg(timeout=CELL)
            if msg["parent_header"].get("msg_id") == msg_id:
                return msg

    def stdout(self, outputs):
        return "".join(
            m["content"]["text"]
            for m in outputs
            if m["msg_type"] == "stream" and m["content"]["name"] == "stdout"
        )

    def result(self, outputs):
        texts = [m["content"]["data"]["text/plain"] for m in outputs if m["msg_type"] == "execute_result"]
        self.assertEqual(len(texts), 1, outputs)
        return texts[0]


class FaultsOfGoNB(KernelCase):
    """What stock GoNB does wrong, one test each."""

    def test_failures_are_errors(self):
        for code, ename in [
            ('panic("boom")', "panic"),
            ("os.Exit(3)", "ExitError"),
            ("!false", "ExitError"),
            ("var p *int\n*p = 1", "panic"),
            ("undefinedName", "CompileError"),
            ('os.ReadFile("no such file")', "error"),
            ('os.Remove("no such file")', "error"),
            ('strconv.Atoi("x");', "error"),
        ]:
            with self.subTest(code=code):
                reply, outputs = self.run_cell(code)
                self.assertEqual(reply["status"], "error", reply)
                self.assertEqual(reply["ename"], ename, reply)
                self.assertEqual([m["msg_type"] for m in outputs], ["error"])
                self.assertTrue(reply["traceback"])
        reply, outputs = self.run_cell("1 + 1")
        self.assertEqual(self.result(outputs), "2", "the session goes on")

    def test_is_complete_and_history_are_answered(self):
        msg = self.shell_reply(self.kc.is_complete("func f() {"))
        self.assertEqual(msg["content"]["status"], "incomplete")
        msg = self.shell_reply(self.kc.history(hist_access_type="tail", n=1))
        self.assertEqual(msg["content"]["status"], "ok")

    def test_control_requests_are_answered_on_control(self):
        msg = self.kc.session.msg("kernel_info_request", {})
        self.kc.control_channel.send(msg)
        reply = self.kc.get_control_msg(timeout=CELL)
        self.assertEqual(reply["parent_header"]["msg_id"], msg["header"]["msg_id"])
        self.assertEqual(reply["msg_type"], "kernel_info_reply")

    def test_stop_on_error(self):
        first = self.kc.execute("time.Sleep(time.Second)\npanic(1)")
        second = self.kc.execute('fmt.Println("must not run")')
        self.assertEqual(self.shell_reply(first)["content"]["status"], "error")
        reply = self.shell_reply(second)["content"]
        self.assertEqual(reply["status"], "aborted")
        self.assertIn("execution_count", reply)
        reply, _ = self.run_cell("1")
        self.assertEqual(reply["status"], "ok")

    def test_interrupt_keeps_the_state(self):
        self.run_cell("kept := 41")
        say = 'fmt.Println("running")\n'
        for code in [
            say + "for {\n}",
            say + "time.Sleep(time.Hour)",
            say + "select {}",
            "!echo running; sleep 3600; echo not this",
            'app := exec.Command("sh", "-c", "echo running; sleep 3600; echo not this")\napp.Stdout = os.Stdout\napp.Run()',
        ]:
            with self.subTest(code=code):
                msg_id = self.kc.execute(code)
                while True:
                    msg = self.kc.get_iopub_msg(timeout=CELL)
                    if msg["msg_type"] == "stream" and msg["parent_header"]["msg_id"] == msg_id:
                        break
                self.km.interrupt_kernel()
                reply = self.shell_reply(msg_id)["content"]
                self.assertEqual((reply["status"], reply["ename"]), ("error", "Interrupted"), reply)
        _, outputs = self.run_cell("kept + 1")
        self.assertEqual(self.result(outputs), "42")

    def test_interrupt_while_building(self):
        # Interrupted as soon as the cell has been accepted: it is building then.
        msg_id = self.kc.execute('import "net/http/httptest"\nhttptest.NewServer(nil)\nfor {\n}')
        while True:
            msg = self.kc.get_iopub_msg(timeout=CELL)
            if msg["msg_type"] == "execute_input" and msg["parent_header"]["msg_id"] == msg_id:
                break
        self.km.interrupt_kernel()
        reply = self.shell_reply(msg_id)["content"]
        self.assertEqual((reply["status"], reply["ename"]), ("error", "Interrupted"), reply)

    def test_methods_of_generic_types_do_not_collide(self):
        self.run_cell("type Pair[T any] struct{ a, b T }\nfunc (p Pair[T]) Get() T { return p.a }")
        self.run_cell("type Box[T any] struct{ v T }\nfunc (b Box[T]) Get() T { return b.v }")
        reply, outputs = self.run_cell('fmt.Sprint(Pair[int]{1, 2}.Get(), Box[string]{"x"}.Get())')
        self.assertEqual(reply["status"], "ok", reply)
        self.assertIn("1 x", self.result(outputs).replace("1x", "1 x"))

    def test_silent_replies_have_execution_count(self):
        before, _ = self.run_cell("1")
        reply, outputs = self.run_cell("2", silent=True)
        self.assertEqual(reply["execution_count"], before["execution_count"])
        self.assertEqual(outputs, [])
        reply, outputs = self.run_cell("3", store_history=False)
        self.assertEqual(reply["execution_count"], before["execution_count"])
        self.assertEqual(self.result(outputs), "3")

    def test_user_expressions(self):
        reply, _ = self.run_cell("ue := 20", user_expressions={"good": "ue + 1", "bad": "nope"})
        self.assertEqual(reply["status"], "ok")
        good, bad = reply["user_expressions"]["good"], reply["user_expressions"]["bad"]
        self.assertEqual((good["status"], good["data"]["text/plain"]), ("ok", "21"))
        self.assertEqual(bad["status"], "error")

    def test_bare_expressions_are_results(self):
        _, outputs = self.run_cell('strings.Repeat("ab", 2)')
        self.assertIn("abab", self.result(outputs))

    def test_an_error_beside_a_value_fails_and_no_error_shows_the_value(self):
        reply, outputs = self.run_cell('fmt.Println("first")\nstrconv.Atoi("12x")')
        self.assertEqual((reply["status"], reply["ename"]), ("error", "error"), reply)
        self.assertEqual(reply["evalue"], 'strconv.Atoi: parsing "12x": invalid syntax')
        self.assertIn("2 | strconv.Atoi", "\n".join(reply["traceback"]))
        self.assertEqual([m["msg_type"] for m in outputs], ["stream", "error"])
        for code, shown in [
            ('strconv.Atoi("12")', "12"),
            ('errors.New("made, not met")', "made, not met"),
            ("ctx.Err()", "<nil>"),
            ('_, err := strconv.Atoi("kept"); err.Error()', 'strconv.Atoi: parsing "kept": invalid syntax'),
        ]:
            with self.subTest(code=code):
                reply, outputs = self.run_cell(code)
                self.assertEqual(reply["status"], "ok", reply)
                self.assertEqual(self.result(outputs), shown)
        reply, outputs = self.run_cell('exec.Command("sh", "-c", "echo why; exit 4").CombinedOutput()')
        self.assertEqual((reply["status"], reply["evalue"]), ("error", "exit status 4"), reply)
        self.assertEqual([m["msg_type"] for m in outputs], ["display_data", "error"])
        self.assertIn("why", outputs[0]["content"]["data"]["text/plain"])
        reply, _ = self.run_cell('exec.Command("sh", "-c", "echo why >&2; exit 4").Output()')
        self.assertEqual(reply["evalue"], "exit status 4: why")
        for code in ['_ = os.Remove("no such file")', 'os.Chdir(".")']:
            with self.subTest(code=code):
                reply, outputs = self.run_cell(code)
                self.assertEqual((reply["status"], outputs), ("ok", []))

    def test_clear_and_update_display(self):
        _, outputs = self.run_cell("display.Clear(true)")
        self.assertEqual([(m["msg_type"], m["content"].get("wait")) for m in outputs], [("clear_output", True)])
        _, outputs = self.run_cell('h := display.Live("one")\nh.Update("two")\n_ = h')
        kinds = [m["msg_type"] for m in outputs]
        self.assertEqual(kinds, ["display_data", "update_display_data"])
        ids = {m["content"]["transient"]["display_id"] for m in outputs}
        self.assertEqual(len(ids), 1)

    def test_completion_while_a_cell_runs_and_of_live_names(self):
        self.run_cell("liveValue := 1")
        msg_id = self.kc.execute('fmt.Println("running")\nfor {\n}')
        while self.kc.get_iopub_msg(timeout=CELL)["msg_type"] != "stream":
            pass
        matches = self.shell_reply(self.kc.complete("liveVa"))["content"]["matches"]
        self.km.interrupt_kernel()
        self.shell_reply(msg_id)
        self.assertEqual(matches, ["liveValue"])

    def test_values_live_from_cell_to_cell(self):
        self.run_cell("type point struct{ x, y int }\npts := []point{{1, 2}}")
        self.run_cell("pts = append(pts, point{3, 4})")
        _, outputs = self.run_cell("len(pts) + pts[1].y")
        self.assertEqual(self.result(outputs), "6")

    def test_input(self):
        msg_id = self.kc.execute(
            'import "github.com/janpfeifer/gonb/gonbui"\n'
            'gonbui.RequestInput("name? ", false)\n'
            "var line string\nfmt.Scanln(&line)\nfmt.Println(\"hello\", line)",
            allow_stdin=True,
        )
        question = self.kc.get_stdin_msg(timeout=CELL)
        self.assertEqual(question["msg_type"], "input_request")
        self.assertEqual(question["content"], {"prompt": "name? ", "password": False})
        self.assertEqual(question["parent_header"]["msg_id"], msg_id)
        self.kc.input("gopher")
        reply, outputs = self.results(msg_id)
        self.assertEqual(reply["status"], "ok", reply)
        self.assertIn("hello gopher", self.stdout(outputs))

    def test_input_that_is_long_in_coming_is_asked_for_once(self):
        msg_id = self.kc.execute(
            'gonbui.RequestInput("name? ", false)\n'
            'go func() { time.Sleep(500 * time.Millisecond); fmt.Println("waiting") }()\n'
            "fmt.Scanln(new(string))",
            allow_stdin=True,
        )
        self.assertEqual(self.kc.get_stdin_msg(timeout=CELL)["content"]["prompt"], "name? ")
        while self.kc.get_iopub_msg(timeout=CELL)["msg_type"] != "stream":
            pass
        self.kc.input("gopher")
        self.assertEqual(self.shell_reply(msg_id)["content"]["status"], "ok")
        self.assertFalse(self.kc.stdin_channel.msg_ready())

    def test_outputs_are_complete_and_in_order(self):
        n = 20000
        _, outputs = self.run_cell(f"for i := range {n} {{ fmt.Println(i) }}")
        self.assertEqual(self.stdout(outputs), "".join(f"{i}\n" for i in range(n)))
        self.assertLess(len(outputs), n / 10)

    def test_lost_host_says_so_and_the_next_cell_runs(self):
        self.run_cell("lostValue := 1")
        reply, _ = self.run_cell("import \"syscall\"\nsyscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}")
        self.assertEqual((reply["status"], reply["ename"]), ("error", "HostLost"), reply)
        reply, outputs = self.run_cell("1 + 1")
        self.assertEqual(self.result(outputs), "2")


class CellsOfGoNB(KernelCase):
    """Cells with special commands do what they do in GoNB v0.11.3, whose own
    answers are the ones expected here unless a comment says why not."""

    def text(self, outputs, stream="stdout"):
        """Printed text, with times and the machine's names taken out."""
        text = "".join(
            m["content"]["text"] for m in outputs if m["msg_type"] == "stream" and m["content"]["name"] == stream
        )
        text = re.sub(r"(?m)^(goos|goarch|cpu|pkg): .*\n", "", text)
        return re.sub(r"-\d+ +\t *\d+\t +[\d.]+ ns/op|\d+\.\d\ds", "#", text)

    def check(self, *cells):
        for code, stdout in cells:
            with self.subTest(code=code):
                reply, outputs = self.run_cell(code)
                self.assertEqual(reply["status"], "ok", reply)
                self.assertEqual(self.text(outputs), stdout)

    def test_tests_and_benchmarks(self):
        test_b = '=== RUN   TestB\nB\n--- PASS: TestB (#)\nPASS\n'
        self.check(
            ('%test\nimport "testing"\nfunc TestA(t *testing.T) {\n\tfmt.Printf("A\\n")\n}',
             "=== RUN   TestA\nA\n--- PASS: TestA (#)\nPASS\n"),
            ('func TestB(t *testing.T) { fmt.Println("B") }\n%test', test_b),
            ("//gonb:%test -test.v -test.run=B", test_b),
            ('%test ""', "A\nB\nPASS\n"),
            ("func BenchmarkX(b *testing.B) { for i := 0; i < b.N; i++ { } }\n%test -test.bench=X -test.run=Bench -test.benchtime=9x",
             "BenchmarkX#\nPASS\n"),
        )  # fmt: skip
        # A failed test fails its cell, which GoNB passes over.
        reply, outputs = self.run_cell("func TestBad(t *testing.T) {\n\tt.Error(7)\n}\n%test")
        self.assertEqual((reply["status"], reply["ename"]), ("error", "ExitError"))
        self.assertRegex(self.text(outputs), r"^=== RUN   TestBad\n    In\[\d+\]:2: 7\n--- FAIL: TestBad \(#\)\nFAIL\n$")

    def test_declarations_are_listed_and_removed(self):
        self.check(("%reset", "* State reset: all memorized declarations discarded.\n"))
        self.check(("type K struct{}\nfunc (K) M() {}\nconst C = 1\nvar a, b = b + 1, 5", ""), ("%% \nfmt.Println(a)", "6\n"))
        _, outputs = self.run_cell("%ls")
        listed = outputs[0]["content"]["data"]["text/html"]
        self.assertEqual(re.findall(r"<h[34]>(\w+(?: \w+)?)<|<pre>(.*?)<", listed), [
            ("Memorized Definitions", ""), ("Constants", ""), ("", "C"), ("Types", ""), ("", "K"),
            ("Variables", ""), ("", "a"), ("", "b"), ("Functions", ""), ("", "K~M"),
        ])  # fmt: skip
        reply, outputs = self.run_cell("%rm C nosuch K~M")
        self.assertEqual(reply["status"], "ok")
        self.assertEqual(self.text(outputs), ". removed const C\n. removed func K~M\n")
        self.assertEqual(self.text(outputs, "stderr"), '. key "nosuch" not found in any definition, not removed\n')

    def test_arguments_capture_and_version(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(
                (f"%env CAPTURED {folder}", ""),  # GoNB says what it has set
                ('var n = flag.Int("n", 1, "number")\nfunc tell() { fmt.Println(*n, flag.Args()) }\n%exec tell -n=3 "x y"', "3 [x y]\n"),
                ('var n = flag.Int("n", 1, "number")\n%% -n=4\nfmt.Println(*n)', "4\n"),
                ('%capture ${CAPTURED}/f\n!echo shell\n%%\nfmt.Println("Ping")', "shell\nPing\n"),
                ("%capture -a ${CAPTURED}/f\ngonbui.DisplayMarkdown(\"# Pong\\n\")", ""),
                ("!cat ${CAPTURED}/f", "Ping\n# Pong\n"),
            )
        _, outputs = self.run_cell("%version")
        self.assertIn("rooflab", outputs[0]["content"]["data"]["text/markdown"])

    def test_commands_without_use_in_a_live_session_say_so(self):
        reply, _ = self.run_cell("kept := 1")
        for command in ["%autoget", "%goflags --cover", "%goworkfix", "%track .", "%untrack .", "%widgets", "%reset go.mod",
                        '%wasm\nimport "syscall/js"\njs.Global()', "%%gx\nnot Go"]:  # fmt: skip
            with self.subTest(command=command):
                reply, outputs = self.run_cell(command)
                self.assertEqual(reply["status"], "ok", reply)
                self.assertRegex(self.text(outputs, "stderr"), r"^%.*: .*(ignored|not run), .*\n$")
        self.check(("fmt.Println(kept)", "1\n"))

    def test_shell_commands_with_input(self):
        for command, password in [("%with_inputs", False), ("%with_password", True)]:
            msg_id = self.kc.execute(f"{command}\n!read -r line; echo got $line", allow_stdin=True)
            question = self.kc.get_stdin_msg(timeout=CELL)
            self.assertEqual(question["content"]["password"], password)
            self.kc.input("an answer")
            reply, outputs = self.results(msg_id)
            self.assertEqual((reply["status"], self.text(outputs)), ("ok", "got an answer\n"))


class LifeAndDeath(unittest.TestCase):
    def test_restart_begins_afresh(self):
        km, kc = start_new_kernel(kernel_name=KERNEL)
        try:
            warm_up(kc)
            km.restart_kernel()
            kc.wait_for_ready(timeout=CELL)
            while True:
                msg_id = kc.execute("1")
                reply = kc.get_shell_msg(timeout=CELL)
                if reply["parent_header"]["msg_id"] == msg_id:
                    break
            self.assertEqual(reply["content"]["execution_count"], 1)
        finally:
            kc.stop_channels()
            km.shutdown_kernel()

    def test_nothing_is_left_after_shutdown(self):
        km, kc = start_new_kernel(kernel_name=KERNEL)
        warm_up(kc)
        pid = km.provisioner.process.pid
        children = descendants(pid)
        kc.stop_channels()
        km.shutdown_kernel()
        self.assertTrue(children, "the session has no host process")
        wait_for_end([pid, *children])

    def test_sigterm_ends_kernel_and_host(self):
        km, kc = start_new_kernel(kernel_name=KERNEL)
        warm_up(kc)
        pid = km.provisioner.process.pid
        children = descendants(pid)
        os.kill(pid, 15)
        km.provisioner.process.wait(timeout=CELL)
        wait_for_end(children)
        kc.stop_channels()
        km.shutdown_kernel(now=True)

    def test_kernel_ends_when_its_parent_dies(self):
        # A process that starts a kernel and is killed.
        script = (
            "from jupyter_client.manager import start_new_kernel\n"
            f"km, kc = start_new_kernel(kernel_name={KERNEL!r})\n"
            "kc.execute('1')\n"
            f"kc.get_shell_msg(timeout={FIRST_CELL})\n"
            "print(km.provisioner.process.pid, flush=True)\n"
            "input()\n"
        )
        parent = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        pid = int(parent.stdout.readline())
        everyone = [pid, *descendants(pid)]
        parent.kill()
        parent.wait()
        wait_for_end(everyone)
        parent.stdin.close()
        parent.stdout.close()


def descendants(pid):
    """Process ids below pid."""
    table = {}
    for line in subprocess.check_output(["ps", "-e", "-o", "pid=,ppid="], text=True).splitlines():
        child, parent = map(int, line.split())
        table.setdefault(parent, []).append(child)
    found, todo = [], [pid]
    while todo:
        for child in table.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def wait_for_end(pids):
    """Waits until no pid is left; the limit is only for a test that fails."""
    limit = time.monotonic() + CELL
    while True:
        left = [p for p in pids if alive(p)]
        if not left:
            return
        if time.monotonic() > limit:
            raise AssertionError(f"still there: {left}")
        time.sleep(0.05)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Notebook(unittest.TestCase):
    """nbclient runs a notebook from top to bottom."""

    def notebook(self, *sources):
        nb = nbformat.v4.new_notebook()
        nb.metadata.kernelspec = {"name": KERNEL, "display_name": "Go (rooflab)", "language": "go"}
        nb.cells = [nbformat.v4.new_code_cell(s) for s in sources]
        return nb

    def test_a_notebook_runs(self):
        nb = self.notebook(
            'import "strings"\nx := []string{"a", "b"}',
            'fmt.Println("printed")\nstrings.Join(x, "+")',
            'display.HTML("<b>shown</b>")',
        )
        NotebookClient(nb, timeout=FIRST_CELL, kernel_name=KERNEL).execute()
        self.assertEqual([c.execution_count for c in nb.cells], [1, 2, 3])
        stream, result = nb.cells[1].outputs
        self.assertEqual((stream.name, stream.text), ("stdout", "printed\n"))
        self.assertIn("a+b", result.data["text/plain"])
        self.assertEqual(nb.cells[2].outputs[0].data["text/html"], "<b>shown</b>")
        nbformat.validate(nb)

    def test_a_failing_cell_stops_it(self):
        for bad in ['panic("boom")', "!false", "os.Exit(3)", "x := ", 'os.ReadFile("no such file")']:
            with self.subTest(cell=bad):
                nb = self.notebook('fmt.Println("before")', bad, 'fmt.Println("never")')
                with self.assertRaises(CellExecutionError):
                    NotebookClient(nb, timeout=FIRST_CELL, kernel_name=KERNEL).execute()
                self.assertEqual(nb.cells[0].outputs[0].text, "before\n")
                self.assertEqual(nb.cells[1].outputs[-1].output_type, "error")
                self.assertEqual(nb.cells[2].outputs, [])


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    for test, reason in program.result.skipped:
        print(f"SKIPPED, which counts as a failure: {test}: {reason}")
    sys.exit(0 if program.result.wasSuccessful() and not program.result.skipped else 1)
