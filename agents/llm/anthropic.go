package llm

import (
	"encoding/json"
	"errors"
	"io"
)

// anthropic is Anthropic's messages with stream, as in its API reference,
// "Messages" and "Streaming Messages".
var anthropic = protocol{
	base:      "https://api.anthropic.com",
	keys:      []string{"ANTHROPIC_API_KEY"},
	stream:    []string{"text/event-stream"},
	headers:   map[string]string{"Anthropic-Version": "2023-06-01"},
	keyHeader: "X-Api-Key",
	path:      func(string) string { return "/v1/messages" },
	body:      anthropicBody,
	read:      anthropicRead,
}

func anthropicBody(c call) (any, []string) {
	var notes []string
	if c.Seed != nil {
		notes = append(notes, "Anthropic's protocol has no seed: asked again, the model may say something else")
	}
	return struct {
		Model       string        `json:"model"`
		MaxTokens   int           `json:"max_tokens"`
		System      string        `json:"system,omitempty"`
		Messages    []chatMessage `json:"messages"`
		Temperature *float64      `json:"temperature,omitempty"`
		Stream      bool          `json:"stream"`
	}{c.model, c.MaxTokens, c.System, []chatMessage{{"user", c.User}}, c.Temperature, true}, notes
}

// anthropicUsage counts the cached parts of the prompt apart from input_tokens.
// Later counts replace earlier ones.
type anthropicUsage struct {
	Input   *int64 `json:"input_tokens"`
	Written *int64 `json:"cache_creation_input_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Output  *int64 `json:"output_tokens"`
}

func (u *anthropicUsage) update(v *anthropicUsage) {
	if v == nil {
		return
	}
	for _, f := range [][2]**int64{{&u.Input, &v.Input}, {&u.Written, &v.Written}, {&u.Read, &v.Read}, {&u.Output, &v.Output}} {
		if *f[1] != nil {
			*f[0] = *f[1]
		}
	}
}

func (u *anthropicUsage) usage() Usage {
	out := Usage{Cached: u.Read, Written: u.Written, Output: u.Output}
	if u.Input != nil {
		n := *u.Input
		for _, part := range []*int64{u.Read, u.Written} {
			if part != nil {
				n += *part
			}
		}
		out.Input = &n
	}
	return out
}

func anthropicRead(s *stream, emit func(string)) (out said, err error) {
	var counts anthropicUsage
	defer func() { out.usage = counts.usage() }()
	for {
		data, err := s.event()
		switch {
		case err != nil && out.stop != "" && !isMalformed(err):
			return out, nil
		case errors.Is(err, io.EOF):
			return out, errBroken
		case err != nil:
			return out, err
		}
		var event struct {
			Type    string
			Message struct {
				Model string
				Usage *anthropicUsage
			}
			Block struct{ Type, Text string } `json:"content_block"`
			Delta struct {
				Type, Text string
				StopReason *string `json:"stop_reason"`
			}
			Usage *anthropicUsage
			Error json.RawMessage
		}
		if err := decode(data, &event); err != nil {
			return out, err
		}
		switch event.Type {
		case "error":
			return out, problemOf(data)
		case "message_start":
			out.served = event.Message.Model
			counts.update(event.Message.Usage)
		case "content_block_start":
			if event.Block.Type == "text" {
				out.add(event.Block.Text, emit)
			}
		case "content_block_delta":
			if event.Delta.Type == "text_delta" {
				out.add(event.Delta.Text, emit)
			}
		case "message_delta":
			counts.update(event.Usage)
			if w := event.Delta.StopReason; w != nil && *w != "" {
				out.stopAt(*w, map[string]Stop{"end_turn": StopEnd, "stop_sequence": StopEnd, "max_tokens": StopLength,
					"model_context_window_exceeded": StopLength, "refusal": StopRefused})
			}
		case "message_stop":
			if out.stop == "" {
				return out, errBroken
			}
			return out, nil
		}
	}
}
