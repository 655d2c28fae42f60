package main

// The evaluations that `rooflab eval` knows.
import (
	_ "github.com/rooflab/rooflab/agents/agentsrules"
	_ "github.com/rooflab/rooflab/modeling/evaluation/baselines"
	_ "github.com/rooflab/rooflab/modeling/evaluation/counterscoulomb"
	_ "github.com/rooflab/rooflab/modeling/evaluation/devmap"
	_ "github.com/rooflab/rooflab/modeling/evaluation/llmperfgpuflopbench"
	_ "github.com/rooflab/rooflab/modeling/evaluation/llmperfopencl"
)
