// Package llm asks language models. In flow a Request (system and user text)
// and the name of a model; out flow an Answer with what it took, or an error
// that says what was wrong; an Event reports each piece as it is said.
//
//	openai:gpt-5                              OpenAI's chat completions
//	openai:qwen2.5-coder@http://gpu7:8000/v1  any server that speaks them (vLLM, LM Studio, a gateway)
//	llamacpp:smollm2@http://127.0.0.1:8080    llama.cpp's server; the name is yours, it serves one model
//	ollama:qwen2.5-coder:7b@http://gpu7:11434 Ollama's own protocol, whose context can be set
//	anthropic:claude-sonnet-4-5               Anthropic's messages
//	gemini:gemini-2.5-pro                     Gemini's generateContent
//	replay:study.jsonl                        no model: what a record holds
//
// A Client tries again what may pass (limits of rate, overload, broken
// streams), keeps to the rates of its Settings, asks a Meter before each try
// whether the budget allows the worst case, and writes each exchange into a
// record before it returns. A request that the record holds is answered from
// it: a study runs again without the model, and a run that was killed goes on
// without paying twice.
//
// Keys come from the environment, a file or a command such as a keychain's.
// They are read when the first request needs one, go to the provider's own
// service or to the one that Settings name, and into nothing else.
//
// What is not known stays unknown: counts that a server does not tell are nil,
// and so is the cost of a model without a price. What a budget has to assume
// in their place is counted apart, as an estimate.
package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Model is asked. *Client is one.
type Model interface {
	// Name is the model as in records and tables, such as "openai:gpt-5",
	// without its server.
	Name() string
	// Ask waits for the answer; progress may be nil, and is called from the
	// goroutine of the caller.
	Ask(ctx context.Context, q Request, progress func(Event)) (*Answer, error)
}

// DefaultMaxTokens bounds an answer where a Request says nothing.
const DefaultMaxTokens = 8192

// Request is a question to a model.
type Request struct {
	System      string   `json:"system,omitempty"`
	User        string   `json:"user"`
	MaxTokens   int      `json:"max_tokens"`            // of the answer, with what the model thinks; 0 is DefaultMaxTokens
	Temperature *float64 `json:"temperature,omitempty"` // nil: as the model has it; some models take none
	Seed        *int64   `json:"seed,omitempty"`        // where the protocol has one; Answer.Notes tells where it has not
	// Sample tells apart requests that are otherwise the same, for several
	// answers to one prompt. It is not sent.
	Sample int `json:"sample,omitempty"`
	// InputTokens is the size of System and User where it was counted, for
	// budgets and rates; 0 takes three bytes for a token. It is not sent.
	InputTokens int `json:"-"`
}

// Event is how an answer comes along.
type Event struct {
	Text string // the next piece
	// Again is not nil where a try failed and another follows after Wait: the
	// pieces so far are void.
	Again error
	Wait  time.Duration
}

// Stop is why an answer ends.
type Stop string

// Reasons to stop.
const (
	StopEnd     Stop = "end"     // the model was done
	StopLength  Stop = "length"  // Request.MaxTokens, or the model's context, was used up
	StopRefused Stop = "refused" // by the model or by a filter of the service
	StopOther   Stop = "other"   // Answer.Notes has the server's word
)

// Answer is what a model said.
type Answer struct {
	Text    string   `json:"text"`
	Stop    Stop     `json:"stop"`
	Served  string   `json:"served,omitempty"` // the model as the server calls it, often with a version
	Usage   Usage    `json:"usage"`
	Cost    *float64 `json:"cost"`            // US dollars, of this answer alone; nil: not known
	Spent   Spent    `json:"spent"`           // with the tries that failed
	Tries   int      `json:"tries"`           // 1: the first came through
	Seconds float64  `json:"seconds"`         // of the try that came through
	Notes   []string `json:"notes,omitempty"` // what a reader should know
	// Recorded says that the answer is from a record: nothing was asked.
	Recorded bool `json:"-"`
}

// Usage is what a server counted, in tokens; nil is not told.
type Usage struct {
	Input     *int64 `json:"input"`               // all of the prompt
	Cached    *int64 `json:"cached,omitempty"`    // of Input, read from the provider's cache
	Written   *int64 `json:"written,omitempty"`   // of Input, written to it
	Output    *int64 `json:"output"`              // with Reasoning
	Reasoning *int64 `json:"reasoning,omitempty"` // of Output, what the model thought
}

// Estimate is the size of the request in tokens: counted, or three bytes for a
// token, which is on the safe side for English and C in the vocabularies of
// current models, and some for the marks that a chat template adds.
func (q Request) Estimate() int64 {
	if q.InputTokens > 0 {
		return int64(q.InputTokens) + templateTokens
	}
	return tokensOf(q.System) + tokensOf(q.User) + templateTokens
}

const templateTokens = 32

func tokensOf(s string) int64 { return int64(len(s)+2) / 3 }

// filled has the defaults in and is checked.
func (q Request) filled() (Request, error) {
	if q.MaxTokens == 0 {
		q.MaxTokens = DefaultMaxTokens
	}
	switch t := q.Temperature; {
	case strings.TrimSpace(q.User) == "":
		return q, errors.New("asking a model: the request has no user text")
	case !utf8.ValidString(q.System) || !utf8.ValidString(q.User):
		return q, errors.New("asking a model: the text of the request is not valid UTF-8")
	case q.MaxTokens < 0 || q.InputTokens < 0 || q.Sample < 0:
		return q, fmt.Errorf("asking a model: max tokens %d, input tokens %d and sample %d must not be below 0", q.MaxTokens, q.InputTokens, q.Sample)
	case t != nil && (math.IsNaN(*t) || *t < 0 || *t > 2):
		return q, fmt.Errorf("asking a model: temperature %v is not from 0 to 2", *t)
	}
	return q, nil
}

// Key names a request to a model in records: the SHA-256 of the model's name
// and the request as JSON, in hexadecimal.
func (q Request) Key(model string) string {
	if q.MaxTokens == 0 {
		q.MaxTokens = DefaultMaxTokens
	}
	raw, err := json.Marshal(struct {
		Model   string
		Request Request
	}{model, q})
	if err != nil {
		panic(err) // strings and numbers; filled refuses NaN
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
