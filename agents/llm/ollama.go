package llm

import (
	"encoding/json"
	"errors"
	"io"
	"math/bits"
)

// ollama is Ollama's own chat (docs/api.md, "Generate a chat completion"). Its
// OpenAI protocol would do but for one thing: the context cannot be set there,
// and what of a prompt does not fit is cut off without a word.
var ollama = protocol{
	base:      "http://127.0.0.1:11434",
	stream:    []string{"application/x-ndjson", "application/json"},
	path:      func(string) string { return "/api/chat" },
	keyHeader: openAI.keyHeader,
	keyPrefix: openAI.keyPrefix,
	body:      ollamaBody,
	read:      ollamaRead,
}

func ollamaBody(c call) (any, []string) {
	type options struct {
		Context     uint64   `json:"num_ctx"`
		Predict     int      `json:"num_predict"`
		Temperature *float64 `json:"temperature,omitempty"`
		Seed        *int64   `json:"seed,omitempty"`
	}
	return struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
		Stream   bool          `json:"stream"`
		Options  options       `json:"options"`
	}{c.model, chatMessages(c.Request), true, options{contextFor(c.Estimate() + int64(c.MaxTokens)), c.MaxTokens, c.Temperature, c.Seed}}, nil
}

// contextFor is a power of two, from 4096: Ollama loads a model again for each
// size that it did not have.
func contextFor(tokens int64) uint64 {
	return uint64(1) << max(12, bits.Len64(uint64(max(tokens, 1)-1)))
}

func ollamaRead(s *stream, emit func(string)) (said, error) {
	var out said
	for {
		data, err := s.line()
		switch {
		case errors.Is(err, io.EOF):
			return out, errBroken
		case err != nil:
			return out, err
		}
		var chunk struct {
			Model           string
			Message         struct{ Content string }
			Done            bool
			DoneReason      string `json:"done_reason"`
			PromptEvalCount *int64 `json:"prompt_eval_count"`
			EvalCount       *int64 `json:"eval_count"`
			Error           json.RawMessage
		}
		if err := decode(data, &chunk); err != nil {
			return out, err
		}
		if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
			return out, problemOf(data)
		}
		out.served = chunk.Model
		out.add(chunk.Message.Content, emit)
		if chunk.Done {
			if chunk.DoneReason == "" { // before version 0.4
				chunk.DoneReason = "stop"
			}
			out.stopAt(chunk.DoneReason, map[string]Stop{"stop": StopEnd, "length": StopLength})
			out.usage = Usage{Input: chunk.PromptEvalCount, Output: chunk.EvalCount}
			return out, nil
		}
	}
}
