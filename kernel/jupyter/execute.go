package jupyter

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/rooflab/rooflab/kernel/session"
)

// executeRequest is the content of execute_request; a nil pointer is a field
// that was not sent.
type executeRequest struct {
	Code            string            `json:"code"`
	Silent          bool              `json:"silent"`
	StoreHistory    *bool             `json:"store_history"` // default: not silent
	UserExpressions map[string]string `json:"user_expressions"`
	AllowStdin      *bool             `json:"allow_stdin"`   // default: true
	StopOnError     *bool             `json:"stop_on_error"` // default: true
}

// cell is an execute_request at work.
type cell struct {
	request
	answered atomic.Bool // its reply went out, or is about to
}

// runCell works on one request of the cells lane.
func (s *Server) runCell(r request) {
	if r.Header.MsgType != "execute_request" {
		s.answer(r)
		return
	}
	c := &cell{request: r}
	s.runMu.Lock()
	s.running, s.latest = c, r.RawHeader
	s.status("busy", r.RawHeader)
	s.runMu.Unlock()

	waiting := s.execute(c)

	s.runMu.Lock()
	s.running = nil
	s.status("idle", r.RawHeader)
	s.runMu.Unlock()
	s.abort(waiting)
}

// execute runs a cell and replies. It returns the cells that are not to run
// because this one failed: those that wait before the reply goes out. What the
// client sends after it knows of the error is meant to run.
func (s *Server) execute(c *cell) (aborted []request) {
	var q executeRequest
	if err := json.Unmarshal(c.Content, &q); err != nil {
		aborted = s.cells.take("execute_request")
		s.finish(c, session.Reply{Count: s.lastCount(), Status: "error",
			Error: &session.Error{Name: "BadRequest", Value: fmt.Sprintf("execute_request: %v", err)}})
		return aborted
	}
	store := pick(q.StoreHistory, !q.Silent) && !q.Silent
	count := s.lastCount()
	if store {
		count++
	}
	if !q.Silent {
		s.publish("execute_input", c.RawHeader, map[string]any{"code": q.Code, "execution_count": count})
	}
	out := s.newOutlet(c.RawHeader, q.Silent)
	allow := pick(q.AllowStdin, true)
	if allow {
		out.ask = func(in session.InputRequest) { s.ask(c, out, in) }
	}
	reply := s.run(session.Request{
		Source: q.Code, Silent: q.Silent, StoreHistory: store,
		UserExpressions: q.UserExpressions, AllowStdin: allow,
	}, count, out.emit)
	s.dropQuestion(c)
	out.finish()
	s.setCount(reply.Count)
	if store {
		if err := s.history.Add(reply.Count, q.Code, out.result); err != nil {
			s.logf("%v", err)
		}
	}
	if reply.Status == "error" {
		out.publish("error", errorContent(reply.Error))
	}
	if reply.Status != "ok" && !q.Silent && pick(q.StopOnError, true) {
		aborted = s.cells.take("execute_request")
	}
	s.finish(c, reply)
	return aborted
}

// run calls the session. Whatever happens, there is a reply.
func (s *Server) run(req session.Request, count int, emit func(session.Event)) (reply session.Reply) {
	defer func() {
		if p := recover(); p != nil {
			s.logf("panic in the session: %v\n%s", p, debug.Stack())
			reply = session.Reply{Count: count, Status: "error", Error: &session.Error{
				Name: "InternalError", Value: fmt.Sprintf("the kernel itself panicked: %v", p)}}
		}
	}()
	sess, err := s.engine.get()
	if err != nil {
		return session.Reply{Count: count, Status: "error", Error: &session.Error{
			Name: "StartError", Value: fmt.Sprintf("the session could not start: %v", err)}}
	}
	reply = sess.Execute(req, emit)
	if known := reply.Status == "ok" || reply.Status == "error" || reply.Status == "aborted"; !known {
		reply.Status, reply.Error = "error", &session.Error{
			Name: "InternalError", Value: fmt.Sprintf("the session ended the cell with the unknown status %q", reply.Status)}
	}
	if reply.Status == "error" && reply.Error == nil {
		reply.Error = &session.Error{Name: "InternalError", Value: "the session gave no reason for the error"}
	}
	return reply
}

// finish sends the execute_reply, unless it has been sent already.
func (s *Server) finish(c *cell, reply session.Reply) {
	if c.answered.Swap(true) {
		return
	}
	content := map[string]any{
		"status":           reply.Status,
		"execution_count":  reply.Count,
		"user_expressions": userValues(reply.UserExpressions),
		"payload":          []map[string]any{},
	}
	if reply.Payload != nil {
		content["payload"] = reply.Payload
	}
	if reply.Status == "error" {
		for k, v := range errorContent(reply.Error) {
			content[k] = v
		}
	}
	s.reply(c.request, "execute_reply", content)
}

// giveUp answers for a cell that did not end although the session closed.
func (s *Server) giveUp(c *cell) {
	s.finish(c, session.Reply{Count: s.lastCount(), Status: "error", Error: &session.Error{
		Name: "HostLost", Value: "the kernel was shut down while the cell was running"}})
	s.status("idle", c.RawHeader)
}

// abort answers cells that will not run.
func (s *Server) abort(cells []request) {
	for _, r := range cells {
		s.during(r, func() {
			s.reply(r, "execute_reply", map[string]any{
				"status": "aborted", "execution_count": s.lastCount(),
				"user_expressions": map[string]any{}, "payload": []any{},
			})
		})
	}
}

// during publishes busy and idle around f, which answers a request that is not
// a running cell. A cell that runs meanwhile is then shown as busy again, since
// front ends take the latest status for the kernel's.
func (s *Server) during(r request, f func()) {
	s.runMu.Lock()
	s.status("busy", r.RawHeader)
	s.runMu.Unlock()
	f()
	s.runMu.Lock()
	defer s.runMu.Unlock()
	s.status("idle", r.RawHeader)
	if s.running != nil {
		s.status("busy", s.running.RawHeader)
	}
}

func (s *Server) status(state string, parent json.RawMessage) {
	s.publish("status", parent, map[string]any{"execution_state": state})
}

func (s *Server) current() *cell {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	return s.running
}

func (s *Server) lastCount() int {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	return s.count
}

func (s *Server) setCount(n int) {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	s.count = n
}

// errorContent is the protocol's form of an error.
func errorContent(e *session.Error) map[string]any {
	traceback := e.Traceback
	if len(traceback) == 0 {
		traceback = []string{e.Name + ": " + e.Value}
	}
	return map[string]any{"ename": e.Name, "evalue": e.Value, "traceback": traceback}
}

// failure is the content of a reply to a request that could not be served.
func failure(name, value string) map[string]any {
	content := errorContent(&session.Error{Name: name, Value: value})
	content["status"] = "error"
	return content
}

func userValues(values map[string]session.UserValue) map[string]any {
	out := map[string]any{}
	for name, v := range values {
		if v.Error != nil {
			out[name] = failure(v.Error.Name, v.Error.Value)
			continue
		}
		data, meta := bundle(v.Bundle)
		out[name] = map[string]any{"status": "ok", "data": data, "metadata": meta}
	}
	return out
}

func pick(p *bool, otherwise bool) bool {
	if p == nil {
		return otherwise
	}
	return *p
}
