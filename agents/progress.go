package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/kernel/display"
)

// Watcher shows the events of a run as they come: in a notebook one display
// with a row for each step and each candidate, which is replaced, elsewhere a
// line for each event. It draws when a step begins or ends and at no other time,
// so that it takes nothing from the programs that are measured.
type Watcher struct {
	mu      sync.Mutex
	title   string
	rich    bool
	handle  *display.Handle
	began   time.Time
	rows    []*watched
	latest  string
	ended   string
	verdict bool // ended is the result's
	drawn   time.Time
	timer   *time.Timer
}

// watched is a row: a step of the run or a round, or a candidate with its steps.
type watched struct {
	round     int
	candidate string
	steps     []step
	outcome   string // what came of a candidate
	state     string
}

type step struct {
	text  string
	began time.Time
	took  time.Duration // 0 while it runs
}

// States of a row.
const (
	running = "running"
	done    = "done"
	kept    = "kept"
	down    = "turned down"
)

// watchedRows are shown, the latest; watchGap is the least time between two
// drawings: a run that goes on takes what it did before in no time.
const (
	watchedRows = 60
	watchGap    = 100 * time.Millisecond
)

// Watch makes a Watcher; Options.Progress takes its Hear. End tells it how the
// run ended.
func Watch(title string) *Watcher {
	return &Watcher{title: title, rich: display.Rich(), began: time.Now()}
}

// Hear takes an event.
func (w *Watcher) Hear(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.stop(now)
	row := w.row(e)
	w.latest = review.Visible(e.String())
	if e.Done {
		row.outcome, row.state = e.Text, down
		if strings.HasPrefix(e.Text, kept) {
			row.state = kept
		}
	} else {
		row.steps = append(row.steps, step{text: e.Text, began: now})
		row.state, row.outcome = running, ""
	}
	if !w.rich {
		display.Show(display.Of("text/plain", w.title+": "+w.latest))
		return
	}
	w.draw(now)
}

// stop ends the step that runs.
func (w *Watcher) stop(now time.Time) {
	for _, r := range w.rows {
		if n := len(r.steps); r.state == running && n > 0 {
			r.steps[n-1].took = max(now.Sub(r.steps[n-1].began), 1)
			r.state = done
		}
	}
}

// row is that of the event's candidate, or a new one.
func (w *Watcher) row(e Event) *watched {
	if e.Candidate != "" {
		for _, r := range w.rows {
			if r.round == e.Round && r.candidate == e.Candidate {
				return r
			}
		}
	}
	r := &watched{round: e.Round, candidate: e.Candidate}
	w.rows = append(w.rows, r)
	return r
}

// End shows how the run ended.
func (w *Watcher) End(res *Result, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	now := time.Now()
	running := w.stopped(err)
	switch {
	case errors.Is(err, context.Canceled):
		w.ended = "interrupted: the same call goes on from here"
	case err != nil:
		w.ended = "stopped by an error: the same call goes on from here, when its cause is gone"
	case res != nil:
		w.ended, w.verdict = res.Verdict(), true
	}
	w.stop(now)
	for _, r := range running {
		r.state = "stopped"
	}
	if len(w.rows) == 0 || w.ended == "" {
		return
	}
	w.latest = w.ended
	if !w.rich {
		if err != nil { // otherwise the result says it
			display.Show(display.Of("text/plain", w.title+": "+w.ended))
		}
		return
	}
	w.show(now)
}

// stopped are the rows whose step did not come to its end.
func (w *Watcher) stopped(err error) []*watched {
	var out []*watched
	for _, r := range w.rows {
		if r.state == running && err != nil {
			out = append(out, r)
		}
	}
	return out
}

// draw shows the rows now, or soon where it has just done so.
func (w *Watcher) draw(now time.Time) {
	if now.Sub(w.drawn) >= watchGap {
		w.show(now)
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(watchGap, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.timer = nil; w.ended == "" {
				w.show(time.Now())
			}
		})
	}
}

func (w *Watcher) show(now time.Time) {
	w.drawn = now
	text := w.title + ": " + w.latest
	if w.verdict {
		text = w.latest
	}
	b := display.Bundle{Data: map[string]any{"text/plain": text, "text/html": w.html(now)}}
	if w.handle == nil {
		w.handle = display.Live(b)
		return
	}
	w.handle.Update(b)
}

// html is the table of rows. Times are of this process: a step that an earlier
// one had done takes none.
func (w *Watcher) html(now time.Time) string {
	e := display.Escape
	var b strings.Builder
	head := w.title + ": " + w.ended
	switch {
	case w.ended == "":
		head += "running"
	case w.verdict:
		head = w.ended // which names the target
	}
	fmt.Fprintf(&b, `%s<div class="rl-opt"><div class="live" role="status"><b>%s</b> (%s)</div>`, style, e(head), clock(now.Sub(w.began)))
	rows := w.rows
	if more := len(rows) - watchedRows; more > 0 {
		rows = rows[more:]
		fmt.Fprintf(&b, `<div class="more">%d earlier steps are not shown</div>`, more)
	}
	b.WriteString(`<div class="box"><table class="steps"><thead><tr><th>round</th><th>step</th><th>state</th><th class="n">time</th></tr></thead><tbody>`)
	for _, r := range rows {
		round := ""
		if r.round > 0 {
			round = fmt.Sprint(r.round)
		}
		var what []string
		total := time.Duration(0)
		for _, s := range r.steps {
			text := e(s.text)
			if s.took > 0 {
				total += s.took
				if len(r.steps) > 1 {
					text += ` <span class="more">` + clock(s.took) + `</span>`
				}
			}
			what = append(what, text)
		}
		text := strings.Join(what, ", ")
		if r.candidate != "" {
			text = `<b>` + e(r.candidate) + `</b> <span class="more">` + text + `</span>`
		}
		if r.outcome != "" {
			text += `<div class="more">` + e(r.outcome) + `</div>`
		}
		took := ""
		if r.state != running {
			took = clock(total)
		}
		fmt.Fprintf(&b, `<tr class="%s"><td>%s</td><td>%s</td><td class="state">%s</td><td class="n">%s</td></tr>`,
			strings.ReplaceAll(r.state, " ", "-"), round, text, signs[r.state]+" "+e(r.state), took)
	}
	b.WriteString(`</tbody></table></div></div>`)
	return review.Visible(b.String())
}

var signs = map[string]string{running: "▶", done: "✓", kept: "★", down: "✗", "stopped": "■"}

// clock is a time as a person reads it.
func clock(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
