package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/prompt"
)

// AskOptions say how a language model is asked.
type AskOptions struct {
	Answers   int // of a round, 0 is 1
	Prompt    prompt.Options
	MaxTokens int // of an answer; 0 is llm.DefaultMaxTokens
	// Temperature is nil where the model has its own. Several answers to one
	// prompt differ only if it is above 0.
	Temperature *float64
	// Progress, where there is one, hears of each piece of an answer.
	Progress func(llm.Event)
}

// Ask makes an advisor of a language model: the case becomes a prompt, and each
// answer a proposal.
func Ask(m llm.Model, opt AskOptions) Advisor { return asking{m, opt} }

type asking struct {
	model llm.Model
	opt   AskOptions
}

func (a asking) Name() string { return a.model.Name() }

// Parameters are those of all its questions.
func (a asking) Parameters() Parameters {
	most := a.opt.MaxTokens
	if most == 0 {
		most = llm.DefaultMaxTokens
	}
	prompts := a.opt.Prompt.Tokens
	if prompts == 0 {
		prompts = prompt.DefaultTokens
	}
	return Parameters{Answers: max(1, a.opt.Answers), PromptTokens: prompts, AnswerTokens: most, Temperature: a.opt.Temperature}
}

func (a asking) Advise(ctx context.Context, c Case) (Advice, error) {
	in := prompt.Input{Target: c.Target, Report: c.Report, Sources: c.Sources, Failure: c.Failure, Examples: c.Tried}
	if c.Past != nil {
		in.Elsewhere = c.Past.Examples
	}
	p, err := prompt.Build(in, a.opt.Prompt)
	if err != nil {
		return Advice{}, err
	}
	out := Advice{Prompt: p, Supplied: p.Evidence}
	n := max(1, a.opt.Answers)
	if c.Failure != nil {
		n = 1
	}
	for i := range n {
		q := llm.Request{System: p.System, User: p.User, MaxTokens: a.opt.MaxTokens, Temperature: a.opt.Temperature, Sample: i}
		if !p.Estimated {
			q.InputTokens = p.Tokens
		}
		err := affords(a.model.Name(), q, c.Left, out.Usage)
		var answer *llm.Answer
		if err == nil {
			answer, err = a.model.Ask(ctx, q, a.opt.Progress)
		}
		if answer != nil {
			add(&out.Usage, answer.Spent)
			proposal := Read(answerName(i), answer.Text, c.Sources)
			proposal.Notes = append(proposal.Notes, answer.Notes...)
			proposal.Model = answer.Served
			if answer.Stop != llm.StopEnd {
				proposal.Notes = append(proposal.Notes, fmt.Sprintf("the answer ended by %q", answer.Stop))
			}
			out.Proposals = append(out.Proposals, proposal)
			continue
		}
		var spent *llm.BudgetError
		if errors.As(err, &spent) && len(out.Proposals) > 0 {
			return out, nil // what was paid for is used
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// affords refuses a call that could take more tokens than are left. What money
// it could take is known to the model's own meter alone.
func affords(name string, q llm.Request, left Spending, spent llm.Spent) error {
	if left.Tokens == nil {
		return nil
	}
	most := q.MaxTokens
	if most == 0 {
		most = llm.DefaultMaxTokens
	}
	if needs := q.Estimate() + int64(most); spent.Tokens+needs > *left.Tokens {
		return &llm.BudgetError{Model: name, Limit: llm.Limit{Tokens: left.Tokens}, Spent: spent, Needs: llm.Spent{Calls: 1, Tokens: needs}}
	}
	return nil
}

// add adds what other calls took.
func add(s *llm.Spent, t llm.Spent) {
	s.Calls += t.Calls
	s.Tokens += t.Tokens
	s.Estimated += t.Estimated
	s.Money += t.Money
	s.EstimatedMoney += t.EstimatedMoney
	s.Unpriced += t.Unpriced
}
