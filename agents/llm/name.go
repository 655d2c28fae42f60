package llm

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// address is a model's name, taken apart.
type address struct {
	provider string // a key of protocols, or "replay"
	model    string
	base     *url.URL // where it is asked; nil for replay
	own      bool     // base is the provider's own, as nobody named another
	file     string   // of replay
}

// name is the model without its server.
func (a address) name() string { return a.provider + ":" + a.model }

// parseName reads PROVIDER:MODEL, PROVIDER:MODEL@URL, replay:FILE and
// replay:FILE#PROVIDER:MODEL.
func parseName(s string) (address, error) {
	bad := func(format string, args ...any) (address, error) {
		return address{}, fmt.Errorf("model %q: %s", hidePassword(s), fmt.Sprintf(format, args...))
	}
	provider, rest, found := strings.Cut(s, ":")
	if !found {
		return bad("expected PROVIDER:MODEL or PROVIDER:MODEL@URL with a provider of %s, or replay:FILE", strings.Join(providers(), ", "))
	}
	a := address{provider: provider, model: rest}
	if provider == "replay" {
		a.file, a.model = rest, ""
		if at := strings.LastIndexByte(rest, '#'); at >= 0 && strings.Contains(rest[at:], ":") {
			a.file, a.model = rest[:at], rest[at+1:]
		}
		if a.file == "" {
			return bad("no file of a record after replay:")
		}
		return a, nil
	}
	p, known := protocols[provider]
	if !known {
		return bad("there is no provider %q; there are %s and replay. Other services that speak OpenAI's protocol are openai:MODEL@URL",
			provider, strings.Join(providers(), ", "))
	}
	base := p.base
	a.own = true
	if at := max(strings.LastIndex(rest, "@http://"), strings.LastIndex(rest, "@https://")); at >= 0 {
		a.model, base, a.own = rest[:at], rest[at+1:], false
	}
	if a.model == "" || strings.TrimSpace(a.model) != a.model || strings.ContainsAny(a.model, "\r\n\x00") {
		return bad("no name of a model after %s:; it is needed even where a server has only one, as records and prices go by it", provider)
	}
	u, err := url.Parse(base)
	if err != nil {
		return bad("what follows @ is no URL") // its error may hold a password
	}
	switch {
	case u.Host == "":
		return bad("the URL has no host")
	case u.User != nil:
		return bad("a URL with a user or a password would end up in records; give the key in the settings")
	case u.RawQuery != "" || u.Fragment != "":
		return bad("the URL must not have a query or a fragment; a key is given in the settings")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if u.Path == "" {
		u.Path = p.prefix
	}
	a.base = u
	return a, nil
}

// hidePassword takes what stands between // and @ out of a URL, for messages.
func hidePassword(s string) string {
	_, rest, found := strings.Cut(s, "://")
	if !found {
		return s
	}
	start := len(s) - len(rest)
	end := start + strings.IndexAny(rest+"/", "/?#")
	if at := strings.LastIndexByte(s[start:end], '@'); at >= 0 {
		s = s[:start] + "..." + s[start+at:]
	}
	if at := strings.IndexByte(s, '?'); at >= 0 {
		s = s[:at] + "?..."
	}
	return s
}

// protocol is a way to talk to a model. One file has one.
type protocol struct {
	base   string   // of the provider's own service, or of a server on this machine
	prefix string   // of the path, where a URL has none
	keys   []string // environment variables of the key for base, by precedence; none: it needs no key
	stream []string // media types of an answer

	headers   map[string]string
	keyHeader string
	keyPrefix string

	path func(model string) string
	// body is the request as JSON, and what of it the protocol cannot say.
	body func(c call) (body any, notes []string)
	// read takes a stream apart. It returns what there was with an error, too.
	read func(s *stream, emit func(string)) (said, error)
}

// call is a request as a protocol writes it.
type call struct {
	Request
	model    string
	official bool // the provider's own service is asked, and no other that speaks its protocol
}

// said is an answer as a protocol reads it.
type said struct {
	text   []byte
	stop   Stop // "" while it is not known
	word   string
	served string
	usage  Usage
}

// protocols are all that there are.
var protocols = map[string]protocol{
	"openai":    openAI,
	"llamacpp":  llamaCPP,
	"ollama":    ollama,
	"anthropic": anthropic,
	"gemini":    gemini,
}

func providers() []string { return slices.Sorted(maps.Keys(protocols)) }
