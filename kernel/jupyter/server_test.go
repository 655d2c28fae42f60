package jupyter_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-zeromq/zmq4"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/jupyter"
	"github.com/rooflab/rooflab/kernel/session"
)

func TestKernelInfoComesBeforeTheSession(t *testing.T) {
	release := make(chan bool)
	f := newFake(nil)
	k := startKernel(t, jupyter.Config{Start: func() (session.Session, error) { <-release; return f, nil }})
	defer close(release)
	c := connect(t, k, "a").skipStart()
	for _, channel := range []string{"shell", "control"} {
		sock := map[string]zmq4.Socket{"shell": c.shell, "control": c.control}[channel]
		id := c.send(sock, "kernel_info_request", map[string]any{})
		m := c.reply(channel, id)
		if m.Type != "kernel_info_reply" || m.Content["status"] != "ok" || m.Content["protocol_version"] != "5.5" ||
			m.Content["implementation"] != "rooflab" || m.Content["implementation_version"] != "v0.0.0-test" {
			t.Errorf("on %s: %s %v", channel, m.Type, m.Content)
		}
		info, _ := m.Content["language_info"].(map[string]any)
		version, _ := info["version"].(string)
		if info["name"] != "go" || info["file_extension"] != ".go" || info["mimetype"] != "text/x-go" ||
			!strings.HasPrefix(version, "1.") || strings.ContainsAny(version, " -") {
			t.Errorf("language_info: %v", info)
		}
		if out := c.outputs(id); len(out) != 0 {
			t.Errorf("outputs: %s", brief(t, out))
		}
		// The parent header goes back as it came, unknown fields too.
		if m.Parent["x-unknown"] != "<kept>" || m.Parent["username"] != "tester" {
			t.Errorf("parent header: %v", m.Parent)
		}
	}
}

