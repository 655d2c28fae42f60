package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/agents/llm"
)

func ExampleOpen() {
	// A server that speaks OpenAI's protocol, in the place of a model.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Swap the loops."},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	record, err := llm.OpenRecord(filepath.Join(dir, "study.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	input, output, budget := 2.0, 8.0, 0.10 // US dollars per million tokens; and to spend
	meter := llm.NewMeter(llm.Limit{Money: &budget})
	model, err := llm.Open("openai:small@"+server.URL, llm.Options{
		Settings: &llm.Settings{Models: map[string]llm.Setting{"openai:small": {Input: &input, Output: &output}}},
		Meter:    meter, Record: record,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := model.Ask(context.Background(), llm.Request{User: "What is slow here? ..."}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s (%s, %d tokens, $%.6f)\n", answer.Text, answer.Stop, *answer.Usage.Output, *answer.Cost)
	if err := record.Close(); err != nil {
		fmt.Println(err)
		return
	}

	again, err := llm.Open("replay:"+filepath.Join(dir, "study.jsonl"), llm.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err = again.Ask(context.Background(), llm.Request{User: "What is slow here? ..."}, nil)
	fmt.Println(answer.Text, answer.Recorded, err)
	// Output:
	// Swap the loops. (end, 4 tokens, $0.002032)
	// Swap the loops. true <nil>
}
