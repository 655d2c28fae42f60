package pjrt

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// PyPI is the package index that is asked unless the user has another.
const PyPI = "https://pypi.org/simple"

// Index is the package index of this user: PIP_INDEX_URL, else index-url of
// pip's configuration (PIP_CONFIG_FILE, the user's, /etc/pip.conf), else PyPI.
func Index() string {
	if u := os.Getenv("PIP_INDEX_URL"); u != "" {
		return u
	}
	var files []string
	if f := os.Getenv("PIP_CONFIG_FILE"); f != "" {
		files = append(files, f)
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "pip", "pip.conf"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".pip", "pip.conf"))
	}
	for _, f := range append(files, "/etc/pip.conf") {
		if u := indexOf(f); u != "" {
			return u
		}
	}
	return PyPI
}

// indexOf is index-url of the section [global] of a configuration of pip.
func indexOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	section := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "[global]" && strings.TrimSpace(key) == "index-url" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// A source downloads files and goes on where it was interrupted.
type source struct {
	client *http.Client
	stall  time.Duration // without a byte for so long, a transfer is given up
	say    func(format string, args ...any)
}

var href = regexp.MustCompile(`(?i)\bhref\s*=\s*["']([^"']+)["']`)

// locate finds a wheel's address on a package index (PEP 503).
func (s source) locate(ctx context.Context, index string, w Wheel) (string, error) {
	page := strings.TrimSuffix(index, "/") + "/" + w.Name + "/"
	shown := redacted(page)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", fmt.Errorf("%s is no package index: %w", redacted(index), err)
	}
	req.Header.Set("Accept", "text/html")
	resp, err := s.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("asking for %s: %w", shown, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("asking for %s: the index answers %s", shown, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", shown, err)
	}
	for _, m := range href.FindAllSubmatch(body, -1) {
		ref, err := resp.Request.URL.Parse(html.UnescapeString(string(m[1])))
		if err != nil || path.Base(ref.Path) != w.File {
			continue
		}
		if ref.Host == resp.Request.URL.Host && ref.User == nil {
			ref.User = resp.Request.URL.User
		}
		ref.Fragment = ""
		return ref.String(), nil
	}
	return "", fmt.Errorf("%s does not list %s: the index leaves out files, or it was withdrawn", shown, w.File)
}

func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return address
}

// fetch downloads address to a file, through file.part, which stays when the
// transfer is interrupted and is continued the next time. Size is the length
// that is expected; 0 allows what a plugin can reasonably have. What has
// another checksum is removed.
func (s source) fetch(ctx context.Context, address, file, digest string, size int64) error {
	if got, err := sum(file); err == nil && got == digest {
		return nil
	}
	part := file + ".part"
	limit := size
	if limit == 0 {
		limit = 1 << 30
	}
	for tries := 0; ; tries++ {
		before := length(part)
		err := s.transfer(ctx, address, part, limit)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("downloading %s: %w: run the command again to go on from %s", redacted(address), ctx.Err(), megabytes(length(part)))
		}
		// A connection that broke after some bytes is worth another try.
		if length(part) <= before || tries == 99 {
			return fmt.Errorf("downloading %s: %w", redacted(address), err)
		}
		s.say("  the transfer broke off at %s (%v), going on", megabytes(length(part)), err)
	}
	got, err := sum(part)
	if err != nil {
		return err
	}
	if got != digest {
		have := length(part)
		_ = os.Remove(part)
		return fmt.Errorf("downloading %s: what came (%d bytes) has sha256 %s, want %s: it was changed or damaged on the way, and is not installed",
			redacted(address), have, got, digest)
	}
	return os.Rename(part, file)
}

// transfer appends to part what it lacks of address.
func (s source) transfer(ctx context.Context, address, part string, limit int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	at, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	if at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	idle := time.AfterFunc(s.stall, func() { cancel(fmt.Errorf("nothing came for %v", s.stall)) })
	defer idle.Stop()
	resp, err := s.client.Do(req)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var from int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from); err != nil || from != at {
			return fmt.Errorf("asked for bytes from %d, the server sends %q", at, resp.Header.Get("Content-Range"))
		}
	case http.StatusOK: // the whole, by a server that cannot continue
		at = 0
		if err := restart(out); err != nil {
			return err
		}
	case http.StatusRequestedRangeNotSatisfiable: // part is whole, or not a part of this
		if at == limit {
			return nil
		}
		if err := restart(out); err != nil {
			return err
		}
		return errors.New("what was there of an earlier download does not belong to the file: run the command again")
	default:
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	shown := time.Now()
	in := io.LimitReader(resp.Body, limit-at+1)
	buffer := make([]byte, 256<<10)
	for {
		n, err := in.Read(buffer)
		idle.Reset(s.stall)
		if n > 0 {
			if _, err := out.Write(buffer[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return because(ctx, err)
		}
		if at > limit {
			_ = restart(out)
			return fmt.Errorf("the server sends more than the %d bytes that the file has", limit)
		}
		if time.Since(shown) > 3*time.Second {
			s.say("  %s of %s", megabytes(at), megabytes(limit))
			shown = time.Now()
		}
	}
	return out.Close()
}

// because prefers the reason for which we ended a transfer.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func restart(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

func length(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