func TestACellsOutputsComeInOrder(t *testing.T) {
	html := display.Bundle{Data: map[string]any{"text/html": "<b>&</b>", "text/plain": "&"}}
	f := newFake(map[string]func(*run) session.Reply{
		"cell": func(r *run) session.Reply {
			r.emit(session.Stream{Name: "stdout", Text: "a"})
			r.emit(session.Stream{Name: "stdout", Text: "b\n"})
			r.emit(session.Stream{Name: "stderr", Text: "oops"})
			r.emit(session.Display{Bundle: html, ID: "d1"})
			r.emit(session.Stream{Name: "stdout", Text: "c"})
			r.emit(session.Display{Bundle: text("new"), ID: "d1", Update: true})
			r.emit(session.Display{})
			r.emit(session.Clear{Wait: true})
			r.emit(session.Result{Bundle: text("42"), Count: r.count})
			return session.Reply{Status: "ok", Payload: []map[string]any{{"source": "page", "start": 0}}}
		},
	})
	_, c := serve(t, f)
	reply, out := c.skipStart().execute("cell")
	expect(t, "reply", reply.Content,
		`{"execution_count":1,"payload":[{"source":"page","start":0}],"status":"ok","user_expressions":{}}`)
	want := `execute_input {"code":"cell","execution_count":1}
stream {"name":"stdout","text":"ab\n"}
stream {"name":"stderr","text":"oops"}
display_data {"data":{"text/html":"\u003cb\u003e\u0026\u003c/b\u003e","text/plain":"\u0026"},"metadata":{},"transient":{"display_id":"d1"}}
stream {"name":"stdout","text":"c"}
update_display_data {"data":{"text/plain":"new"},"metadata":{},"transient":{"display_id":"d1"}}
display_data {"data":{},"metadata":{},"transient":{}}
clear_output {"wait":true}
execute_result {"data":{"text/plain":"42"},"execution_count":1,"metadata":{}}
`
	// Equal streams may be split where the machine was slow; join them.
	if got := brief(t, joinStreams(out)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// joinStreams joins neighbouring pieces of the same stream.
func joinStreams(ms []message) []message {
	var out []message
	for _, m := range ms {
		if n := len(out) - 1; n >= 0 && m.Type == "stream" && out[n].Type == "stream" && out[n].Content["name"] == m.Content["name"] {
			out[n].Content["text"] = out[n].Content["text"].(string) + m.Content["text"].(string)
			continue
		}
		out = append(out, m)
	}
	return out
}

func TestTinyWritesBecomeFewMessages(t *testing.T) {
	const n = 20000
	f := newFake(map[string]func(*run) session.Reply{
		"cell": func(r *run) session.Reply {
			for range n {
				r.emit(session.Stream{Name: "stdout", Text: "0123456789\n"})
			}
			return session.Reply{Status: "ok"}
		},
	})
	_, c := serve(t, f)
	_, out := c.skipStart().execute("cell")
	if len(out) > n/10 {
		t.Errorf("%d writes became %d messages", n, len(out))
	}
	joined := joinStreams(out[1:])
	if len(joined) != 1 || joined[0].Content["text"] != strings.Repeat("0123456789\n", n) {
		t.Errorf("the text is not what was written")
	}
}

func TestRunesCutByTheStreamAreMended(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{
		"cell": func(r *run) session.Reply {
			for _, b := range []byte("µs ≤ 𝄞") {
				r.emit(session.Stream{Name: "stdout", Text: string([]byte{b})})
				r.emit(session.Stream{Name: "stderr", Text: "."}) // forces the text before it out
			}
			r.emit(session.Stream{Name: "stdout", Text: "\xff and \xe2\x89"}) // not UTF-8 at all, and never finished
			return session.Reply{Status: "ok"}
		},
	})
	_, c := serve(t, f)
	_, out := c.skipStart().execute("cell")
	got := map[any]string{}
	for _, m := range out[1:] {
		got[m.Content["name"]] += m.Content["text"].(string)
	}
	// Invalid bytes become U+FFFD; whether the two bytes of a cut rune make
	// one or two of them is encoding/json's business.
	if s := strings.TrimRight(got["stdout"], "\ufffd"); s != "µs ≤ 𝄞\ufffd and " || s == got["stdout"] {
		t.Errorf("stdout is %q", got["stdout"])
	}
	if got["stderr"] != strings.Repeat(".", len("µs ≤ 𝄞")) {
		t.Errorf("stderr is %q", got["stderr"])
	}
}

// Stock GoNB: a panic, os.Exit(3) or a failed !cmd gives execute_reply ok.
func TestFailedCellsReplyWithTheError(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{
		"panic":   fails("panic", "boom", "panic: boom", "cell 1, line 1"),
		"bare":    fails("ExitError", "exit status 3"),
		"forgets": func(*run) session.Reply { return session.Reply{Status: "error"} },
		"strange": func(*run) session.Reply { return session.Reply{} },
		"crashes": func(*run) session.Reply { panic("in the session's own code") },
		"lost":    fails("HostLost", "the host died: 3 variables are gone"),
	})
	_, c := serve(t, f)
	c.skipStart()
	for code, want := range map[string][2]string{
		"panic":   {"panic", "boom"},
		"bare":    {"ExitError", "exit status 3"},
		"forgets": {"InternalError", "no reason"},
		"strange": {"InternalError", "unknown status"},
		"crashes": {"InternalError", "in the session's own code"},
		"lost":    {"HostLost", "3 variables are gone"},
	} {
		reply, out := c.execute(code)
		name, _ := reply.Content["ename"].(string)
		value, _ := reply.Content["evalue"].(string)
		if reply.Content["status"] != "error" || name != want[0] || !strings.Contains(value, want[1]) {
			t.Errorf("%s: reply %v", code, reply.Content)
		}
		if len(out) != 2 || out[1].Type != "error" {
			t.Fatalf("%s: outputs %s", code, brief(t, out))
		}
		for _, field := range []string{"ename", "evalue", "traceback"} {
			if show(t, out[1].Content[field]) != show(t, reply.Content[field]) {
				t.Errorf("%s: %s differs between error and reply", code, field)
			}
		}
		if lines, _ := reply.Content["traceback"].([]any); len(lines) == 0 {
			t.Errorf("%s: no traceback", code)
		}
		if reply.Content["execution_count"] == nil {
			t.Errorf("%s: no execution_count", code)
		}
	}
}

