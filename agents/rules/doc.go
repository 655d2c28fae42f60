// Package rules is an adviser without a language model: it maps what a profile
// says to changes of the source that keep what it computes, bit for bit. It is the
// default backend, needs no key, and is the floor that a model must beat.
//
// In flow a Case: the sources with their editable lines, the evidence (Items of
// modeling/insight), the commands of the build and the shapes of launches as far as
// they are known. Out flows Advice: Proposals, the largest expected gain first, each
// an edit.Edit that cites ids and predicts metrics, in the form in which a model's
// answer is parsed (Advice.Answer writes one); and Refusals, what was considered and
// is not offered, with the reason. The same case has the same advice.
//
//	advice := rules.Advisor{}.Advise(rules.Case{Sources: target.Sources(), Evidence: report.Items})
//
// # How
//
// Package syntax reads the text into trees that know where everything stands. Of a
// loop nest the effects are collected: accesses to memory with their indices as
// polynomials over counters and values that stay the same, variables that are read
// and written, calls, ways out. Two accesses to one array are compared digit by
// digit: a counter whose coefficient is larger than all that the other counters can
// reach has a distance of its own, as in a delinearised array. Pointers are apart if
// restrict, their types (C11 6.5, 7), address spaces, allocations, or all callers in
// a whole program say so; a pointer that is declared as a place in another's memory
// stands for that. Callees in the sources are known by what they do to what they
// are given. A condition around an access bounds what it compares, all callers that
// pass numbers bound parameters, and launches have the shapes that the host's text
// gives them. A transformation is offered where a condition over these
// distances holds (Allen and Kennedy, Optimizing Compilers for Modern Architectures,
// 2001, chapters 2, 5 and 8); what is not understood is never touched. The
// Transformations say what each needs and which rules of insight speak for it.
//
// What the compiler is asked for is read off the commands that compile a source
// (Compiled). Other flags are proposed where a file of the build is among the
// sources and its lines may be changed; else a function asks by an attribute.
//
// # What is taken for granted
//
// Integers do not overflow, indices stay in their dimension, and pure functions of
// the C library are called for their value and not for errno. A processor with AVX2
// is asked for by one transformation (flags), and the one that builds by another
// (build-flags). Sums of floating-point numbers keep their order, and products and
// sums are not fused, unless Options.Reassociate says that a tolerance allows it; a
// proposal that makes use of it says which of both it is in Assumes, and others do
// not. In C++, std::pow and the like are the functions of the C library, in the type
// that their arguments ask for. Whoever applies an edit validates it all the same.
package rules
