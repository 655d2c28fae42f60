package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// fromShell sorts what comes on the shell channel. Cells, and what depends on
// their order, queue up; what can be known while a cell runs is answered at
// once; ending and interrupting never wait.
func (s *Server) fromShell(r request) {
	switch r.Header.MsgType {
	case "shutdown_request", "interrupt_request":
		s.answer(r)
	case "kernel_info_request", "complete_request", "inspect_request", "is_complete_request",
		"comm_info_request", "connect_request":
		s.add(s.queries, r)
	default:
		s.add(s.cells, r)
	}
}

// fromControl sorts what comes on the control channel.
func (s *Server) fromControl(r request) {
	switch r.Header.MsgType {
	case "shutdown_request", "interrupt_request":
		s.answer(r)
	case "execute_request": // in line with the other cells, answered on control
		s.add(s.cells, r)
	default:
		s.add(s.controls, r)
	}
}

// add queues a request; when the kernel is ending it is answered right away.
func (s *Server) add(l *lane, r request) {
	if l.add(r) {
		return
	}
	if r.Header.MsgType == "execute_request" {
		s.abort([]request{r})
		return
	}
	s.during(r, func() {
		if kind, ok := replyType(r.Header.MsgType); ok {
			s.reply(r, kind, failure("ShuttingDown", errEnding.Error()))
		}
	})
}

// replyType is the type of the reply to a request; messages such as comm_msg
// have none.
func replyType(msgType string) (string, bool) {
	base, ok := strings.CutSuffix(msgType, "_request")
	return base + "_reply", ok
}

// handlers answer requests other than execute_request. A nil content with a
// nil error sends no reply.
var handlers = map[string]func(*Server, request) (any, error){
	"kernel_info_request": (*Server).kernelInfo,
	"connect_request":     (*Server).connectInfo,
	"complete_request":    (*Server).complete,
	"inspect_request":     (*Server).inspect,
	"is_complete_request": (*Server).isComplete,
	"history_request":     (*Server).pastCells,
	"comm_info_request":   (*Server).commInfo,
	"comm_open":           (*Server).commOpen,
	"comm_msg":            (*Server).commOther,
	"comm_close":          (*Server).commOther,
	"interrupt_request":   (*Server).interrupt,
	"shutdown_request":    (*Server).shutdown,
}

// answer serves one request that is not a cell.
func (s *Server) answer(r request) {
	s.during(r, func() {
		content, err := s.handle(r)
		kind, wanted := replyType(r.Header.MsgType)
		switch {
		case err != nil && wanted:
			s.reply(r, kind, failure("BadRequest", err.Error()))
		case err != nil:
			s.logf("%s: %v", r.Header.MsgType, err)
		case content != nil:
			s.reply(r, kind, content)
		}
	})
	if r.Header.MsgType == "shutdown_request" {
		s.once.Do(func() { close(s.stop) })
	}
}

func (s *Server) handle(r request) (content any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.logf("panic in %s: %v\n%s", r.Header.MsgType, p, debug.Stack())
			err = fmt.Errorf("the kernel itself panicked: %v", p)
		}
	}()
	h := handlers[r.Header.MsgType]
	if h == nil {
		return nil, fmt.Errorf("message type %q is not supported", r.Header.MsgType)
	}
	return h(s, r)
}

func (s *Server) kernelInfo(request) (any, error) {
	version := strings.TrimPrefix(runtime.Version(), "go")
	version, _, _ = strings.Cut(version, " ") // "1.26.8 X:simd"
	version, _, _ = strings.Cut(version, "-X:")
	return map[string]any{
		"status":                 "ok",
		"protocol_version":       protocolVersion,
		"implementation":         "rooflab",
		"implementation_version": s.cfg.Version,
		"banner":                 fmt.Sprintf("rooflab %s: a live Go session (go %s). %%help tells what a cell can hold.", s.cfg.Version, version),
		"debugger":               false,
		"supported_features":     []string{},
		"help_links": []map[string]string{
			{"text": "Go packages", "url": "https://pkg.go.dev/"},
			{"text": "The Go language", "url": "https://go.dev/ref/spec"},
		},
		"language_info": map[string]any{
			"name": "go", "version": version, "mimetype": "text/x-go", "file_extension": ".go",
			"pygments_lexer": "go", "codemirror_mode": "go", "nbconvert_exporter": "script",
		},
	}, nil
}

