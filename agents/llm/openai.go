package llm

import (
	"encoding/json"
	"errors"
	"io"
)

// openAI is OpenAI's chat completions with stream and stream_options, as in
// its API reference, "Chat Completions" and "Streaming".
var openAI = protocol{
	base:      "https://api.openai.com/v1",
	prefix:    "/v1",
	keys:      []string{"OPENAI_API_KEY"},
	stream:    []string{"text/event-stream"},
	keyHeader: "Authorization",
	keyPrefix: "Bearer ",
	path:      func(string) string { return "/chat/completions" },
	body:      openAIBody,
	read:      openAIRead,
}

// llamaCPP is the same as llama.cpp's server has it (tools/server/README.md).
var llamaCPP = func() protocol {
	p := openAI
	p.base, p.keys = "http://127.0.0.1:8080/v1", nil
	return p
}()

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chatMessages are the messages of a request, for the protocols that have the
// system's text among them.
func chatMessages(q Request) []chatMessage {
	var out []chatMessage
	if q.System != "" {
		out = append(out, chatMessage{"system", q.System})
	}
	return append(out, chatMessage{"user", q.User})
}

func openAIBody(c call) (any, []string) {
	type options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	body := struct {
		Model       string        `json:"model"`
		Messages    []chatMessage `json:"messages"`
		MaxNew      int           `json:"max_completion_tokens,omitempty"`
		MaxOld      int           `json:"max_tokens,omitempty"`
		Temperature *float64      `json:"temperature,omitempty"`
		Seed        *int64        `json:"seed,omitempty"`
		Stream      bool          `json:"stream"`
		Options     options       `json:"stream_options"`
	}{Model: c.model, Messages: chatMessages(c.Request), Temperature: c.Temperature, Seed: c.Seed, Stream: true, Options: options{true}}
	// OpenAI's reasoning models refuse the old name, other servers may not know the new one.
	if c.official {
		body.MaxNew = c.MaxTokens
	} else {
		body.MaxOld = c.MaxTokens
	}
	return body, nil
}

type openAIUsage struct {
	Prompt        *int64 `json:"prompt_tokens"`
	Completion    *int64 `json:"completion_tokens"`
	PromptDetails *struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func openAIRead(s *stream, emit func(string)) (said, error) {
	var out said
	for {
		data, err := s.event()
		switch {
		case err != nil && out.stop != "" && !isMalformed(err):
			return out, nil // the answer is whole; only counts may lack
		case errors.Is(err, io.EOF):
			return out, errBroken
		case err != nil:
			return out, err
		case string(data) == "[DONE]":
			if out.stop == "" {
				return out, errBroken
			}
			return out, nil
		}
		var chunk struct {
			Model   string
			Choices []struct {
				Index        int
				FinishReason *string `json:"finish_reason"`
				Delta        struct{ Content, Refusal *string }
			}
			Usage *openAIUsage
			Error json.RawMessage
		}
		if err := decode(data, &chunk); err != nil {
			return out, err
		}
		if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
			return out, problemOf(data)
		}
		if chunk.Model != "" {
			out.served = chunk.Model
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			if c.Delta.Content != nil {
				out.add(*c.Delta.Content, emit)
			}
			if c.Delta.Refusal != nil && *c.Delta.Refusal != "" {
				out.add(*c.Delta.Refusal, emit)
				out.stop = StopRefused
			}
			if c.FinishReason != nil && *c.FinishReason != "" && out.stop != StopRefused {
				out.stopAt(*c.FinishReason, map[string]Stop{"stop": StopEnd, "length": StopLength, "content_filter": StopRefused})
			}
		}
		if u := chunk.Usage; u != nil {
			out.usage.Input, out.usage.Output = u.Prompt, u.Completion
			if u.PromptDetails != nil {
				out.usage.Cached = u.PromptDetails.Cached
			}
			if u.CompletionDetails != nil {
				out.usage.Reasoning = u.CompletionDetails.Reasoning
			}
		}
	}
}

func (s *said) add(piece string, emit func(string)) {
	if piece != "" {
		s.text = append(s.text, piece...)
		emit(piece)
	}
}

// stopAt notes why the answer ended, in the server's word.
func (s *said) stopAt(word string, known map[string]Stop) {
	s.word = word
	if s.stop = known[word]; s.stop == "" {
		s.stop = StopOther
	}
}

func isMalformed(err error) bool {
	var m *malformedError
	return errors.As(err, &m)
}