// Stock GoNB: stop_on_error is ignored.
func TestAnErrorAbortsTheCellsThatWait(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	f := newFake(map[string]func(*run) session.Reply{
		"fail": func(r *run) session.Reply {
			started <- true
			<-release
			return fails("panic", "boom")(r)
		},
	})
	_, c := serve(t, f)
	c.skipStart()
	first := c.send(c.shell, "execute_request", map[string]any{"code": "fail"})
	<-started
	second := c.send(c.shell, "execute_request", map[string]any{"code": "second"})
	third := c.send(c.shell, "execute_request", map[string]any{"code": "third", "silent": true})
	// One socket delivers in order: when this is answered the others wait.
	info := c.send(c.shell, "kernel_info_request", map[string]any{})
	c.reply("shell", info)
	close(release)
	if m := c.reply("shell", first); m.Content["status"] != "error" {
		t.Errorf("first: %v", m.Content)
	}
	for _, id := range []string{second, third} {
		m := c.reply("shell", id)
		if m.Content["status"] != "aborted" || m.Content["execution_count"] != 1.0 {
			t.Errorf("waiting cell: %v", m.Content)
		}
	}
	// The next one runs, and it is the second cell that the session sees.
	if m := c.reply("shell", c.send(c.shell, "execute_request", map[string]any{"code": "later"})); m.Content["status"] != "ok" || m.Content["execution_count"] != 2.0 {
		t.Errorf("later: %v", m.Content)
	}
	var ran []string
	for _, r := range f.seen() {
		ran = append(ran, r.Source)
	}
	expect(t, "cells that ran", ran, `["fail","later"]`)
}

// A cell that is sent when the client knows of the error runs, however quick.
func TestCellsSentAfterTheErrorRun(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{"fail": fails("panic", "boom")})
	_, c := serve(t, f)
	for range 200 {
		c.reply("shell", c.send(c.shell, "execute_request", map[string]any{"code": "fail"}))
		m := c.reply("shell", c.send(c.shell, "execute_request", map[string]any{"code": "next"}))
		if m.Content["status"] != "ok" {
			t.Fatalf("next: %v", m.Content)
		}
	}
}

func TestStopOnErrorFalseLetsTheOthersRun(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	f := newFake(map[string]func(*run) session.Reply{
		"fail": func(r *run) session.Reply {
			started <- true
			<-release
			return fails("panic", "boom")(r)
		},
	})
	_, c := serve(t, f)
	c.skipStart()
	first := c.send(c.shell, "execute_request", map[string]any{"code": "fail", "stop_on_error": false})
	<-started
	second := c.send(c.shell, "execute_request", map[string]any{"code": "second"})
	c.reply("shell", c.send(c.shell, "kernel_info_request", map[string]any{}))
	close(release)
	c.reply("shell", first)
	if m := c.reply("shell", second); m.Content["status"] != "ok" {
		t.Errorf("second: %v", m.Content)
	}
}

// Stock GoNB: silent replies lack execution_count.
func TestSilentCellsSayNothingButCount(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{
		"loud": func(r *run) session.Reply {
			r.emit(session.Stream{Name: "stdout", Text: "text"})
			r.emit(session.Result{Bundle: text("1")})
			return session.Reply{Status: "ok"}
		},
		"fail": fails("panic", "boom"),
	})
	_, c := serve(t, f)
	c.skipStart().execute("loud")
	for _, code := range []string{"loud", "fail"} {
		reply, out := c.execute(code, map[string]any{"silent": true, "store_history": true})
		if reply.Content["execution_count"] != 1.0 {
			t.Errorf("%s: execution_count %v, want 1", code, reply.Content["execution_count"])
		}
		if len(out) != 0 {
			t.Errorf("%s: outputs %s", code, brief(t, out))
		}
	}
	// store_history false shows outputs and leaves the counter alone.
	reply, out := c.execute("loud", map[string]any{"store_history": false})
	if reply.Content["execution_count"] != 1.0 || len(out) != 3 {
		t.Errorf("not stored: %v\n%s", reply.Content, brief(t, out))
	}
	if reply, _ := c.execute("loud"); reply.Content["execution_count"] != 2.0 {
		t.Errorf("next: %v", reply.Content)
	}
	history := c.ask("history_request", map[string]any{"hist_access_type": "tail", "n": 10, "output": false, "raw": true})
	expect(t, "history", history.Content["history"], `[[1,1,"loud"],[1,2,"loud"]]`)
}