func (s *Server) connectInfo(request) (any, error) {
	c := s.cfg.Connection
	return map[string]any{
		"status": "ok", "shell_port": c.ShellPort, "iopub_port": c.IOPubPort,
		"stdin_port": c.StdinPort, "control_port": c.ControlPort, "hb_port": c.HBPort,
	}, nil
}

// codeRequest is the content of the requests about a piece of source.
type codeRequest struct {
	Code      string `json:"code"`
	CursorPos *int   `json:"cursor_pos"` // in runes
	Detail    int    `json:"detail_level"`
}

// source reads a codeRequest with its cursor inside the code.
func (r request) source() (q codeRequest, cursor int, err error) {
	if err := json.Unmarshal(r.Content, &q); err != nil {
		return q, 0, err
	}
	cursor = len([]rune(q.Code))
	if q.CursorPos != nil {
		cursor = max(0, min(*q.CursorPos, cursor))
	}
	return q, cursor, nil
}

func (s *Server) complete(r request) (any, error) {
	q, cursor, err := r.source()
	if err != nil {
		return nil, err
	}
	sess, err := s.engine.get()
	if err != nil {
		return nil, err
	}
	c := sess.Complete(q.Code, cursor)
	texts := make([]string, 0, len(c.Matches))
	types := make([]map[string]any, 0, len(c.Matches))
	for _, m := range c.Matches {
		texts = append(texts, m.Text)
		types = append(types, map[string]any{
			"text": m.Text, "type": m.Type, "signature": m.Doc, "start": c.Start, "end": c.End,
		})
	}
	return map[string]any{
		"status": "ok", "matches": texts, "cursor_start": c.Start, "cursor_end": c.End,
		"metadata": map[string]any{"_jupyter_types_experimental": types},
	}, nil
}

func (s *Server) inspect(r request) (any, error) {
	q, cursor, err := r.source()
	if err != nil {
		return nil, err
	}
	sess, err := s.engine.get()
	if err != nil {
		return nil, err
	}
	in := sess.Inspect(q.Code, cursor, q.Detail)
	data, meta := bundle(in.Bundle)
	return map[string]any{"status": "ok", "found": in.Found, "data": data, "metadata": meta}, nil
}

func (s *Server) isComplete(r request) (any, error) {
	q, _, err := r.source()
	if err != nil {
		return nil, err
	}
	sess, err := s.engine.get()
	if err != nil { // the protocol's is_complete_reply has no error form
		s.logf("is_complete: %v", err)
		return map[string]any{"status": "unknown"}, nil
	}
	c := sess.IsComplete(q.Code)
	content := map[string]any{"status": c.Status}
	if c.Status == "incomplete" {
		content["indent"] = c.Indent
	}
	return content, nil
}

func (s *Server) pastCells(r request) (any, error) {
	var q historyRequest
	if err := json.Unmarshal(r.Content, &q); err != nil {
		return nil, err
	}
	found, err := s.history.find(q)
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": "ok", "history": rows(found, q.Output)}, nil
}

// commInfo lists the open comms: the session opens none.
func (s *Server) commInfo(request) (any, error) {
	return map[string]any{"status": "ok", "comms": map[string]any{}}, nil
}

// commOpen refuses a comm, as the protocol wants it for an unknown target.
func (s *Server) commOpen(r request) (any, error) {
	var q struct {
		CommID string `json:"comm_id"`
		Target string `json:"target_name"`
	}
	if err := json.Unmarshal(r.Content, &q); err != nil {
		return nil, err
	}
	if q.CommID == "" {
		return nil, errors.New("comm_id is missing")
	}
	s.publish("comm_close", r.RawHeader, map[string]any{"comm_id": q.CommID, "data": map[string]any{}})
	return nil, fmt.Errorf("comm target %q is unknown, the comm was closed", q.Target)
}

// commOther hears about comms that were refused.
func (s *Server) commOther(r request) (any, error) {
	return nil, errors.New("no such comm is open")
}

func (s *Server) interrupt(request) (any, error) {
	s.Interrupt()
	return map[string]any{"status": "ok"}, nil
}

func (s *Server) shutdown(r request) (any, error) {
	var q struct {
		Restart bool `json:"restart"`
	}
	if err := json.Unmarshal(r.Content, &q); err != nil {
		return nil, err
	}
	content := map[string]any{"status": "ok", "restart": q.Restart}
	s.publish("shutdown_reply", r.RawHeader, content) // all clients hear it
	return content, nil
}
