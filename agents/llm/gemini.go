package llm

import (
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
)

// gemini is streamGenerateContent of the Gemini API, as in its API reference,
// "Generating content" and "GenerateContentResponse". The key goes into a
// header, as a URL may be logged.
var gemini = protocol{
	base:   "https://generativelanguage.googleapis.com/v1beta",
	prefix: "/v1beta",
	keys:   []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	stream: []string{"text/event-stream"},
	path: func(model string) string {
		return "/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":streamGenerateContent?alt=sse"
	},
	keyHeader: "X-Goog-Api-Key",
	body:      geminiBody,
	read:      geminiRead,
}

type geminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought,omitempty"`
}

func geminiBody(c call) (any, []string) {
	type config struct {
		MaxOutputTokens int      `json:"maxOutputTokens"`
		Temperature     *float64 `json:"temperature,omitempty"`
		Seed            *int64   `json:"seed,omitempty"`
	}
	body := struct {
		System   *geminiContent  `json:"systemInstruction,omitempty"`
		Contents []geminiContent `json:"contents"`
		Config   config          `json:"generationConfig"`
	}{Contents: []geminiContent{{"user", []geminiPart{{Text: c.User}}}}, Config: config{c.MaxTokens, c.Temperature, c.Seed}}
	if c.System != "" {
		body.System = &geminiContent{Parts: []geminiPart{{Text: c.System}}}
	}
	return body, nil
}

var geminiStops = map[string]Stop{"STOP": StopEnd, "MAX_TOKENS": StopLength, "SAFETY": StopRefused, "RECITATION": StopRefused,
	"BLOCKLIST": StopRefused, "PROHIBITED_CONTENT": StopRefused, "SPII": StopRefused, "IMAGE_SAFETY": StopRefused}

func geminiRead(s *stream, emit func(string)) (said, error) {
	var out said
	for {
		data, err := s.event()
		switch {
		case errors.Is(err, io.EOF) && out.stop != "":
			return out, nil
		case errors.Is(err, io.EOF):
			return out, errBroken
		case err != nil: // a reason to stop may stand in every piece, so it does not make the answer whole
			return out, err
		}
		var chunk struct {
			Candidates []struct {
				Index        int
				Content      geminiContent
				FinishReason string
			}
			PromptFeedback struct{ BlockReason string }
			UsageMetadata  *struct {
				PromptTokenCount, CachedContentTokenCount, CandidatesTokenCount, ThoughtsTokenCount *int64
			}
			ModelVersion string
			Error        json.RawMessage
		}
		if err := decode(data, &chunk); err != nil {
			return out, err
		}
		if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
			return out, problemOf(data)
		}
		if chunk.ModelVersion != "" {
			out.served = chunk.ModelVersion
		}
		for _, c := range chunk.Candidates {
			if c.Index != 0 {
				continue
			}
			for _, part := range c.Content.Parts {
				if !part.Thought {
					out.add(part.Text, emit)
				}
			}
			if c.FinishReason != "" {
				out.stopAt(c.FinishReason, geminiStops)
			}
		}
		if word := chunk.PromptFeedback.BlockReason; word != "" {
			out.stop, out.word = StopRefused, word
		}
		if u := chunk.UsageMetadata; u != nil { // of the whole answer so far
			out.usage = Usage{Input: u.PromptTokenCount, Cached: u.CachedContentTokenCount, Output: u.CandidatesTokenCount, Reasoning: u.ThoughtsTokenCount}
			if u.ThoughtsTokenCount != nil { // counted apart from candidates
				n := *u.ThoughtsTokenCount
				if u.CandidatesTokenCount != nil {
					n += *u.CandidatesTokenCount
				}
				out.usage.Output = &n
			}
		}
	}
}