// Stock GoNB: user_expressions are empty.
func TestUserExpressionsReachTheReply(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{
		"cell": func(r *run) session.Reply {
			return session.Reply{Status: "ok", UserExpressions: map[string]session.UserValue{
				"good": {Bundle: text(r.UserExpressions["good"] + " = 3")},
				"bad":  {Error: &session.Error{Name: "CompileError", Value: "undefined: y"}},
			}}
		},
	})
	_, c := serve(t, f)
	reply, _ := c.skipStart().execute("cell", map[string]any{"user_expressions": map[string]any{"good": "1 + 2", "bad": "y"}})
	expect(t, "user_expressions", reply.Content["user_expressions"],
		`{"bad":{"ename":"CompileError","evalue":"undefined: y","status":"error","traceback":["CompileError: undefined: y"]},`+
			`"good":{"data":{"text/plain":"1 + 2 = 3"},"metadata":{},"status":"ok"}}`)
}

// Stock GoNB: control replies go out on shell, and nothing is served while a
// cell builds or runs.
func TestControlAndQueriesAreServedWhileACellRuns(t *testing.T) {
	started := make(chan bool)
	f := newFake(map[string]func(*run) session.Reply{"block": blocks(started)})
	_, c := serve(t, f)
	c.skipStart()
	cell := c.send(c.shell, "execute_request", map[string]any{"code": "block"})
	<-started
	for _, q := range []struct {
		channel, request string
		content          map[string]any
	}{
		{"control", "kernel_info_request", nil},
		{"shell", "kernel_info_request", nil},
		{"shell", "complete_request", map[string]any{"code": "fmt.F", "cursor_pos": 5}},
		{"shell", "inspect_request", map[string]any{"code": "fmt", "cursor_pos": 3, "detail_level": 0}},
		{"shell", "is_complete_request", map[string]any{"code": "f()"}},
		{"shell", "comm_info_request", nil},
		{"control", "complete_request", map[string]any{"code": "fmt.F", "cursor_pos": 5}},
	} {
		sock := map[string]zmq4.Socket{"shell": c.shell, "control": c.control}[q.channel]
		if q.content == nil {
			q.content = map[string]any{}
		}
		m := c.reply(q.channel, c.send(sock, q.request, q.content))
		if want := strings.TrimSuffix(q.request, "request") + "reply"; m.Type != want {
			t.Errorf("%s on %s was answered with %s", q.request, q.channel, m.Type)
		}
	}
	id := c.send(c.control, "interrupt_request", map[string]any{})
	if m := c.reply("control", id); m.Type != "interrupt_reply" || m.Content["status"] != "ok" {
		t.Errorf("interrupt: %s %v", m.Type, m.Content)
	}
	if m := c.reply("shell", cell); m.Content["ename"] != "Interrupted" {
		t.Errorf("cell: %v", m.Content)
	}
	// A client that shows the latest status never saw idle while the cell ran.
	states := map[string]string{}
	for states[cell] != "idle" {
		m := c.next()
		if m.Type != "status" {
			continue
		}
		states[m.ParentID] = m.Content["execution_state"].(string)
		if m.ParentID != cell && states[m.ParentID] == "idle" && states[cell] != "idle" {
			again := c.next()
			if again.Type != "status" || again.ParentID != cell || again.Content["execution_state"] != "busy" {
				if again.Type == "error" || again.ParentID == cell { // the cell ended meanwhile
					continue
				}
				t.Fatalf("after an idle came %s %v for %q", again.Type, again.Content, again.ParentID)
			}
		}
	}
}

