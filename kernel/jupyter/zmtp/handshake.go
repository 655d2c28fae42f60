package zmtp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const greetingSize = 64

// greeting is what both sides send first: signature, version 3.0, the NULL
// mechanism. 3.0 and not 3.1, so that subscriptions come as messages from
// every peer; commands of 3.1 are understood all the same.
func greeting() []byte {
	var g [greetingSize]byte
	g[0], g[9] = 0xFF, 0x7F
	g[10], g[11] = 3, 0
	copy(g[12:32], "NULL")
	return g[:]
}

// readGreeting reads and checks the peer's greeting.
func readGreeting(r io.Reader) error {
	var g [greetingSize]byte
	// The version comes right after the signature: a peer of ZMTP 1 or 2
	// sends no more than that before it hears from us, so look early.
	if _, err := io.ReadFull(r, g[:11]); err != nil {
		return fmt.Errorf("zmtp: reading the greeting: %w", cutShort(err))
	}
	if g[0] != 0xFF || g[9] != 0x7F {
		return errors.New("zmtp: not a ZeroMQ peer: bad signature")
	}
	if g[10] < 3 {
		return fmt.Errorf("zmtp: peer speaks ZMTP %d, at least 3 is needed", g[10])
	}
	if _, err := io.ReadFull(r, g[11:]); err != nil {
		return fmt.Errorf("zmtp: reading the greeting: %w", cutShort(err))
	}
	if mech := string(bytes.TrimRight(g[12:32], "\x00")); mech != "NULL" {
		return fmt.Errorf("zmtp: peer wants security mechanism %q, only NULL is offered", mech)
	}
	return nil
}

// ready is the READY command of the NULL mechanism.
func ready(socketType string) []byte {
	var meta []byte
	meta = appendProperty(meta, "Socket-Type", socketType)
	meta = appendProperty(meta, "Identity", "")
	return appendCommand(nil, "READY", meta)
}

func appendProperty(dst []byte, name, value string) []byte {
	dst = append(dst, byte(len(name)))
	dst = append(dst, name...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
	return append(dst, value...)
}

// readReady reads the peer's READY and returns its socket type and identity.
func readReady(r io.Reader) (socketType, identity string, err error) {
	m, err := readMessage(r)
	if err != nil {
		return "", "", fmt.Errorf("zmtp: reading READY: %w", cutShort(err))
	}
	switch m.command {
	case "READY":
	case "ERROR":
		return "", "", fmt.Errorf("zmtp: peer refused: %q", m.body)
	default:
		return "", "", fmt.Errorf("zmtp: %q instead of the READY command", m.command)
	}
	meta := m.body
	for len(meta) > 0 {
		n := int(meta[0])
		if len(meta) < 1+n+4 {
			return "", "", errors.New("zmtp: READY cut short")
		}
		name := string(meta[1 : 1+n])
		size := binary.BigEndian.Uint32(meta[1+n:])
		meta = meta[1+n+4:]
		if uint64(size) > uint64(len(meta)) {
			return "", "", errors.New("zmtp: READY cut short")
		}
		value := string(meta[:size])
		meta = meta[size:]
		switch strings.ToLower(name) { // names are case-insensitive
		case "socket-type":
			socketType = value
		case "identity":
			identity = value
		}
	}
	if len(identity) > 255 {
		return "", "", fmt.Errorf("zmtp: identity of %d bytes, at most 255 are allowed", len(identity))
	}
	return socketType, identity, nil
}
