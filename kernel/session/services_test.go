package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/session"
)

// ask completes at the mark ¦ and returns the texts and what they replace.
func (n *notebook) ask(marked string) ([]string, string) {
	n.t.Helper()
	before, after, _ := strings.Cut(marked, "¦")
	c := n.Complete(before+after, len([]rune(before)))
	var texts []string
	for _, m := range c.Matches {
		texts = append(texts, m.Text)
	}
	runes := []rune(before + after)
	if c.Start < 0 || c.End < c.Start || c.End > len(runes) {
		n.t.Fatalf("%q: range %d to %d", marked, c.Start, c.End)
	}
	return texts, string(runes[c.Start:c.End])
}

func TestCompletionKnowsTheLiveSession(t *testing.T) {
	n := start(t)
	for _, c := range []struct {
		cell     string
		want     []string
		replaces string
	}{
		{"fmt.Fprintl¦", []string{"Fprintln"}, "Fprintl"},
		{"strings.ToUpperS¦", []string{"ToUpperSpecial"}, "ToUpperS"},
		{"s := \"déjà vu\"; strings.ToUpperS¦", []string{"ToUpperSpecial"}, "ToUpperS"},
		{"!echo \"not closed\nstrings.ToUpperS¦", []string{"ToUpperSpecial"}, "ToUpperS"},
		{"%ge¦", []string{"%get"}, "%ge"},
		{"x := 1\n%%wri¦", []string{"%%writefile"}, "%%wri"},
		{"%env ¦", nil, ""},
		{"!l¦", nil, ""},
		{"7 %ge¦", nil, "ge"},
	} {
		if got, what := n.ask(c.cell); !slices.Equal(got, c.want) || what != c.replaces {
			t.Errorf("%q gives %q for %q, want %q for %q", c.cell, got, what, c.want, c.replaces)
		}
	}
	n.run("df := dataframe.LoadRecords([][]string{{\"kernel\", \"ms\"}, {\"a\", \"1\"}})")
	if got, what := n.ask("df.Select(\"kernel\").Nr¦"); !slices.Equal(got, []string{"Nrow"}) || what != "Nr" {
		t.Errorf("df.Select().Nr gives %q for %q", got, what)
	}
	n.run("type thing struct { Old int }\nv := thing{}")
	n.run("type thing struct { New int }\nv := thing{}")
	if got, _ := n.ask("v.¦"); !slices.Equal(got, []string{"New"}) {
		t.Errorf("v. gives %q", got)
	}
}

func TestQuestionsAreAnsweredWhileACellRuns(t *testing.T) {
	n := start(t)
	n.run("held := strings.NewReplacer(\"a\", \"b\")")
	running := make(chan bool)
	done := make(chan session.Reply)
	go func() {
		first := true
		done <- n.Execute(session.Request{Source: "later := 1\nfmt.Println(later)\n<-ctx.Done()", StoreHistory: true}, func(ev session.Event) {
			if _, ok := ev.(session.Stream); ok && first {
				first = false
				close(running)
			}
		})
	}()
	<-running
	if got, _ := n.ask("held.Repl¦"); !slices.Equal(got, []string{"Replace"}) {
		t.Errorf("held.Repl gives %q", got)
	}
	if in := n.Inspect("later", 5, 0); !in.Found || !strings.Contains(in.Bundle.Data["text/plain"].(string), "var later int") {
		t.Errorf("later is described by %v", in.Bundle.Data)
	}
	n.Interrupt()
	<-done
}

func TestInspectionAnswersInTextAndMarkdown(t *testing.T) {
	n := start(t)
	in := n.Inspect("s := \"é\"; fmt.Println", 21, 0)
	for _, kind := range []string{"text/plain", "text/markdown"} {
		if s, _ := in.Bundle.Data[kind].(string); !strings.Contains(s, "func Println(a ...any) (n int, err error)") || !strings.Contains(s, "Println formats using the default formats") {
			t.Errorf("%s of fmt.Println is %q", kind, s)
		}
	}
	if in := n.Inspect("%get", 3, 0); !in.Found || !strings.Contains(in.Bundle.Data["text/plain"].(string), "add a module") {
		t.Errorf("%%get is described by %v", in.Bundle.Data)
	}
	if in := n.Inspect("%nothing", 3, 0); in.Found {
		t.Errorf("%%nothing is described by %v", in.Bundle.Data)
	}
}

func TestCompletenessOfCellsWithCommands(t *testing.T) {
	n := start(t)
	for _, c := range []struct{ cell, status, indent string }{
		{"", "complete", ""},
		{"%help", "complete", ""},
		{"!ls", "complete", ""},
		{"!echo \"open", "complete", ""},
		{"!ls \\", "incomplete", ""},
		{"!ls \\\n -l", "complete", ""},
		{"!ls\nif x {", "incomplete", "\t"},
		{"%%\nf(", "incomplete", "\t"},
		{"%%bash", "incomplete", ""},
		{"%%bash\necho (", "incomplete", ""},
		{"%%bash\necho (\n\n", "complete", ""},
		{"x := 7\n!ls )", "complete", ""},
		{"!ls\nx := )", "invalid", ""},
		{"f(`\n%raw", "incomplete", ""},
	} {
		if got := n.IsComplete(c.cell); got.Status != c.status || got.Indent != c.indent {
			t.Errorf("%q is %v, want {%s %q}", c.cell, got, c.status, c.indent)
		}
	}
}
