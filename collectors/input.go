package collectors

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// MaxLine is the length of the longest line that Input.Line returns. Real
// files have lines of some hundred kilobytes.
const MaxLine = 64 << 20

// Input is the content of a file, decompressed, without a byte order mark.
// Parsers read it line by line with Lines or Line, or as bytes with Read, not
// both.
type Input struct {
	// Name is the file's name for messages.
	Name string
	Head Head

	r      *bufio.Reader
	sum    *summer
	n      int64
	packed *packed // counts what comes out of the gzip file, nil where there is none
	line   int
	buf    []byte
	path   string   // of the file, where it is one
	parts  []string // files beside it that belong to the profile
	found  bool

	partSums []datasets.Artefact // of the parts, once Sum was called
}

// Open begins to read a file. name is its name for messages, and its ending
// may help Detect; gzip is recognised by its content.
func Open(name string, r io.Reader) (*Input, error) {
	in := &Input{Name: name, sum: newSummer()}
	base := filepath.Base(name)
	raw := bufio.NewReaderSize(r, HeadSize)
	if magic, _ := raw.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		in.packed = &packed{r: raw}
		z, err := gzip.NewReader(bufio.NewReaderSize(in.packed, HeadSize))
		if err != nil {
			return nil, &SyntaxError{File: name, Msg: gzipFault(err), Hint: "the file is cut or damaged: get it again"}
		}
		r = z
		if ext := filepath.Ext(base); strings.EqualFold(ext, ".gz") {
			base = strings.TrimSuffix(base, ext)
		}
	} else {
		r = raw
	}
	in.r = bufio.NewReaderSize(&counter{in, r}, HeadSize+3)
	head, err := in.r.Peek(HeadSize + 3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, in.readError(err)
	}
	in.Head = Head{Name: base, Whole: err != nil}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		head = head[3:]
		if _, err := in.r.Discard(3); err != nil {
			return nil, in.readError(err)
		}
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")), isUTF16(head):
		return nil, &UnsupportedError{File: name, What: "text in UTF-16 (PowerShell's > makes such files)",
			Hint: "convert it: iconv -f UTF-16 -t UTF-8 FILE, or write it with | Out-File -Encoding utf8"}
	}
	if len(head) > HeadSize {
		head = head[:HeadSize]
	}
	in.Head.Bytes = bytes.Clone(head)
	return in, nil
}

// isUTF16 knows text in UTF-16 that has no byte order mark: every other byte of
// its beginning is zero, and the ones between are printed.
func isUTF16(b []byte) bool {
	const enough = 32
	if len(b) < enough {
		return false
	}
	for odd := range 2 {
		text := true
		for i := 0; i < enough; i += 2 {
			c := b[i+odd]
			text = text && b[i+1-odd] == 0 && (c >= ' ' && c < 0x7f || c == '\r' || c == '\n' || c == '\t')
		}
		if text {
			return true
		}
	}
	return false
}

// counter hashes and counts what the content's readers take.
type counter struct {
	in *Input
	r  io.Reader
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.in.sum.write(p[:n])
	c.in.n += int64(n)
	if p := c.in.packed; p != nil && c.in.n > bombSize && c.in.n > bombRatio*p.n {
		return 0, &SyntaxError{File: c.in.Name, Line: c.in.line + 1, Column: 1,
			Msg:  fmt.Sprintf("its first %d bytes of gzip unpack to more than %d: this is a decompression bomb rather than a profile", p.n, c.in.n),
			Hint: "unpack it yourself if you trust it, and import the result"}
	}
	return n, err
}

// Profiles in gzip shrink to a twentieth, seldom to a hundredth; gzip can make
// a thousandth of zeros.
const (
	bombSize  = 64 << 20
	bombRatio = 300
)

// packed counts what is read of a gzip file.
type packed struct {
	r io.Reader
	n int64
}

func (p *packed) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += int64(n)
	return n, err
}

// Read reads the content as bytes.
func (in *Input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = in.readError(err)
	}
	return n, err
}

func (in *Input) readError(err error) error {
	var se *SyntaxError
	if errors.As(err, &se) {
		return err
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "flate:") {
		return &SyntaxError{File: in.Name, Line: in.line + 1, Column: 1, Msg: gzipFault(err), Hint: "the file is cut or damaged: get it again"}
	}
	return fmt.Errorf("reading %s after line %d: %w", in.Name, in.line, err)
}

// gzipFault says what is wrong with packed content.
func gzipFault(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the gzip file ends before its content does"
	case errors.Is(err, gzip.ErrChecksum):
		return "the content of the gzip file does not have the checksum that is written in it"
	}
	return "the gzip file is damaged and cannot be unpacked"
}

// Line returns the next line without its end, its number and whether it had an
// end: a last line without one may have been cut. The text is valid until the
// next call. After the last line the error is io.EOF.
func (in *Input) Line() (text []byte, line int, ended bool, err error) {
	in.buf = in.buf[:0]
	for {
		part, err := in.r.ReadSlice('\n')
		whole := part
		if err != nil || len(in.buf) > 0 { // a line longer than the reader's buffer, or the last one
			in.buf = append(in.buf, part...)
			whole = in.buf
		}
		switch {
		case err == nil:
			in.line++
			text := whole[:len(whole)-1]
			if n := len(text); n > 0 && text[n-1] == '\r' {
				text = text[:n-1]
			}
			return text, in.line, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(in.buf) > MaxLine {
				return nil, 0, false, &SyntaxError{File: in.Name, Line: in.line + 1, Column: MaxLine, Msg: fmt.Sprintf("the line is longer than %d bytes", MaxLine),
					Hint: "this does not look like a text file"}
			}
		case errors.Is(err, io.EOF):
			if len(in.buf) == 0 {
				return nil, in.line, false, io.EOF
			}
			in.line++
			if n := len(in.buf); in.buf[n-1] == '\r' { // cut within CRLF: the line itself is whole
				return in.buf[:n-1], in.line, true, nil
			}
			return in.buf, in.line, false, nil
		default:
			return nil, 0, false, in.readError(err)
		}
	}
}

// Syntax returns a *SyntaxError at a place of this input.
func (in *Input) Syntax(line, column int, msg string) *SyntaxError {
	return &SyntaxError{File: in.Name, Line: line, Column: column, Msg: msg}
}

// Sum reads what is left and returns the SHA-256 of the whole content, after
// decompression, and its length. Where other files belong to the profile, the
// sum is one over the sums of all of them, and so is the length.
func (in *Input) Sum() (sha string, n int64, err error) {
	if _, err := io.Copy(io.Discard, in); err != nil {
		return "", 0, err
	}
	sum, n := in.sum.sum(), in.n
	if len(in.parts) == 0 {
		return hex.EncodeToString(sum), n, nil
	}
	all := sha256.New()
	all.Write(sum)
	in.partSums = nil
	for _, part := range in.parts {
		f, err := os.Open(part)
		if err != nil {
			return "", 0, err
		}
		one := sha256.New()
		m, err := io.Copy(one, f)
		f.Close()
		if err != nil {
			return "", 0, err
		}
		sha := hex.EncodeToString(one.Sum(nil))
		fmt.Fprintf(all, "\n%s %s", filepath.Base(part), sha)
		in.partSums = append(in.partSums, datasets.Artefact{Path: part, SHA256: sha, Bytes: m})
		n += m
	}
	return hex.EncodeToString(all.Sum(nil)), n, nil
}
