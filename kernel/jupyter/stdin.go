package jupyter

import (
	"encoding/json"
	"fmt"

	"github.com/rooflab/rooflab/kernel/session"
)

// question is an input_request that waits for its input_reply.
type question struct {
	cell   *cell
	msgID  string
	answer func(string)
}

// ask sends a cell's question to the client that runs the cell, which the
// identities of its request name on the stdin socket too.
func (s *Server) ask(c *cell, out *outlet, in session.InputRequest) {
	m, err := s.compose("input_request", c.RawHeader, map[string]any{"prompt": in.Prompt, "password": in.Password})
	if err == nil {
		s.inputMu.Lock()
		s.input = &question{cell: c, msgID: m.Header.MsgID, answer: in.Answer}
		s.inputMu.Unlock()
		err = s.stdin.Send(s.codec.encode(c.Identities, m))
	}
	if err == nil {
		return
	}
	s.dropQuestion(c)
	out.emit(session.Stream{Name: "stderr", Text: fmt.Sprintf("input: the front end cannot be asked on its stdin channel (%v); the cell gets an empty line\n", err)})
	go in.Answer("")
}

// fromStdin takes the answers of the user.
func (s *Server) fromStdin(r request) {
	if r.Header.MsgType != "input_reply" {
		s.logf("stdin: %s was dropped, only input_reply is expected", r.Header.MsgType)
		return
	}
	var content struct {
		Value string `json:"value"`
	}
	var parent Header
	if err := json.Unmarshal(r.Content, &content); err != nil {
		s.logf("stdin: input_reply: %v", err)
		return
	}
	if err := json.Unmarshal(r.Parent, &parent); err != nil {
		s.logf("stdin: parent header of input_reply: %v", err)
		return
	}
	s.inputMu.Lock()
	q := s.input
	// Some clients leave the parent header empty; one that names another
	// question answers a cell that is over.
	if q == nil || parent.MsgID != "" && parent.MsgID != q.msgID {
		s.inputMu.Unlock()
		s.logf("stdin: an input_reply came that no cell waits for")
		return
	}
	s.input = nil
	s.inputMu.Unlock()
	q.answer(content.Value)
}

// dropQuestion forgets what a cell asked.
func (s *Server) dropQuestion(c *cell) {
	s.inputMu.Lock()
	defer s.inputMu.Unlock()
	if s.input != nil && s.input.cell == c {
		s.input = nil
	}
}