func TestInterruptWithoutACellDoesNothing(t *testing.T) {
	f := newFake(nil)
	_, c := serve(t, f)
	c.skipStart().execute("cell")
	if m := c.reply("control", c.send(c.control, "interrupt_request", map[string]any{})); m.Content["status"] != "ok" {
		t.Errorf("reply: %v", m.Content)
	}
	if f.interrupts != 0 {
		t.Errorf("the session was interrupted %d times", f.interrupts)
	}
}

// Stock GoNB: is_complete and history requests get no reply.
func TestIsComplete(t *testing.T) {
	_, c := serve(t, newFake(nil))
	c.skipStart()
	for code, want := range map[string]string{
		"f()": `{"status":"complete"}`, "func f() {": `{"indent":"\t","status":"incomplete"}`, "?": `{"status":"invalid"}`,
	} {
		expect(t, code, c.ask("is_complete_request", map[string]any{"code": code}).Content, want)
	}
}

func TestCompleteAndInspectCountRunes(t *testing.T) {
	_, c := serve(t, newFake(nil))
	c.skipStart()
	m := c.ask("complete_request", map[string]any{"code": "fmt.Fprintl", "cursor_pos": 11})
	expect(t, "complete", m.Content, `{"cursor_end":11,"cursor_start":4,"matches":["Fprintln"],"metadata":{"_jupyter_types_experimental":`+
		`[{"end":11,"signature":"func(w io.Writer, a ...any)","start":4,"text":"Fprintln","type":"function"}]},"status":"ok"}`)
	m = c.ask("inspect_request", map[string]any{"code": "≤≤x", "cursor_pos": 2})
	expect(t, "inspect", m.Content, `{"data":{"text/plain":"about ≤≤"},"found":true,"metadata":{},"status":"ok"}`)
	m = c.ask("inspect_request", map[string]any{"code": "≤≤x", "cursor_pos": 99})
	expect(t, "cursor behind the end", m.Content["data"], `{"text/plain":"about ≤≤x"}`)
	m = c.ask("inspect_request", map[string]any{"code": "x", "cursor_pos": -5})
	expect(t, "nothing there", m.Content, `{"data":{},"found":false,"metadata":{},"status":"ok"}`)
}

func TestHistoryRequests(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{"1 + 2": func(r *run) session.Reply {
		r.emit(session.Result{Bundle: text("3"), Count: r.count})
		return session.Reply{Status: "ok"}
	}})
	_, c := serve(t, f)
	c.skipStart()
	for _, code := range []string{"1 + 2", "x := 1", "1 + 2", "y := 2"} {
		c.execute(code)
	}
	for _, q := range []struct {
		name    string
		request map[string]any
		want    string
	}{
		{"tail", map[string]any{"hist_access_type": "tail", "n": 2}, `[[1,3,"1 + 2"],[1,4,"y := 2"]]`},
		{"tail with output", map[string]any{"hist_access_type": "tail", "n": 2, "output": true}, `[[1,3,["1 + 2","3"]],[1,4,["y := 2",null]]]`},
		{"more than there is", map[string]any{"hist_access_type": "tail", "n": 99}, `[[1,1,"1 + 2"],[1,2,"x := 1"],[1,3,"1 + 2"],[1,4,"y := 2"]]`},
		{"range", map[string]any{"hist_access_type": "range", "session": 0, "start": 2, "stop": 4}, `[[1,2,"x := 1"],[1,3,"1 + 2"]]`},
		{"range, open", map[string]any{"hist_access_type": "range", "session": 1, "start": 4}, `[[1,4,"y := 2"]]`},
		{"range, no such session", map[string]any{"hist_access_type": "range", "session": 7, "start": 0}, `[]`},
		{"search", map[string]any{"hist_access_type": "search", "pattern": "1 ? *"}, `[[1,1,"1 + 2"],[1,3,"1 + 2"]]`},
		{"search unique", map[string]any{"hist_access_type": "search", "pattern": "*[0-9]", "unique": true}, `[[1,2,"x := 1"],[1,3,"1 + 2"],[1,4,"y := 2"]]`},
		{"search n", map[string]any{"hist_access_type": "search", "pattern": "*", "n": 1}, `[[1,4,"y := 2"]]`},
		{"search for nothing there", map[string]any{"hist_access_type": "search", "pattern": "1"}, `[]`},
	} {
		m := c.ask("history_request", q.request)
		if m.Content["status"] != "ok" {
			t.Errorf("%s: %v", q.name, m.Content)
		}
		expect(t, q.name, m.Content["history"], q.want)
	}
	if m := c.ask("history_request", map[string]any{"hist_access_type": "all"}); m.Content["status"] != "error" {
		t.Errorf("an unknown access type: %v", m.Content)
	}
}

