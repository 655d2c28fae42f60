package edit_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

// whole is a text by lines, without their ends.
func whole(text string) []string {
	ls := strings.SplitAfter(text, "\n")
	if n := len(ls); ls[n-1] == "" {
		ls = ls[:n-1]
	}
	for i, l := range ls {
		ls[i] = strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
		if !strings.HasSuffix(l, "\n") {
			ls[i] = l
		}
	}
	return ls
}

// check holds what must be true of every patch: lines outside of the changes
// are as before, changes are where they say, and all are editable.
func check(t *testing.T, p *edit.Patch, src edit.Source) {
	t.Helper()
	after := src.Text
	if len(p.Files) > 0 {
		after = p.Files[0].Text
	}
	old, now := whole(src.Text), whole(after)
	var changes []edit.Change
	for _, o := range p.Outcomes {
		if o.Rejected != nil && len(o.Changes) > 0 {
			t.Fatalf("rejected, and has changes: %+v", o)
		}
		changes = append(changes, o.Changes...)
	}
	changed, made := map[int]bool{}, map[int]bool{} // lines before, lines after
	for _, c := range changes {
		for l := c.Old.Start; l <= c.Old.End; l++ {
			inside := false
			for _, r := range src.Editable {
				inside = inside || r.Start <= l && l <= r.End
			}
			if !inside || changed[l] {
				t.Fatalf("line %d is not editable or changed twice: %+v", l, changes)
			}
			changed[l] = true
		}
		for l := c.New.Start; l <= c.New.End; l++ {
			made[l] = true
		}
	}
	i, j := 1, 1
	for i <= len(old) || j <= len(now) {
		switch {
		case changed[i]:
			i++
		case made[j]:
			j++
		case i > len(old) || j > len(now) || old[i-1] != now[j-1]:
			t.Fatalf("line %d of\n%q\nis not line %d of\n%q\nchanges %+v", i, src.Text, j, after, changes)
		default:
			i++
			j++
		}
	}
}

// An answer of any content is read without a panic; what was read, written and
// read again is the same and does the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"file: heat.c\nevidence: R1, S3\npredict: time down\nwhy: x\n<<<<<<< SEARCH\n\tb[0] = a[0];\n=======\n\tb[0] = 1;\n>>>>>>> REPLACE\n",
		"evidence: R1\n```diff\n--- a/heat.c\n+++ b/heat.c\n@@ -11,2 +11,2 @@\n-\tb[0] = a[0];\n+\tb[0] = 2;\n }\n```\n",
		"**heat.c**\n```c\n<<<<<<< SEARCH\n\tfor (int i = 1; i < N - 1; i++) {\n=======\n#pragma omp simd\n\tfor (int i = 1; i < N - 1; i++) {\n>>>>>>> REPLACE\n```\n",
		"--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+x\n", "--- a/heat.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "@@ @@\n \n-\n+",
		"<<<<< SEARCH a.c\n=====\n>>>>> REPLACE\nevidence:\npredict: up, , (x) down (y), up down\n", "~~~\nfile: `a`b`\n<<<<<<< SEARCH\n======\n=======\n======= \n>>>>>>> REPLACE",
	} {
		f.Add(s)
	}
	src := sources()[0]
	f.Fuzz(func(t *testing.T, answer string) {
		got := edit.Parse(answer, edit.ParseOptions{})
		text := edit.Format(got.Edits)
		again := edit.Parse(text, edit.ParseOptions{})
		if len(text) <= edit.MaxAnswer && (!reflect.DeepEqual(plain(got.Edits), plain(again.Edits)) || len(again.Problems) > 0) {
			t.Fatalf("read\n%+v\nwritten\n%q\nread again\n%+v\n%+v", plain(got.Edits), text, plain(again.Edits), again.Problems)
		}
		p, q := edit.Apply(got.Edits, sources(), rules), edit.Apply(again.Edits, sources(), rules)
		if !reflect.DeepEqual(p.Files, q.Files) {
			t.Fatalf("applied\n%+v\nand after a round trip\n%+v", p.Files, q.Files)
		}
		check(t, p, src)
	})
}

// Lines of a text replaced by others: the reference is made by hand.
func FuzzApply(f *testing.F) {
	f.Add("a\nb\nc\n", uint(1), uint(1), "x\ny", uint(1), uint(3))
	f.Add("a\r\nb\r\n\r\nc", uint(0), uint(4), "a\nb\nd", uint(1), uint(9))
	f.Add("/* a\nb */ int f(int x) {\n}\n#if 1\nc\n#endif\n", uint(1), uint(2), "}\nint f(int y) {", uint(2), uint(2))
	f.Fuzz(func(t *testing.T, text string, from, n uint, replace string, start, end uint) {
		old := whole(text)
		if from > uint(len(old)) || n > uint(len(old))-from || start > 1<<20 || end > 1<<20 || strings.ContainsRune(replace, '\r') {
			t.Skip()
		}
		src := edit.Source{Path: "a.c", Text: text, Editable: []edit.Range{{Start: int(start), End: int(end)}}}
		h := edit.Hunk{File: "a.c", Search: old[from : from+n], Replace: strings.Split(replace, "\n"), At: int(from) + 1}
		p := edit.Apply([]edit.Edit{{Hunks: []edit.Hunk{h}}}, []edit.Source{src}, edit.Rules{AllowUncited: true, MaxBytes: 1 << 20})
		check(t, p, src)
		if o := p.Outcomes[0]; o.Rejected == nil && !o.Changes[0].Loose {
			want := append(append(append([]string{}, old[:from]...), h.Replace...), old[from+n:]...)
			if got := whole(p.Files[0].Text); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%q, want %q", got, want)
			}
		}
		for _, fn := range edit.Functions(text) {
			if fn.Name == "" || fn.Lines.Start < 1 || fn.Lines.Start > fn.Body.Start || fn.Body.End != fn.Lines.End || fn.Lines.End > len(old) {
				t.Fatalf("%+v in %q", fn, text)
			}
		}
	})
}

// Header lines of any content are written as they were read.
func FuzzHeader(f *testing.F) {
	f.Add("R1, [S3] and C2 (x)", "time down, a,b up; `x` ↓", "since", "`a.c` (b)")
	f.Add("none", "up ,b down,c up", "**x** ", "./a/b.c:")
	f.Add("and", "`up` ,b down", "", "a//./b")
	f.Add("", "=up ,b down", "x", "././b.c")
	f.Add("", "a,", "x", "b\tc")
	f.Fuzz(func(t *testing.T, evidence, predict, why, file string) {
		got := edit.Parse("file: "+file+"\nevidence: "+evidence+"\npredict: "+predict+"\nwhy: "+why+"\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n@@ -1 +1 @@\n-x\n+y\n", edit.ParseOptions{})
		again := edit.Parse(edit.Format(got.Edits), edit.ParseOptions{})
		if !reflect.DeepEqual(plain(got.Edits), plain(again.Edits)) {
			t.Fatalf("read\n%+v\nwritten\n%q\nread again\n%+v", plain(got.Edits), edit.Format(got.Edits), plain(again.Edits))
		}
	})
}
