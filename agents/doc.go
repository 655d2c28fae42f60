// Package agents is the optimizer: evidence in, validated faster code out. Its
// steps are packages of their own, each usable alone in a cell, and data flows
// through them in one direction:
//
//	target      a TOML file -> what to make faster, how it is built and run, what must stay the same,
//	            which lines may be changed, what may be spent
//	(insight)   a profile in a store -> a Report: items of evidence with ids (modeling/insight)
//	prompt      target, Report, numbered source, what was tried -> a bounded Prompt
//	llm         a Prompt's text -> a language model's answer, within a budget, from a record where one holds it
//	edit        an answer -> Edits with the ids that they cite and the metrics that they predict;
//	            Edits and sources -> new text, or a Rejection with its Reason
//	build       sources with a candidate's files -> products, or the compiler's log; the calls of compilers that
//	            make or a script makes (in the sandbox)
//	validate    original and candidate on fresh inputs, also of sizes that a target allows and does not list ->
//	            a verdict, with each reason against it (in the sandbox)
//	measure     original and candidate, interleaved -> which is faster, and how sure that is (in the sandbox)
//	sandbox     a command, files and limits -> how it ended and what it tried
//	align       Edits, evidence, metrics before and after -> evidence-aligned reasoning scores
//	review      diffs, Edits and what they cite -> hunks with their evidence, for a person; decisions -> the run's folder
//	judge       a program and others made of it -> how fast each is expected to be, before it is measured
//	search      programs with their times and energies -> those that the next round begins with
//	history     what came of candidates -> a file for all runs; a situation -> what was alike and what it gained
//
// Text goes to a model only through prompt, which keeps source, profiles and
// logs apart from instructions, and comes back only through edit, which takes
// nothing but changes of editable lines. Whoever gives the edits (a language
// model, or rules) is held to the same checks and the same scores. What a
// candidate does is seen by sandbox, build, validate and measure; nothing is
// believed because the candidate says so.
//
// target, edit, prompt, align, judge and search are pure: they run nothing. target and edit
// read the files of the target, and only Patch.Write of edit changes any.
//
// This package joins them. Optimize is the loop: the evidence on the original;
// an Advisor (Rules, Ask of a language model, Replay of answers) proposes; what
// stays within the hot lines is built, compared, measured in turns with the
// original and profiled again; of those that were shown to be faster Options.Search
// keeps what the next round begins with: the fastest, the K fastest (a beam), or
// all that none beats in both time and energy. A round has a turn for each of them,
// with evidence and advice of its own; a program that was tried before is not tried
// again, whoever proposes it. Where there is a Judge, only what it finds most
// promising is measured, and Result.Judged says how it did. What came of candidates
// is added to Options.History, once for each; Options.Learn tells the advisor of
// what was alike in other runs: a model by examples in its prompt, the rules by
// which of them go first. What is done is written to a journal at each
// step, so that the same call goes on where a process was ended. In one cell:
//
//	t, err := target.Load("matmul.toml")
//	result, err := agents.Optimize(ctx, t)
//	result
//
// which shows its steps while it runs (Watch), and in the end each candidate's
// hunks beside the evidence that they cite. An interrupted cell goes on when it is
// run again. A person decides then, and the decision stays in the folder of the run:
//
//	result.Review()
//	result.Accept()                    // write what was kept over the sources
//	result.Reject("1.1", "too clever") // it, and what builds on it, is not applied
//
// and step by step, each a cell, with a Workbench:
//
//	w, err := agents.NewWorkbench(ctx, t, "out")
//	original, err := w.Build(ctx, nil)
//	evidence, err := w.Profile(ctx, original)
//	hot, sources := agents.SelectHot(evidence.Report, t.Sources(), 0)
//	advice, err := agents.Rules(0, rules.Options{}).Advise(ctx, agents.Case{Target: t, Report: evidence.Report, Sources: sources, Round: 1})
//	patch := edit.Apply(advice.Proposals[0].Edits, sources, edit.Rules{Evidence: advice.Supplied})
//	candidate, err := w.Build(ctx, patch.Files)
//	validation, err := w.Validate(ctx, original, candidate)
//	measurement, err := w.Measure(ctx, original, candidate, "256", agents.MeasureOptions{})
//
// A rejection, at whatever step, is data and no failure of the run: it names
// the step, the reason and what was found, goes into the record and into the
// next prompt, and counts in the scores. Errors are for what is wrong with the
// target, the machine or the caller.
package agents
