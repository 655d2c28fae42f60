// Package suite holds programs with room for improvement, each a target of the
// optimizer: sources, a description in TOML, inputs from a seed, at least five
// sizes besides the one that is optimized for. They are written for rooflab, as
// people write such code before anyone has looked at a profile, and are linked
// in, so that a test, a study or a newcomer has them wherever rooflab runs.
//
// In flows the name of a target, out flows its folder on disk:
//
//	path, err := suite.Write("stencil", "heat")
//	t, err := target.Load(path)
//	result, err := agents.Optimize(ctx, t)
//
// or, in a shell, rooflab optimize sample stencil heat and rooflab optimize
// heat/stencil.toml. A folder below targets with a file NAME.toml of its own name
// is a target; there is nothing else to register.
package suite