func TestComms(t *testing.T) {
	_, c := serve(t, newFake(nil))
	c.skipStart()
	expect(t, "comm_info", c.ask("comm_info_request", map[string]any{}).Content, `{"comms":{},"status":"ok"}`)
	id := c.send(c.shell, "comm_open", map[string]any{"comm_id": "c1", "target_name": "nobody", "data": map[string]any{}})
	if got, want := brief(t, c.outputs(id)), "comm_close {\"comm_id\":\"c1\",\"data\":{}}\n"; got != want {
		t.Errorf("comm_open of an unknown target: %s", got)
	}
	for _, kind := range []string{"comm_msg", "comm_close"} {
		if out := c.outputs(c.send(c.shell, kind, map[string]any{"comm_id": "c1"})); len(out) != 0 {
			t.Errorf("%s: %s", kind, brief(t, out))
		}
	}
}

func TestUnknownAndBrokenRequestsAreAnswered(t *testing.T) {
	_, c := serve(t, newFake(nil))
	c.skipStart()
	for kind, content := range map[string]any{
		"future_request":    map[string]any{},
		"complete_request":  map[string]any{"code": 7},
		"history_request":   map[string]any{"n": "many"},
		"execute_request":   map[string]any{"code": []int{1}},
		"comm_info_request": map[string]any{},
	} {
		m := c.ask(kind, content)
		want := "error"
		if kind == "comm_info_request" {
			want = "ok"
		}
		if m.Content["status"] != want || m.Type != strings.TrimSuffix(kind, "request")+"reply" {
			t.Errorf("%s: %s %v", kind, m.Type, m.Content)
		}
	}
}

func TestASessionThatCannotStartSaysWhy(t *testing.T) {
	tries := 0
	f := newFake(nil)
	k := startKernel(t, jupyter.Config{Start: func() (session.Session, error) {
		if tries++; tries <= 2 {
			return nil, errors.New("no Go toolchain on the PATH")
		}
		return f, nil
	}})
	c := connect(t, k, "a").skipStart()
	// The server tries once by itself, so one of the first two cells fails.
	for range 2 {
		reply, _ := c.execute("x")
		if reply.Content["status"] == "ok" {
			continue
		}
		if reply.Content["ename"] != "StartError" || !strings.Contains(reply.Content["evalue"].(string), "no Go toolchain on the PATH") {
			t.Errorf("reply: %v", reply.Content)
		}
	}
	if reply, _ := c.execute("x"); reply.Content["status"] != "ok" {
		t.Errorf("once it can start: %v", reply.Content)
	}
}

