package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// protocolVersion is the version of the Jupyter messaging protocol spoken.
const protocolVersion = "5.5"

// delimiter stands between the routing identities and the message proper.
var delimiter = []byte("<IDS|MSG>")

// errSignature says that a message was not signed with our key.
var errSignature = errors.New("jupyter: bad signature")

// Header identifies a message.
type Header struct {
	MsgID    string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	MsgType  string `json:"msg_type"`
	Version  string `json:"version"`
}

// Message is one message of the protocol. Header, parent header, metadata and
// content keep the bytes that came, so that a parent header goes back exactly
// as it was sent.
type Message struct {
	Identities [][]byte
	Header     Header
	RawHeader  json.RawMessage
	Parent     json.RawMessage
	Metadata   json.RawMessage
	Content    json.RawMessage
	Buffers    [][]byte
}

// codec turns messages into frames and back, signing with key.
type codec struct {
	key []byte // empty: no signatures
}

func (c codec) sign(parts ...[]byte) []byte {
	if len(c.key) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, c.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}

// decode reads the frames of one message and checks its signature.
func (c codec) decode(frames [][]byte) (*Message, error) {
	at := -1
	for i, f := range frames {
		if bytes.Equal(f, delimiter) {
			at = i
			break
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("jupyter: no %s among the %d frames", delimiter, len(frames))
	}
	rest := frames[at+1:]
	if len(rest) < 5 {
		return nil, fmt.Errorf("jupyter: %d frames after %s, at least 5 are needed (signature, header, parent header, metadata, content)", len(rest), delimiter)
	}
	if len(c.key) > 0 && !hmac.Equal(bytes.ToLower(rest[0]), c.sign(rest[1], rest[2], rest[3], rest[4])) {
		return nil, errSignature
	}
	m := &Message{
		Identities: frames[:at:at],
		RawHeader:  rest[1], Parent: rest[2], Metadata: rest[3], Content: rest[4],
		Buffers: rest[5:],
	}
	for i, name := range []string{"header", "parent header", "metadata", "content"} {
		if !isObject(rest[1+i]) {
			return nil, fmt.Errorf("jupyter: the %s is not a JSON object", name)
		}
	}
	if err := json.Unmarshal(m.RawHeader, &m.Header); err != nil {
		return nil, fmt.Errorf("jupyter: header: %w", err)
	}
	if m.Header.MsgType == "" {
		return nil, errors.New("jupyter: the header has no msg_type")
	}
	return m, nil
}

func isObject(b []byte) bool {
	t := bytes.TrimLeft(b, " \t\r\n")
	return len(t) > 0 && t[0] == '{' && json.Valid(b)
}

// encode gives the frames of m after the given leading frames (identities for
// a ROUTER, the topic for iopub).
func (c codec) encode(lead [][]byte, m *Message) [][]byte {
	frames := make([][]byte, 0, len(lead)+6+len(m.Buffers))
	frames = append(frames, lead...)
	frames = append(frames, delimiter,
		c.sign(m.RawHeader, m.Parent, m.Metadata, m.Content),
		m.RawHeader, m.Parent, m.Metadata, m.Content)
	return append(frames, m.Buffers...)
}

var emptyObject = json.RawMessage("{}")

// compose makes a message of our own: an answer to, or an output of, the
// request whose raw header is parent (nil for none).
func (s *Server) compose(msgType string, parent json.RawMessage, content any) (*Message, error) {
	body, err := marshal(content)
	if err != nil {
		return nil, fmt.Errorf("jupyter: encoding the content of %s: %w", msgType, err)
	}
	h := Header{
		MsgID: s.id + "_" + rand.Text(), Session: s.id, Username: s.user,
		Date: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), MsgType: msgType, Version: protocolVersion,
	}
	raw, err := marshal(h)
	if err != nil {
		return nil, fmt.Errorf("jupyter: encoding the header of %s: %w", msgType, err)
	}
	if parent == nil {
		parent = emptyObject
	}
	return &Message{Header: h, RawHeader: raw, Parent: parent, Metadata: emptyObject, Content: body}, nil
}

// marshal is json.Marshal without the escapes for embedding in HTML, which
// double the size of the HTML that notebooks are full of.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
