package cubex

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
)

// member is a file within the tar.
type member struct {
	offset, size int64
}

// members lists a tar. It reads headers itself since archive/tar refuses those
// with a wrong checksum, which CubeLib 4.8 wrote; badSums counts them.
func members(in *collectors.Input, f io.ReaderAt, size int64) (files map[string]member, badSums int, err error) {
	files = map[string]member{}
	var h [512]byte
	for at := int64(0); at < size; {
		if _, err := f.ReadAt(h[:], at); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, 0, broken(in, getAgain, "the archive ends at offset %d within a header", size)
			}
			return nil, 0, err
		}
		if h == [512]byte{} { // the end
			return files, badSums, nil
		}
		if string(h[257:262]) != "ustar" {
			return nil, 0, broken(in, getAgain, "offset %d: there is no header of a tar archive", at)
		}
		n, ok := octal(h[124:136])
		if !ok {
			return nil, 0, broken(in, getAgain, "offset %d: the size of member %s is no octal number: %s", at, collectors.Quote(cstring(h[:100])), collectors.Quote(cstring(h[124:136])))
		}
		if n > size-at-512 {
			return nil, 0, broken(in, getAgain, "offset %d: member %s is said to have %d bytes, of which %d are there", at, collectors.Quote(cstring(h[:100])), n, max(0, size-at-512))
		}
		if want, ok := octal(h[148:156]); !ok || want != checksum(h[:]) {
			badSums++
		}
		if h[156] == '0' || h[156] == 0 {
			files[cstring(h[:100])] = member{at + 512, n}
		}
		at += 512 + (n+511)/512*512
	}
	return files, badSums, nil
}

func checksum(h []byte) int64 {
	sum := int64(8 * ' ')
	for i, c := range h {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	return sum
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// octal reads a number of a header; larger ones are binary, with the top bit set.
func octal(b []byte) (int64, bool) {
	if b[0]&0x80 != 0 {
		n := int64(0)
		for i, c := range b {
			if i == 0 {
				c &= 0x7f
			}
			if n >= 1<<54 {
				return 0, false
			}
			n = n<<8 | int64(c)
		}
		return n, true
	}
	n, err := strconv.ParseInt(string(bytes.Trim(b, " \x00")), 8, 62)
	return n, err == nil && n >= 0
}
