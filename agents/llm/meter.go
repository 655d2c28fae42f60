package llm

import (
	"fmt"
	"math"
	"sync"
)

// Limit is what may be spent; nil is no limit.
type Limit struct {
	Tokens *int64   // in and out, of all calls
	Money  *float64 // US dollars; 0 allows only what is free
}

// Spent is what calls took.
type Spent struct {
	Calls int `json:"calls"` // tries that may have cost something
	// Tokens are in and out. Of them Estimated were counted by nobody: the most
	// that a try could take which broke off, or three bytes for a token where a
	// server gave no counts.
	Tokens    int64 `json:"tokens"`
	Estimated int64 `json:"estimated,omitempty"`
	// Money is in US dollars, and of it EstimatedMoney goes by Estimated. It lacks
	// the calls whose price is not known, which are Unpriced.
	Money          float64 `json:"money"`
	EstimatedMoney float64 `json:"estimated_money,omitempty"`
	Unpriced       int     `json:"unpriced,omitempty"`
}

func (s *Spent) add(t Spent) {
	s.Calls += t.Calls
	s.Tokens += t.Tokens
	s.Estimated += t.Estimated
	s.Money += t.Money
	s.EstimatedMoney += t.EstimatedMoney
	s.Unpriced += t.Unpriced
}

// estimate is what a call took that nobody counted.
func (s Setting) estimate(in, out int64) Spent {
	e := Spent{Calls: 1, Tokens: in + out, Estimated: in + out}
	if money := s.cost(Usage{Input: &in, Output: &out}); money != nil {
		e.Money, e.EstimatedMoney = *money, *money
	} else {
		e.Unpriced = 1
	}
	return e
}

// Meter counts what is spent, and refuses calls beyond a limit. Several Clients
// may share one.
type Meter struct {
	limit Limit
	mu    sync.Mutex
	spent Spent
	held  Spent // the worst case of the calls that are under way
}

// NewMeter makes a meter that has counted nothing.
func NewMeter(limit Limit) *Meter { return &Meter{limit: limit} }

// Spent is what was counted so far.
func (m *Meter) Spent() Spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// BudgetError says that a call was not made, as its worst case would have gone
// beyond the budget.
type BudgetError struct {
	Model string
	Limit Limit
	Spent Spent // so far
	Held  Spent // the worst case of other calls under way
	Needs Spent // the worst case of this one
}

func (e *BudgetError) Error() string {
	if e.Limit.Money != nil && e.Needs.Unpriced > 0 {
		return fmt.Sprintf("asking %s: the budget is %g US dollars, and the price of this model is not known; "+
			"give input and output in US dollars per million tokens in the settings, under [models.%q] (0 where it is free)", e.Model, *e.Limit.Money, e.Model)
	}
	var text string
	if l := e.Limit.Tokens; l != nil && e.Spent.Tokens+e.Held.Tokens+e.Needs.Tokens > *l {
		text = fmt.Sprintf("up to %d tokens are needed, and of a budget of %d there are %d left", e.Needs.Tokens, *l, max(0, *l-e.Spent.Tokens-e.Held.Tokens))
	} else if l := e.Limit.Money; l != nil {
		text = fmt.Sprintf("up to %.4g US dollars are needed, and of a budget of %.4g there are %.4g left", e.Needs.Money, *l, max(0, *l-e.Spent.Money-e.Held.Money))
	}
	if e.Held.Calls > 0 {
		text += fmt.Sprintf(" (%d other calls are under way)", e.Held.Calls)
	}
	return fmt.Sprintf("asking %s: %s", e.Model, text)
}

// hold sets the worst case of a call aside, or refuses it.
func (m *Meter) hold(model string, worst Spent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	over := false
	if l := m.limit.Tokens; l != nil {
		over = m.spent.Tokens+m.held.Tokens+worst.Tokens > *l
	}
	if l := m.limit.Money; l != nil {
		// sums of prices are not exact in binary
		over = over || worst.Unpriced > 0 || m.spent.Money+m.held.Money+worst.Money > *l+math.Abs(*l)*1e-12
	}
	if over {
		return &BudgetError{model, m.limit, m.spent, m.held, worst}
	}
	m.held.add(worst)
	return nil
}

// settle puts what a call took in the place of what was held for it.
func (m *Meter) settle(worst, took Spent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held.add(Spent{-worst.Calls, -worst.Tokens, -worst.Estimated, -worst.Money, -worst.EstimatedMoney, -worst.Unpriced})
	m.spent.add(took)
	if m.held.Calls == 0 {
		m.held = Spent{} // without what rounding left
	}
}

// count adds what was spent before.
func (m *Meter) count(s Spent) { m.settle(Spent{}, s) }
