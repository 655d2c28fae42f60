package session

// Complete implements Session.
func (e *engine) Complete(source string, cursor int) Completion {
	return Completion{Start: cursor, End: cursor}
}

// Inspect implements Session.
func (e *engine) Inspect(source string, cursor, detail int) Inspection { return Inspection{} }

// IsComplete implements Session.
func (e *engine) IsComplete(source string) Completeness { return Completeness{Status: "unknown"} }
