package jupyter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHistoryOutlivesTheSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "history.jsonl")
	first, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenHistory(path) // at the same time
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Add(1, "x := 1", ""); err != nil {
		t.Fatal(err)
	}
	if err := second.Add(1, "y := \"<\n>\"", "out"); err != nil {
		t.Fatal(err)
	}
	// A kernel killed while writing leaves half a line.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"session\":2,\"li\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Add(1, "z", ""); err != nil {
		t.Fatal(err)
	}
	all, err := third.find(historyRequest{Access: "tail"})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(rows(all, true))
	want := "[[1 1 [x := 1 <nil>]] [2 1 [y := \"<\n>\" out]] [3 1 [z <nil>]]]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	before, err := third.find(historyRequest{Access: "range", Session: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(before) != 1 || before[0].Session != 2 {
		t.Errorf("the session before: %v", before)
	}
}

func TestHistoryFileIsShortened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	var b strings.Builder
	for i := range 2*maxHistory + 1 {
		fmt.Fprintf(&b, "{\"session\":1,\"line\":%d,\"input\":\"c%d\"}\n", i, i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenHistory(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != maxHistory+1 { // and the line that takes the session's number
		t.Errorf("%d lines are left, want %d", len(lines), maxHistory+1)
	}
	if first := fmt.Sprintf(`"input":"c%d"`, maxHistory+1); !strings.Contains(lines[0], first) {
		t.Errorf("the first line is %s, want %s", lines[0], first)
	}
}

func TestHistoryThatCannotBeWrittenIsAnError(t *testing.T) {
	if _, err := OpenHistory("/dev/null/history.jsonl"); err == nil {
		t.Error("a history under /dev/null was opened")
	}
}

func TestReadConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kernel.json")
	for text, want := range map[string]string{
		`{"transport":"tcp","ip":"127.0.0.1","shell_port":5,"control_port":0,"iopub_port":1,"stdin_port":2,"hb_port":3,"key":"k","signature_scheme":"hmac-sha256"}`: "",
		`{"ip":"127.0.0.1"}`:                                   "",
		`{"transport":"udp","ip":"127.0.0.1"}`:                 "udp",
		`{"transport":"tcp"}`:                                  "no ip",
		`{"ip":"::1","key":"k","signature_scheme":"hmac-md5"}`: "hmac-md5",
		`{"ip":"127.0.0.1","shell_port":70000}`:                "shell_port 70000",
		`{"ip":"127.0.0.1","shell_port":"5"}`:                  "shell_port",
		`{`:                                                    "kernel.json",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadConnection(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadConnection(path + ".missing"); err == nil {
		t.Error("a missing file was read")
	}
}

func TestKernelspecIsWrittenAndRemoved(t *testing.T) {
	data := t.TempDir()
	for range 2 { // installing again replaces
		dir, err := RooflabSpec("/opt/rooflab").Write(data)
		if err != nil {
			t.Fatal(err)
		}
		if dir != filepath.Join(data, "kernels", "rooflab") {
			t.Errorf("folder %s", dir)
		}
	}
	raw, err := os.ReadFile(filepath.Join(data, "kernels", "rooflab", "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Argv        []string `json:"argv"`
		DisplayName string   `json:"display_name"`
		Language    string   `json:"language"`
		Interrupt   string   `json:"interrupt_mode"`
	}
	if err := json.Unmarshal(raw, &spec); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(spec); got != "{[/opt/rooflab kernel --connection-file {connection_file}] Go (rooflab) go message}" {
		t.Errorf("kernel.json says %s", got)
	}
	entries, err := os.ReadDir(filepath.Join(data, "kernels", "rooflab"))
	if err != nil || len(entries) != 2 {
		t.Errorf("files: %v, %v", entries, err)
	}
	if _, found, err := RemoveSpec(data, "rooflab"); !found || err != nil {
		t.Errorf("removing: %v, %v", found, err)
	}
	if _, found, err := RemoveSpec(data, "rooflab"); found || err != nil {
		t.Errorf("removing again: %v, %v", found, err)
	}
}

func TestUserDataDirFollowsTheEnvironment(t *testing.T) {
	t.Setenv("JUPYTER_DATA_DIR", "/data")
	if dir, err := UserDataDir(); dir != "/data" || err != nil {
		t.Errorf("%s, %v", dir, err)
	}
}
