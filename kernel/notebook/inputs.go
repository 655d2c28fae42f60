package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Input is a file that cells name in a string, as it was before the run.
type Input struct {
	Path   string // as the cells name it, or a file below a folder that they name
	Size   int64  // bytes
	SHA256 string // hexadecimal; empty where the file was too large to read for this

	changed time.Time
}

// Files that are named are read for their checksums up to this many bytes in
// all; of others only the size is noted. A folder with more files is data that
// somebody else keeps track of.
const (
	maxHashed = 1 << 30
	maxFiles  = 1000
)

// Inputs finds the files that strings of code cells name, relative to the
// notebook's folder dir, and takes their checksums. A folder below dir stands
// for the files in it.
func Inputs(nb *Notebook, dir string) []Input {
	found := map[string]fs.FileInfo{}
	for _, c := range nb.Cells {
		if c.Type != Code || c.HasTag(TagSkipExecution) {
			continue
		}
		for _, text := range literals(c.Source) {
			name(found, dir, text)
		}
	}
	var all []Input
	budget := int64(maxHashed)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		st := found[path]
		in := Input{Path: path, Size: st.Size(), changed: st.ModTime()}
		if in.Size <= budget {
			if sum, err := checksum(under(dir, path)); err == nil {
				in.SHA256 = sum
				budget -= in.Size
			}
		}
		all = append(all, in)
	}
	return all
}

// literals are the strings of a cell.
func literals(src string) []string {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) {}, 0)
	var all []string
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return all
		}
		if tok == token.STRING {
			if text, err := strconv.Unquote(lit); err == nil && text != "" && len(text) < 4096 {
				all = append(all, text)
			}
		}
	}
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// name adds the regular file, or the files of the folder below dir, that text
// names.
func name(found map[string]fs.FileInfo, dir, text string) {
	st, err := os.Stat(under(dir, text))
	switch {
	case err != nil:
		return
	case st.Mode().IsRegular():
		found[text] = st
		return
	case !st.IsDir() || !filepath.IsLocal(text) || filepath.Clean(text) == ".":
		return
	}
	below := map[string]fs.FileInfo{}
	err = filepath.WalkDir(under(dir, text), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if len(below) == maxFiles {
			return fs.SkipAll
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		below[rel] = info
		return err
	})
	if err == nil && len(below) < maxFiles {
		maps.Copy(found, below)
	}
}

func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// The place of the inputs in the notebook's metadata.
const (
	metadataKey = "rooflab"
	inputsKey   = "inputs"
)

// RecordInputs notes in nb's metadata which inputs the run had. Those that the
// run itself wrote are results and are left out.
func RecordInputs(nb *Notebook, dir string, before []Input) {
	files := map[string]any{}
	for _, in := range before {
		st, err := os.Stat(under(dir, in.Path))
		if err != nil || st.Size() != in.Size || !st.ModTime().Equal(in.changed) {
			continue
		}
		file := map[string]any{"size": in.Size}
		if in.SHA256 != "" {
			file["sha256"] = in.SHA256
		}
		files[in.Path] = file
	}
	ours, _ := nb.Metadata[metadataKey].(map[string]any)
	ours = maps.Clone(ours)
	delete(ours, inputsKey)
	if len(files) > 0 {
		if ours == nil {
			ours = map[string]any{}
		}
		ours[inputsKey] = files
	}
	nb.Metadata = maps.Clone(nb.Metadata)
	if nb.Metadata == nil {
		nb.Metadata = map[string]any{}
	}
	delete(nb.Metadata, metadataKey)
	if len(ours) > 0 {
		nb.Metadata[metadataKey] = ours
	}
}

// ChangedInputs says of each input that the notebook's last run had and that is
// not the same now what became of it.
func ChangedInputs(nb *Notebook, dir string) []string {
	ours, _ := nb.Metadata[metadataKey].(map[string]any)
	files, _ := ours[inputsKey].(map[string]any)
	var all []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		file, _ := files[path].(map[string]any)
		sum, _ := file["sha256"].(string)
		size := fmt.Sprint(file["size"])
		st, err := os.Stat(under(dir, path))
		if err != nil {
			all = append(all, path+" is not there any more")
			continue
		}
		if now := strconv.FormatInt(st.Size(), 10); now != size {
			all = append(all, fmt.Sprintf("%s has changed since the notebook was run: it had %s bytes and has %s", path, size, now))
			continue
		}
		if sum == "" {
			continue
		}
		switch now, err := checksum(under(dir, path)); {
		case err != nil:
			all = append(all, fmt.Sprintf("%s cannot be read: %v", path, err))
		case now != sum:
			all = append(all, fmt.Sprintf("%s has changed since the notebook was run: its sha256 was %.12s and is %.12s", path, sum, now))
		}
	}
	return all
}
