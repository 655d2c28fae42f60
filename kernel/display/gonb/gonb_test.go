package gonb_test

import (
	"encoding/gob"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/rooflab/rooflab/kernel/display"
	_ "github.com/rooflab/rooflab/kernel/display/gonb"
)

// TestMain plays the cell when the test starts itself again below.
func TestMain(m *testing.M) {
	if os.Getenv("ROOFLAB_TEST_CELL") != "" {
		display.Show(display.Bundle{Data: map[string]any{"text/html": "<b>x</b>", "image/png": []byte{1, 2, 3}}})
		display.Live("first").Update("second")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The test stands in for GoNB: it makes its pipes and reads what a cell sends.
func TestDisplaysReachGoNB(t *testing.T) {
	dir := t.TempDir()
	to, back := filepath.Join(dir, "to"), filepath.Join(dir, "back")
	for _, p := range []string{to, back} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cell := exec.Command(os.Args[0])
	cell.Env = append(os.Environ(), "ROOFLAB_TEST_CELL=1", protocol.GONB_PIPE_ENV+"="+to, protocol.GONB_PIPE_BACK_ENV+"="+back)
	cell.Stderr = os.Stderr
	if err := cell.Start(); err != nil {
		t.Fatal(err)
	}
	// Read and write: opening must not wait for the other side to be there.
	in, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(back, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var got []protocol.DisplayData
	dec := gob.NewDecoder(in)
	for range 3 {
		var d protocol.DisplayData
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if err := cell.Wait(); err != nil {
		t.Fatal(err)
	}
	if got[0].Data["text/html"] != "<b>x</b>" || string(got[0].Data["image/png"].([]byte)) != "\x01\x02\x03" || got[0].DisplayID != "" {
		t.Errorf("first: %v", got[0])
	}
	if got[1].Data["text/plain"] != "first" || got[2].Data["text/plain"] != "second" || got[1].DisplayID == "" || got[1].DisplayID != got[2].DisplayID {
		t.Errorf("update: %v then %v", got[1], got[2])
	}
}
