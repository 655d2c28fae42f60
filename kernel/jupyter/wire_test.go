package jupyter

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const (
	testKey    = "a0436f6c-1916-498b-8eb9-e81ab9368e84"
	testHeader = `{"msg_id":"1","msg_type":"kernel_info_request","session":"s","username":"u","date":"","version":"5.5"}`
	// From Python: hmac.new(key, header + parent + metadata + content, sha256).hexdigest()
	testSignature = "bbc79e7601872de041b46ce84fb769f198a73b1b2650c9ecd2f985dd6fa37d9e"
)

func testFrames() [][]byte {
	return [][]byte{
		[]byte("route"), []byte("\x00\x01"), []byte("<IDS|MSG>"), []byte(testSignature),
		[]byte(testHeader), []byte("{}"), []byte(`{"m":1}`), []byte(`{"a":"é"}`), []byte("buffer 1"), []byte("buffer 2"),
	}
}

func TestDecodeChecksTheSignature(t *testing.T) {
	c := codec{key: []byte(testKey)}
	m, err := c.decode(testFrames())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Identities) != 2 || string(m.Identities[0]) != "route" || m.Header.MsgType != "kernel_info_request" ||
		m.Header.MsgID != "1" || string(m.Content) != `{"a":"é"}` || len(m.Buffers) != 2 {
		t.Errorf("decoded: %+v", m)
	}
	upper := testFrames()
	upper[3] = bytes.ToUpper(upper[3])
	if _, err := c.decode(upper); err != nil {
		t.Errorf("the same signature in capitals: %v", err)
	}
	for i := 3; i <= 7; i++ {
		bad := testFrames()
		bad[i] = append([]byte(nil), bad[i]...)
		if i == 3 {
			bad[i][0] ^= 1
		} else {
			bad[i] = append(bad[i], ' ') // still JSON
		}
		if _, err := c.decode(bad); !errors.Is(err, errSignature) {
			t.Errorf("frame %d changed: %v", i, err)
		}
	}
	if _, err := (codec{key: []byte("other")}).decode(testFrames()); !errors.Is(err, errSignature) {
		t.Errorf("other key: %v", err)
	}
	if _, err := (codec{}).decode(testFrames()); err != nil {
		t.Errorf("without a key nothing is checked: %v", err)
	}
}

func TestEncodeGivesTheFramesBack(t *testing.T) {
	c := codec{key: []byte(testKey)}
	m, err := c.decode(testFrames())
	if err != nil {
		t.Fatal(err)
	}
	got := c.encode(m.Identities, m)
	for i, want := range testFrames() {
		if !bytes.Equal(got[i], want) {
			t.Errorf("frame %d: %q, want %q", i, got[i], want)
		}
	}
	if unsigned := (codec{}).encode(nil, m); len(unsigned[1]) != 0 {
		t.Errorf("signature without a key: %q", unsigned[1])
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		change func([][]byte) [][]byte
		want   string
	}{
		"no delimiter":   {func(f [][]byte) [][]byte { return append(f[:2], f[3:]...) }, "<IDS|MSG>"},
		"too short":      {func(f [][]byte) [][]byte { return f[:7] }, "at least 5"},
		"header no JSON": {func(f [][]byte) [][]byte { f[4] = []byte("{"); return f }, "the header is not a JSON object"},
		"content a list": {func(f [][]byte) [][]byte { f[7] = []byte("[]"); return f }, "the content is not a JSON object"},
		"parent null":    {func(f [][]byte) [][]byte { f[5] = []byte("null"); return f }, "the parent header is not"},
		"no type":        {func(f [][]byte) [][]byte { f[4] = []byte("{}"); return f }, "msg_type"},
		"type a number":  {func(f [][]byte) [][]byte { f[4] = []byte(`{"msg_type":1}`); return f }, "header"},
		"nothing":        {func(f [][]byte) [][]byte { return nil }, "<IDS|MSG>"},
	} {
		_, err := (codec{}).decode(c.change(testFrames()))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something about %q", name, err, c.want)
		}
	}
}

// Whatever frames come, decoding ends without a panic, and what was decoded
// encodes to the same frames.
func FuzzDecode(f *testing.F) {
	sep := []byte("\x00\x00")
	f.Add([]byte(testKey), bytes.Join(testFrames(), sep))
	f.Add([]byte(""), bytes.Join(testFrames(), sep))
	f.Add([]byte(""), []byte("<IDS|MSG>"))
	f.Fuzz(func(t *testing.T, key, joined []byte) {
		frames := bytes.Split(joined, sep)
		c := codec{key: key}
		m, err := c.decode(frames)
		if err != nil {
			return
		}
		again := c.encode(m.Identities, m)
		if len(again) != len(frames) {
			t.Fatalf("%d frames, were %d", len(again), len(frames))
		}
		for i := range frames {
			signature := i == len(m.Identities)+1
			if !signature && !bytes.Equal(again[i], frames[i]) {
				t.Fatalf("frame %d: %q, was %q", i, again[i], frames[i])
			}
		}
	})
}

func TestCutRune(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "a": 0, "é": 0, "é"[:1]: 1, "≤"[:1]: 1, "≤"[:2]: 2, "≤": 0, "𝄞"[:3]: 3, "𝄞": 0,
		"\x80\x80\x80\x80": 0, "\xff": 0, "a\xc3": 1,
	} {
		if got := cutRune([]byte(s)); got != want {
			t.Errorf("%q: %d bytes are cut, want %d", s, got, want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "x", false}, {"*", "", true}, {"*", "a/b\nc", true},
		{"1?2*", "1+2", true}, {"1?2*", "1 + 2", false}, {"*x*y*", "axbyc", true}, {"*x*y", "xyz", false},
		{"a*a*a*b", strings.Repeat("a", 30), false}, {"[a-c]x", "bx", true}, {"[^a-c]x", "bx", false},
		{"[]]", "]", true}, {"[", "[", true}, {"a[b", "a[b", true}, {"?", "≤", true}, {"\\*", "\\x", true},
		{"fmt.*(?*)", "fmt.Println(x)", true}, {"fmt.*(?*)", "fmt.Println()", false},
	} {
		if got := glob(c.pattern, c.text); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestMarshalKeepsHTMLReadable(t *testing.T) {
	b, err := marshal(map[string]string{"h": "<a&b>"})
	if err != nil || string(b) != `{"h":"<a&b>"}` || !json.Valid(b) {
		t.Errorf("%s, %v", b, err)
	}
}
