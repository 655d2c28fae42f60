package zmtp

import (
	"bytes"
	"testing"
)

// Whatever a peer sends, reading it ends without a panic and takes no more
// memory than was sent; what could be read comes out the same after writing.
func FuzzReadMessage(f *testing.F) {
	f.Add(appendMessage(nil, [][]byte{[]byte("id"), nil, bytes.Repeat([]byte("x"), 300)}))
	f.Add(appendCommand(nil, "PING", []byte{0, 0, 'x'}))
	f.Add([]byte{flagLong, 0, 0, 0, 0, 0x1f, 0, 0, 0})
	f.Add([]byte{flagCommand | flagMore, 1, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readMessage(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again []byte
		if m.command != "" || m.frames == nil {
			again = appendCommand(nil, m.command, m.body)
		} else {
			again = appendMessage(nil, m.frames)
		}
		n, err := readMessage(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("%q, written as %q, cannot be read: %v", data, again, err)
		}
		if n.command != m.command || !bytes.Equal(n.body, m.body) || len(n.frames) != len(m.frames) {
			t.Fatalf("%q came back as %+v, was %+v", data, n, m)
		}
		for i := range m.frames {
			if !bytes.Equal(m.frames[i], n.frames[i]) {
				t.Fatalf("frame %d: %q, was %q", i, n.frames[i], m.frames[i])
			}
		}
	})
}

func FuzzHandshake(f *testing.F) {
	f.Add(append(greeting(), ready("DEALER")...))
	f.Add(append(greeting(), "\x04\x08\x05READY\xffx"...))
	f.Add(greeting()[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		if readGreeting(r) != nil {
			return
		}
		_, identity, err := readReady(r)
		if err == nil && len(identity) > 255 {
			t.Fatalf("an identity of %d bytes was accepted", len(identity))
		}
	})
}