func TestQuestionsGoToTheClientThatRunsTheCell(t *testing.T) {
	f := newFake(map[string]func(*run) session.Reply{"ask": func(r *run) session.Reply {
		answers := make(chan string)
		r.emit(session.Stream{Name: "stdout", Text: "before"})
		r.emit(session.InputRequest{Prompt: "name? ", Password: true, Answer: func(s string) { answers <- s }})
		select {
		case s := <-answers:
			r.emit(session.Stream{Name: "stdout", Text: "hello " + s})
		case <-r.cancel:
			return session.Reply{Status: "error", Error: &session.Error{Name: "Interrupted", Value: "while asking"}}
		}
		return session.Reply{Status: "ok"}
	}})
	k, c := serve(t, f)
	c.skipStart()
	other := connect(t, k, "client-b")
	id := c.send(c.shell, "execute_request", map[string]any{"code": "ask", "allow_stdin": true})
	q := c.reply("stdin", id)
	expect(t, "input_request", q.Content, `{"password":true,"prompt":"name? "}`)
	c.send(c.stdin, "input_reply", map[string]any{"value": "gopher"})
	c.reply("shell", id)
	out := c.outputs(id)
	if got := brief(t, out[1:]); got != "stream {\"name\":\"stdout\",\"text\":\"before\"}\nstream {\"name\":\"stdout\",\"text\":\"hello gopher\"}\n" {
		t.Errorf("outputs: %s", got)
	}
	if len(other.replies["stdin"]) != 0 {
		t.Error("another client was asked")
	}

	// An interrupt ends the wait; a late answer is for nobody.
	id = c.send(c.shell, "execute_request", map[string]any{"code": "ask"})
	c.reply("stdin", id)
	c.reply("control", c.send(c.control, "interrupt_request", map[string]any{}))
	if m := c.reply("shell", id); m.Content["ename"] != "Interrupted" {
		t.Errorf("interrupted while asking: %v", m.Content)
	}
	c.send(c.stdin, "input_reply", map[string]any{"value": "too late"})

	// allow_stdin false: the cell is not left waiting, and it is said why.
	reply := c.send(c.shell, "execute_request", map[string]any{"code": "ask", "allow_stdin": false})
	if m := c.reply("shell", reply); m.Content["status"] != "ok" {
		t.Errorf("without stdin: %v", m.Content)
	}
	for {
		if m := c.next(); m.ParentID == reply && m.Type == "stream" && m.Content["name"] == "stderr" {
			if !strings.Contains(m.Content["text"].(string), "allow_stdin") {
				t.Errorf("notice: %v", m.Content)
			}
			break
		}
	}
}

func TestWhatGoroutinesPrintLaterBelongsToTheLastCell(t *testing.T) {
	f := newFake(nil)
	_, c := serve(t, f)
	c.skipStart()
	id := c.send(c.shell, "execute_request", map[string]any{"code": "x"})
	c.reply("shell", id)
	c.outputs(id)
	f.mu.Lock()
	emit := f.background
	f.mu.Unlock()
	emit(session.Stream{Name: "stdout", Text: "still here"})
	if m := c.next(); m.Type != "stream" || m.ParentID != id || m.Content["text"] != "still here" {
		t.Errorf("got %s %v for %q", m.Type, m.Content, m.ParentID)
	}
}

func TestHeartbeatEchoes(t *testing.T) {
	_, c := serve(t, newFake(nil))
	for range 3 {
		if err := c.hb.Send(zmq4.NewMsgString("ping")); err != nil {
			t.Fatal(err)
		}
		m, err := c.hb.Recv()
		if err != nil || string(m.Bytes()) != "ping" {
			t.Fatalf("echo %q, %v", m.Bytes(), err)
		}
	}
}

func TestBadSignaturesAreDropped(t *testing.T) {
	f := newFake(nil)
	k, c := serve(t, f)
	c.skipStart()
	_, frames := c.frames("execute_request", map[string]any{"code": "evil"})
	for name, break_ := range map[string]func([][]byte) [][]byte{
		"no signature":    func(f [][]byte) [][]byte { f[1] = nil; return f },
		"other signature": func(f [][]byte) [][]byte { f[1] = []byte(strings.Repeat("0", 64)); return f },
		"changed content": func(f [][]byte) [][]byte { f[5] = []byte(`{"code":"worse"}`); return f },
		"no delimiter":    func(f [][]byte) [][]byte { return f[1:] },
		"frames missing":  func(f [][]byte) [][]byte { return f[:4] },
	} {
		bad := break_(append([][]byte(nil), frames...))
		if err := c.shell.SendMulti(zmq4.NewMsgFrom(bad...)); err != nil {
			t.Fatal(err)
		}
		if line := <-k.log.lines; !strings.Contains(line, "dropped") {
			t.Errorf("%s: log says %q", name, line)
		}
	}
	if reply, _ := c.execute("good"); reply.Content["status"] != "ok" {
		t.Errorf("after bad messages: %v", reply.Content)
	}
	if n := len(f.seen()); n != 1 {
		t.Errorf("%d cells ran, want the good one", n)
	}
}

