package llm_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/agents/llm"
)

// Of the request hi a call takes at most 3 + 1 tokens of text, three bytes for
// one, 32 for the template and 100 of the answer; the server then counts 50 and
// 30.
const (
	worstTokens = 3 + 1 + 32 + 100
	tookTokens  = 50 + 30
)

func counted(t testing.TB, opt llm.Options) (*llm.Client, *int) {
	calls := 0
	var mu sync.Mutex
	opt.HTTP = trip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		calls++
		mu.Unlock()
		return response(r, 200, protocols[0].stream), nil
	})
	return at(t, "openai", "http://127.0.0.1:1", opt), &calls
}

func priced(input, output float64) *llm.Settings {
	return &llm.Settings{Models: map[string]llm.Setting{"openai:m": {Input: &input, Output: &output}}}
}

func TestABudgetOfTokensIsKeptBeforeACall(t *testing.T) {
	// Two calls take 80 each; the third could take 136 and 160 + 136 is 296.
	for limit, want := range map[int64]int{0: 0, worstTokens - 1: 0, worstTokens: 1, tookTokens + worstTokens - 1: 1, 2*tookTokens + worstTokens - 1: 2, 2*tookTokens + worstTokens: 3} {
		meter := llm.NewMeter(llm.Limit{Tokens: &limit})
		c, calls := counted(t, llm.Options{Meter: meter})
		var err error
		for err == nil {
			_, err = c.Ask(t.Context(), hi, nil)
		}
		var over *llm.BudgetError
		if !errors.As(err, &over) || *calls != want || meter.Spent().Tokens != int64(want*tookTokens) || meter.Spent().Tokens > limit {
			t.Errorf("limit %d: %d calls, %+v, %v", limit, *calls, meter.Spent(), err)
		}
		if !strings.Contains(err.Error(), "up to 136 tokens are needed") {
			t.Error(err)
		}
	}
}

func TestABudgetOfMoneyIsKeptBeforeACall(t *testing.T) {
	// At 100 and 1000 dollars per million, a call takes at most 36*1e-4 + 100*1e-3 =
	// 0.1036 dollars, and took 50*1e-4 + 30*1e-3 = 0.035.
	for limit, want := range map[float64]int{0: 0, 0.1035: 0, 0.1036: 1, 0.1385: 1, 0.1386: 2, 0.1736: 3} {
		meter := llm.NewMeter(llm.Limit{Money: &limit})
		c, calls := counted(t, llm.Options{Meter: meter, Settings: priced(100, 1000)})
		var err error
		for err == nil {
			_, err = c.Ask(t.Context(), hi, nil)
		}
		var over *llm.BudgetError
		if !errors.As(err, &over) || *calls != want || meter.Spent().Money > limit || !strings.Contains(err.Error(), "up to 0.1036 US dollars are needed") {
			t.Errorf("limit %g: %d calls, %+v, %v", limit, *calls, meter.Spent(), err)
		}
	}
}

func TestAPriceThatIsNotKnownIsNotFree(t *testing.T) {
	limit := 1e6
	c, calls := counted(t, llm.Options{Meter: llm.NewMeter(llm.Limit{Money: &limit})})
	if _, err := c.Ask(t.Context(), hi, nil); err == nil || *calls != 0 || !strings.Contains(err.Error(), `price of this model is not known; give input and output in US dollars per million tokens in the settings, under [models."openai:m"]`) {
		t.Errorf("%d calls, %v", *calls, err)
	}
	// Half a price is none.
	half := &llm.Settings{Models: map[string]llm.Setting{"openai:m": {Input: ptr(1.0)}}}
	meter := llm.NewMeter(llm.Limit{})
	c, _ = counted(t, llm.Options{Meter: meter, Settings: half})
	if a, err := c.Ask(t.Context(), hi, nil); err != nil || a.Cost != nil || meter.Spent().Unpriced != 1 || meter.Spent().Money != 0 {
		t.Errorf("%+v, %v, %+v", a, err, meter.Spent())
	}
	// What is said to be free is, even of a budget of nothing.
	limit = 0
	c, calls = counted(t, llm.Options{Meter: llm.NewMeter(llm.Limit{Money: &limit}), Settings: priced(0, 0)})
	if a, err := c.Ask(t.Context(), hi, nil); err != nil || *calls != 1 || a.Cost == nil || *a.Cost != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestCallsAtOneTimeDoNotSpendTheSameBudget(t *testing.T) {
	limit := int64(3*worstTokens + 1)
	meter := llm.NewMeter(llm.Limit{Tokens: &limit})
	release := make(chan struct{})
	entered := make(chan struct{}, 10)
	c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Meter: meter, HTTP: trip(func(r *http.Request) (*http.Response, error) {
		entered <- struct{}{}
		<-release
		return response(r, 200, protocols[0].stream), nil
	})})
	results := make(chan error, 10)
	for range 10 {
		go func() {
			_, err := c.Ask(t.Context(), hi, nil)
			results <- err
		}()
	}
	for range 3 {
		<-entered
	}
	for range 7 { // refused while three are under way
		var over *llm.BudgetError
		if err := <-results; !errors.As(err, &over) || over.Held.Calls != 3 || !strings.Contains(err.Error(), "3 other calls are under way") {
			t.Error(err)
		}
	}
	close(release)
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if got := meter.Spent(); got.Calls != 3 || got.Tokens != 3*tookTokens {
		t.Errorf("%+v", got)
	}
}

func TestTriesThatBreakOffAreHeldToTheBudget(t *testing.T) {
	limit := int64(2*worstTokens + 10)
	meter := llm.NewMeter(llm.Limit{Tokens: &limit})
	calls := 0
	c := at(t, "openai", "http://127.0.0.1:1", llm.Options{Meter: meter, HTTP: trip(func(r *http.Request) (*http.Response, error) {
		calls++
		return response(r, 200, protocols[0].stream[:400]), nil
	})})
	_, err := c.Ask(t.Context(), hi, nil)
	var over *llm.BudgetError
	if !errors.As(err, &over) || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if got := meter.Spent(); got.Tokens != 2*worstTokens || got.Estimated != got.Tokens {
		t.Errorf("%+v", got)
	}
}
