package agentsrules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@`)

// patchFiles applies a unified diff to the files of a folder, strictly: each line
// of context is where the diff has it.
func patchFiles(dir, patch string) error {
	var name string
	var old, now []string // the file's lines, and what they become
	at := 0               // lines of old that are done
	flush := func() error {
		if name == "" {
			return nil
		}
		text := strings.Join(append(now, old[at:]...), "\n")
		return os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "+++ "):
			if err := flush(); err != nil {
				return err
			}
			name = strings.TrimPrefix(strings.TrimPrefix(line, "+++ "), "b/")
			if !filepath.IsLocal(filepath.FromSlash(name)) {
				return fmt.Errorf("the patch changes %q, which is outside of the folder", name)
			}
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				return fmt.Errorf("reading what the patch changes: %w", err)
			}
			old, now, at = strings.Split(string(data), "\n"), nil, 0
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, `\ `):
		case strings.HasPrefix(line, "@@"):
			m := hunkHead.FindStringSubmatch(line)
			if m == nil || name == "" {
				return fmt.Errorf("the patch has a hunk that is none: %q", line)
			}
			begin, err := strconv.Atoi(m[1])
			if m[2] == "0" {
				begin++ // it is put in behind that line
			}
			if err != nil || begin-1 < at || begin-1 > len(old) {
				return fmt.Errorf("the patch begins at line %s of %s, which has %d lines", m[1], name, len(old))
			}
			now = append(now, old[at:begin-1]...)
			at = begin - 1
		case strings.HasPrefix(line, "+"):
			now = append(now, line[1:])
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "-"):
			if at >= len(old) || old[at] != line[1:] {
				return fmt.Errorf("the patch expects %q in line %d of %s", line[1:], at+1, name)
			}
			if line[0] == ' ' {
				now = append(now, old[at])
			}
			at++
		default:
			return fmt.Errorf("the patch has the line %q", line)
		}
	}
	return flush()
}
