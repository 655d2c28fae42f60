package predict

// Compound is a Model that is made of others.
type Compound interface {
	Model
	Parts() []Model
	// With is the same made of other parts, in the order of Parts.
	With(parts []Model) Compound
}

// Each visits a Model and all that it is made of, the whole first.
func Each(m Model, visit func(m Model)) {
	visit(m)
	if c, ok := m.(Compound); ok {
		for _, p := range c.Parts() {
			Each(p, visit)
		}
	}
}

// Replace is a Model in which each part that is not made of others is what by
// gives for it.
func Replace(m Model, by func(m Model) Model) Model {
	c, ok := m.(Compound)
	if !ok {
		return by(m)
	}
	var parts []Model
	for _, p := range c.Parts() {
		parts = append(parts, Replace(p, by))
	}
	return c.With(parts)
}
