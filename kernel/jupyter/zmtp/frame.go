package zmtp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of what a peer may make us hold. A frame's header is eight bytes of
// length that anyone on the machine can write, so the length is believed only
// as far as bytes really arrive.
const (
	maxFrame   = 512 << 20 // bytes in one frame
	maxMessage = 1 << 30   // bytes in one message, all frames together
	maxFrames  = 4096      // frames in one message
	maxCommand = 64 << 10  // bytes in one command
)

// Bits of a frame's first byte (ZMTP 3.1, section "Framing").
const (
	flagMore    = 1 << 0
	flagLong    = 1 << 1
	flagCommand = 1 << 2
)

// message is what one read from a peer gives: the frames of a message, or a
// command with its name and body.
type message struct {
	frames  [][]byte
	command string
	body    []byte
}

// readMessage reads frames up to the end of one message or one command.
func readMessage(r io.Reader) (message, error) {
	var m message
	total := 0
	for {
		flags, body, err := readFrame(r)
		if err != nil {
			if errors.Is(err, io.EOF) && len(m.frames) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return message{}, err
		}
		if flags&flagCommand != 0 {
			if flags&flagMore != 0 || len(m.frames) > 0 {
				return message{}, errors.New("zmtp: a command inside a message")
			}
			m.command, m.body, err = splitCommand(body)
			return m, err
		}
		total += len(body)
		if total > maxMessage {
			return message{}, fmt.Errorf("zmtp: message over %d bytes", maxMessage)
		}
		if len(m.frames) == maxFrames {
			return message{}, fmt.Errorf("zmtp: message over %d frames", maxFrames)
		}
		m.frames = append(m.frames, body)
		if flags&flagMore == 0 {
			return m, nil
		}
	}
}

// readFrame reads one frame. io.EOF means that the peer ended between frames.
func readFrame(r io.Reader) (flags byte, body []byte, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return 0, nil, err
	}
	flags = head[0]
	if flags&^(flagMore|flagLong|flagCommand) != 0 {
		return 0, nil, fmt.Errorf("zmtp: frame flags %#02x: reserved bits are set", flags)
	}
	var size uint64
	if flags&flagLong != 0 {
		if _, err := io.ReadFull(r, head[1:9]); err != nil {
			return 0, nil, cutShort(err)
		}
		size = binary.BigEndian.Uint64(head[1:9])
	} else {
		if _, err := io.ReadFull(r, head[1:2]); err != nil {
			return 0, nil, cutShort(err)
		}
		size = uint64(head[1])
	}
	limit := uint64(maxFrame)
	if flags&flagCommand != 0 {
		limit = maxCommand
	}
	if size > limit {
		return 0, nil, fmt.Errorf("zmtp: frame of %d bytes, at most %d are accepted", size, limit)
	}
	body, err = readBody(r, int(size))
	return flags, body, err
}

// readBody reads size bytes, taking memory only as they arrive.
func readBody(r io.Reader, size int) ([]byte, error) {
	const step = 1 << 20
	body := make([]byte, 0, min(size, step))
	for len(body) < size {
		n := min(size-len(body), max(step, len(body)))
		at := len(body)
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(r, body[at:]); err != nil {
			return nil, cutShort(err)
		}
	}
	return body, nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendMessage appends the wire form of a message.
func appendMessage(dst []byte, frames [][]byte) []byte {
	for i, f := range frames {
		var flags byte
		if i < len(frames)-1 {
			flags = flagMore
		}
		dst = appendFrame(dst, flags, f)
	}
	return dst
}

func appendFrame(dst []byte, flags byte, body []byte) []byte {
	if len(body) > 255 {
		dst = append(dst, flags|flagLong)
		dst = binary.BigEndian.AppendUint64(dst, uint64(len(body)))
	} else {
		dst = append(dst, flags, byte(len(body)))
	}
	return append(dst, body...)
}

func splitCommand(body []byte) (name string, rest []byte, err error) {
	if len(body) == 0 || int(body[0]) > len(body)-1 {
		return "", nil, errors.New("zmtp: malformed command name")
	}
	n := int(body[0])
	return string(body[1 : 1+n]), body[1+n:], nil
}

func appendCommand(dst []byte, name string, rest []byte) []byte {
	body := make([]byte, 0, 1+len(name)+len(rest))
	body = append(body, byte(len(name)))
	body = append(body, name...)
	body = append(body, rest...)
	return appendFrame(dst, flagCommand, body)
}
