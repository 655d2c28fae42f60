package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Connection is the content of a connection file: where the five sockets are
// bound and how messages are signed.
type Connection struct {
	Transport       string `json:"transport"` // "tcp" or "ipc"
	IP              string `json:"ip"`        // address, or the path prefix for ipc
	ShellPort       int    `json:"shell_port"`
	ControlPort     int    `json:"control_port"`
	IOPubPort       int    `json:"iopub_port"`
	StdinPort       int    `json:"stdin_port"`
	HBPort          int    `json:"hb_port"`
	Key             string `json:"key"` // empty: messages are not signed
	SignatureScheme string `json:"signature_scheme"`
	KernelName      string `json:"kernel_name,omitempty"`
}

// ReadConnection reads and checks a connection file.
func ReadConnection(path string) (Connection, error) {
	var c Connection
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("reading the connection file: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("connection file %s: %w", path, err)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("connection file %s: %w", path, err)
	}
	return c, nil
}

func (c *Connection) check() error {
	if c.Transport == "" {
		c.Transport = "tcp"
	}
	if c.Transport != "tcp" && c.Transport != "ipc" {
		return fmt.Errorf("transport %q: want tcp or ipc", c.Transport)
	}
	if c.IP == "" {
		return errors.New("no ip")
	}
	if c.Key != "" && c.SignatureScheme != "" && c.SignatureScheme != "hmac-sha256" {
		return fmt.Errorf("signature scheme %q: only hmac-sha256 is supported", c.SignatureScheme)
	}
	for name, port := range map[string]int{
		"shell_port": c.ShellPort, "control_port": c.ControlPort, "iopub_port": c.IOPubPort,
		"stdin_port": c.StdinPort, "hb_port": c.HBPort,
	} {
		if port < 0 || port > 65535 {
			return fmt.Errorf("%s %d: want 0 to 65535", name, port)
		}
	}
	return nil
}

// endpoint is the ZeroMQ address of one port. Over ipc a port is a suffix of
// the path, as Jupyter does it.
func (c *Connection) endpoint(port int) string {
	if c.Transport == "ipc" {
		return fmt.Sprintf("ipc://%s-%d", c.IP, port)
	}
	return fmt.Sprintf("tcp://%s:%d", c.IP, port)
}

// bound notes the port that an endpoint really got.
func (c *Connection) bound(endpoint string, port *int) error {
	if c.Transport == "ipc" {
		return nil
	}
	_, text, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		return fmt.Errorf("jupyter: bound endpoint %q: %w", endpoint, err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("jupyter: bound endpoint %q: %w", endpoint, err)
	}
	*port = n
	return nil
}
