package datasets

// Clone returns a copy of a record, which stays as it is when the emitter
// reuses the first one; nil where r is no record of this package.
func Clone(r Record) Record {
	switch v := r.(type) {
	case *Machine:
		return copied(v)
	case *Ceiling:
		return copied(v)
	case *Run:
		return copied(v)
	case *Region:
		return copied(v)
	case *Launch:
		return copied(v)
	case *Counter:
		return copied(v)
	case *Code:
		return copied(v)
	case *StaticFeature:
		return copied(v)
	case *PCSample:
		return copied(v)
	case *Telemetry:
		return copied(v)
	case *Attribute:
		return copied(v)
	}
	return nil
}

func copied[T any](v *T) *T {
	c := *v
	return &c
}
