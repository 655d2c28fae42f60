// Package kernelcost estimates what a launch of a kernel executes, from its
// source text alone: nothing is compiled or run. In flow the text (OpenCL C, or
// CUDA C++ as far as package csource reads it), the values of scalar arguments
// and the launch's shape; out flow numbers of operations by kind and precision,
// of memory accesses by space and pattern, the sizes that buffers need, per
// line of the source and in total, each with how sure it is. Features of it are
// the inputs of runtime models, as the memory analysis of LLMPerf (Nguyen et
// al. 2025, section III) bounds arguments, and as Baghsorkhi et al. (PPoPP 2010)
// and Hong and Kim (ISCA 2009) feed analytical models.
//
// # How
//
// The kernel is interpreted once, for a sample of work-items side by side: up to
// 32 neighbours, which show how a GPU's warp would access memory, and 16 from
// all over the launch. An integer has three sides, each right for one question:
// its values in the sampled work-items (patterns, trips that depend on ids), the
// range of its values over all work-items and iterations (bounds of buffers), and
// a form, affine in ids and loop positions where it can be (how many work-items
// exactly take a branch, and how many iterations all run together).
//
// A branch splits the weights of the work-items by the share that takes it. Of a
// loop with up to 16 iterations that has branches all are followed, of others two
// or four, which stand for the rest. Functions of the source are followed at
// their calls, other than recursive ones.
//
// # How sure
//
// Exact: conditions and trips are known for all work-items. Sampled: the mean
// over sampled work-items or iterations. Assumed: data decides, and Assumptions
// stand in: half of the work-items take a branch; a loop that data can end early
// runs half of its bound; a loop whose end is loaded runs as often as the size of
// the buffer that it walks through allows on average (the non-zeros of a row of a
// sparse matrix), 16 times where that is not known either.
//
// Where all sampled work-items take a branch alike and nothing more is known,
// Unseen counts it: others might not.
//
// Counts are those of the text: no subexpression is shared, nothing is hoisted
// out of loops but arithmetic of literals (what a compiler would hoist is Hoisted,
// and not in Places and Features), variables live in registers, index
// arithmetic counts as integer operations and the final scaling by the element's
// size does not. Work of one work-item is Total by Items.
//
// # Bounds
//
// Buffer.Bytes is the least size that interval arithmetic can prove enough,
// narrowed by the conditions around each access; Tight tells that a work-item is
// known to reach it. Indices that are loaded have no bound unless a condition
// or their type gives one: such buffers are not Known, with the reason in Why.
// Signed arithmetic is taken not to overflow where its range stays in the type.
package kernelcost