func TestAnEmptyKeyMeansNoSignatures(t *testing.T) {
	k := startKernel(t, jupyter.Config{
		Connection: jupyter.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), ShellPort: 1, ControlPort: 2, IOPubPort: 3, StdinPort: 4, HBPort: 5},
		Start:      func() (session.Session, error) { return newFake(nil), nil },
	})
	c := connect(t, k, "a").skipStart()
	if reply, _ := c.execute("x"); reply.Content["status"] != "ok" {
		t.Errorf("reply: %v", reply.Content)
	}
}

func TestShutdownAnswersEverythingFirst(t *testing.T) {
	for _, channel := range []string{"control", "shell"} {
		t.Run(channel, func(t *testing.T) {
			started := make(chan bool)
			f := newFake(map[string]func(*run) session.Reply{"block": blocks(started)})
			k, c := serve(t, f)
			c.skipStart()
			cell := c.send(c.shell, "execute_request", map[string]any{"code": "block"})
			<-started
			next := c.send(c.shell, "execute_request", map[string]any{"code": "never"})
			c.reply("shell", c.send(c.shell, "kernel_info_request", map[string]any{}))
			sock := map[string]zmq4.Socket{"shell": c.shell, "control": c.control}[channel]
			down := c.send(sock, "shutdown_request", map[string]any{"restart": true})
			replies := map[string]message{}
			for len(replies) < 3 {
				from := c.replies["shell"]
				if channel == "control" && len(replies) == 0 {
					from = c.replies["control"]
				}
				m := wait(t, channel, from)
				replies[m.ParentID] = m
			}
			expect(t, "shutdown_reply", replies[down].Content, `{"restart":true,"status":"ok"}`)
			if m := replies[cell]; m.Content["status"] != "error" {
				t.Errorf("running cell: %v", m.Content)
			}
			if m := replies[next]; m.Content["status"] != "aborted" {
				t.Errorf("waiting cell: %v", m.Content)
			}
			k.wait(t)
			if f.closed != 1 {
				t.Errorf("the session was closed %d times", f.closed)
			}
		})
	}
}

func TestLargeOutputsArriveWhole(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<20) // 16 MiB
	f := newFake(map[string]func(*run) session.Reply{"big": prints(
		session.Display{Bundle: text(big)},
		session.Stream{Name: "stdout", Text: big},
		session.Stream{Name: "stdout", Text: "end"},
	)})
	_, c := serve(t, f)
	_, out := c.skipStart().execute("big")
	out = joinStreams(out)
	if len(out) != 3 {
		t.Fatalf("%d outputs, want 3", len(out))
	}
	if data := out[1].Content["data"].(map[string]any); data["text/plain"] != big {
		t.Error("the display was changed")
	}
	if out[2].Content["text"] != big+"end" {
		t.Error("the stream was changed")
	}
}

// A value that JSON cannot hold must not cost the reply or the outputs.
func TestOutputsThatAreNoJSONAreReported(t *testing.T) {
	bad := display.Bundle{Data: map[string]any{"application/json": func() {}}}
	f := newFake(map[string]func(*run) session.Reply{"bad": func(r *run) session.Reply {
		r.emit(session.Display{Bundle: bad})
		return session.Reply{Status: "ok", Payload: []map[string]any{{"x": make(chan int)}}}
	}})
	_, c := serve(t, f)
	reply, out := c.skipStart().execute("bad")
	if reply.Content["status"] != "error" || reply.Content["ename"] != "InternalError" {
		t.Errorf("reply: %v", reply.Content)
	}
	if len(out) != 2 || out[1].Content["name"] != "stderr" {
		t.Errorf("outputs: %s", brief(t, out))
	}
}
