#!/bin/sh
# Records the profiles of notebook 02 again, with rooflab's own collectors, into
# the folder `recorded` beside this file. It takes about a minute and needs rooflab
# on the PATH, clang, Valgrind and Linux perf; hardware counters are not needed.
# A quiet machine gives steadier times.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/rooflab-heat # what a profile says of folders is not of a user's home
rm -rf "$work" && mkdir "$work" && cp "$here/heat.c" "$work" && cd "$work"

# As the collector llvm compiles it (-O1), so that lines of both compute the same;
# frame pointers let perf find the callers.
clang -O1 -g -fno-omit-frame-pointer -fdebug-compilation-dir=. -o heat heat.c
# Without the user's variables, which collectors record otherwise.
collect() { env -i PATH="$PATH" HOME="$work" rooflab collect "$@" >/dev/null; }
store="--store heat.db"

collect machine $store            # the ceilings
collect llvm $store --source heat.c # what each line computes

# The program at six sizes: exact counts of instructions, then times.
for n in 32 64 96 128 192 256; do
	collect valgrind $store --function main -- ./heat $n 50 columns
done
for n in 128 192 256 384 768; do
	collect run $store --repeats 10 --warmup 1 -- ./heat $n 50 columns
done

# Before and after in turn, so that what disturbs one disturbs the other, too.
for pair in 1 2 3 4 5 6; do
	collect run $store --repeats 5 --warmup 1 -- ./heat 512 50 columns
	collect run $store --repeats 5 --warmup 1 -- ./heat 512 50 rows
done

# Where the time goes (a sample 4000 times a second), and what is executed there.
for order in columns rows; do
	collect perf $store --mode record --event cpu-clock --frequency 4000 -- ./heat 512 50 $order
	collect valgrind $store --function main -- ./heat 512 50 $order
done

rm -rf "$here/recorded"
rooflab export $store "$here/recorded"
rm -rf "$work"
