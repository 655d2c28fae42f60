package collectors

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ReadAll returns the rest of the content, for formats that cannot be read
// from front to back. Content of more than limit bytes is an error.
func (in *Input) ReadAll(limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &SyntaxError{File: in.Name, Msg: fmt.Sprintf("the file has more than %d bytes, too many for a format that is read as a whole", limit),
			Hint: "split the recording into shorter ones"}
	}
	return data, nil
}

// WithFile calls f with the path of a file that holds the content, for
// libraries that read nothing else: the file itself where it is not packed,
// else a copy that is removed afterwards. Nothing has been read before.
func (in *Input) WithFile(f func(path string) error) error {
	if in.path != "" && in.packed == nil {
		return f(in.path)
	}
	tmp, err := os.CreateTemp("", "rooflab-import-*")
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", in.Name, err)
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, in)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return f(tmp.Name())
}

// Part opens a file beside the input that belongs to the same profile: one of
// those that the format's Parts named. name is its base name. The error is
// fs.ErrNotExist where the profile has no such part.
func (in *Input) Part(name string) (*os.File, error) {
	for _, p := range in.parts {
		if filepath.Base(p) == name {
			return os.Open(p)
		}
	}
	return nil, fmt.Errorf("%s: looking for %s beside it: %w", in.Name, name, os.ErrNotExist)
}

// Parts are the base names of the files beside the input that belong to the
// same profile.
func (in *Input) Parts() []string {
	names := make([]string, len(in.parts))
	for i, p := range in.parts {
		names[i] = filepath.Base(p)
	}
	return names
}

// Found reports whether the file was met in a folder rather than named. A file
// that is of use by itself, and also a part of the profile beside it, is
// imported when it is named, and returns a *PartError when it was found: the
// main file brings it in.
func (in *Input) Found() bool { return in.found }

// attach tells the input which file it is, and finds its other parts.
func (in *Input) attach(path string, f Format) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	in.path = path
	if f.Parts != nil {
		in.parts = f.Parts(path)
	}
}
