package datasets

import "fmt"

// bases are what is added to the ids of an import's records to move them to
// free places of the store.
type bases struct{ run, region, launch, code int64 }

// moved adds a base to an id, but for 0, which means "none".
func moved(id, base int64) int64 {
	if id == 0 {
		return 0
	}
	return id + base
}

// need is the error for a record without an id or a text that its table demands.
func need(table, what string) error {
	return fmt.Errorf("record of table %s has no %s", table, what)
}

func (*Machine) Table() string       { return "machine" }
func (*Ceiling) Table() string       { return "ceiling" }
func (*Run) Table() string           { return "run" }
func (*Region) Table() string        { return "region" }
func (*Launch) Table() string        { return "launch" }
func (*Counter) Table() string       { return "counter" }
func (*Code) Table() string          { return "code" }
func (*StaticFeature) Table() string { return "static_feature" }
func (*PCSample) Table() string      { return "pc_sample" }
func (*Telemetry) Table() string     { return "telemetry" }
func (*Attribute) Table() string     { return "attribute" }

// runOf is the run that a record belongs to.
func (r *Region) runOf() int64        { return r.Run }
func (r *Launch) runOf() int64        { return r.Run }
func (r *Counter) runOf() int64       { return r.Run }
func (r *Code) runOf() int64          { return r.Run }
func (r *StaticFeature) runOf() int64 { return r.Run }
func (r *PCSample) runOf() int64      { return r.Run }
func (r *Telemetry) runOf() int64     { return r.Run }
func (r *Attribute) runOf() int64     { return r.Run }

func (r *Machine) check() error {
	if r.ID < 1 {
		return need("machine", "id")
	}
	return nil
}

func (r *Machine) row(dst []Value) []Value {
	return append(dst, intValue(r.ID), wordValue(r.Host), wordValue(r.CPU), wordValue(r.GPU), wordValue(r.Arch), maybeInt(r.Units),
		maybeFloat(r.ClockHz), maybeFloat(r.MemHz), maybeInt(r.MemBytes), wordValue(r.Driver), intValue(r.run))
}

func (r *Ceiling) check() error {
	if r.Machine < 1 || r.Level == "" || r.Unit == "" {
		return need("ceiling", "machine, level or unit")
	}
	return nil
}

func (r *Ceiling) row(dst []Value) []Value {
	return append(dst, intValue(r.Machine), idValue(r.Run), textValue(r.Level), floatValue(r.Value), textValue(r.Unit), boolValue(r.Measured),
		maybeFloat(r.ClockHz), wordValue(r.Source))
}

func (r *Run) check() error {
	if r.ID < 1 || r.Tool == "" || r.Format == "" || r.Status == "" {
		return need("run", "id, tool, format or status")
	}
	return nil
}

func (r *Run) row(dst []Value) []Value {
	var started, inclusive Value
	if r.Started.Valid {
		started = timeValue(r.Started.V)
	}
	if r.TimeMetric != "" {
		inclusive = boolValue(r.TimeInclusive)
	}
	return append(dst, intValue(r.ID), idValue(r.Machine), textValue(r.Tool), wordValue(r.ToolVersion), textValue(r.Format), wordValue(r.FormatVersion),
		wordValue(r.Command), wordValue(r.EnvHash), wordValue(r.InputHash), started, wordValue(r.ClockPolicy), wordValue(r.CachePolicy),
		wordValue(r.ReplayPolicy), textValue(r.Status), wordValue(r.Error), wordValue(r.TimeMetric), inclusive)
}

func (r *Region) check() error {
	if r.ID < 1 || r.Run < 1 || r.Kind == "" {
		return need("region", "id, run or kind")
	}
	return nil
}

func (r *Region) row(dst []Value) []Value {
	return append(dst, intValue(r.ID), intValue(r.Run), idValue(r.Parent), textValue(r.Kind), textValue(r.Raw), textValue(r.Short),
		wordValue(r.Mangled), wordValue(r.Module), maybeInt(r.Order))
}

func (r *Launch) check() error {
	if r.ID < 1 || r.Run < 1 || r.Region < 1 {
		return need("launch", "id, run or region")
	}
	return nil
}

func (r *Launch) row(dst []Value) []Value {
	return append(dst, intValue(r.ID), intValue(r.Run), intValue(r.Region), maybeInt(r.Device), maybeInt(r.Context), maybeInt(r.Stream),
		maybeInt(r.PID), maybeInt(r.Rank), maybeInt(r.Thread),
		maybeInt(r.Grid[0]), maybeInt(r.Grid[1]), maybeInt(r.Grid[2]), maybeInt(r.Block[0]), maybeInt(r.Block[1]), maybeInt(r.Block[2]),
		maybeInt(r.Regs), maybeInt(r.Smem), maybeInt(r.Sequence), wordValue(r.ToolID), maybeInt(r.StartNs), maybeInt(r.DurNs))
}

func (r *Counter) check() error {
	if r.Run < 1 || r.Region < 1 || r.Metric == "" || r.Status == "" {
		return need("counter", "run, region, metric or status")
	}
	return nil
}

func (r *Code) check() error {
	if r.ID < 1 || r.Run < 1 || r.Region < 1 || r.ISA == "" {
		return need("code", "id, run, region or isa")
	}
	return nil
}

func (r *Code) row(dst []Value) []Value {
	return append(dst, intValue(r.ID), intValue(r.Run), intValue(r.Region), textValue(r.ISA), maybeInt(r.Offset), wordValue(r.Opcode),
		wordValue(r.Text), wordValue(r.File), maybeInt(r.Line), maybeInt(r.InlineDepth))
}

func (r *StaticFeature) check() error {
	if r.Run < 1 || r.Region < 1 || r.Name == "" {
		return need("static_feature", "run, region or name")
	}
	return nil
}

func (r *StaticFeature) row(dst []Value) []Value {
	return append(dst, intValue(r.Run), intValue(r.Region), textValue(r.Name), maybeFloat(r.Value))
}

func (r *PCSample) check() error {
	if r.Run < 1 || r.Launch < 1 || r.Code < 1 || r.Reason == "" {
		return need("pc_sample", "run, launch, code or reason")
	}
	return nil
}

func (r *PCSample) row(dst []Value) []Value {
	return append(dst, intValue(r.Run), intValue(r.Launch), intValue(r.Code), textValue(r.Reason), maybeInt(r.Samples), maybeInt(r.NotIssued))
}

func (r *Telemetry) check() error {
	if r.Run < 1 || r.Sensor == "" || r.Kind == "" {
		return need("telemetry", "run, sensor or kind")
	}
	return nil
}

func (r *Telemetry) row(dst []Value) []Value {
	return append(dst, intValue(r.Run), textValue(r.Sensor), intValue(r.TNs), maybeFloat(r.Value), wordValue(r.Unit), textValue(r.Kind))
}

func (r *Attribute) check() error {
	if r.Run < 1 || r.Name == "" {
		return need("attribute", "run or name")
	}
	return nil
}

func (r *Attribute) row(dst []Value) []Value {
	return append(dst, intValue(r.Run), idValue(r.Region), idValue(r.Launch), textValue(r.Name), textValue(r.Value))
}
