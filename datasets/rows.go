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

// ref returns an id as a column's value: 0, which means "none", is NULL.
func ref(id int64) any {
	if id == 0 {
		return nil
	}
	return id
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

func (r *Machine) row(dst []any) []any {
	return append(dst, r.ID, text(r.Host), text(r.CPU), text(r.GPU), text(r.Arch), r.Units.any(),
		r.ClockHz.any(), r.MemHz.any(), r.MemBytes.any(), text(r.Driver), r.run)
}

func (r *Ceiling) check() error {
	if r.Machine < 1 || r.Level == "" || r.Unit == "" {
		return need("ceiling", "machine, level or unit")
	}
	return nil
}

func (r *Ceiling) row(dst []any) []any {
	return append(dst, r.Machine, ref(r.Run), r.Level, r.Value, r.Unit, r.Measured, r.ClockHz.any(), text(r.Source))
}

func (r *Run) check() error {
	if r.ID < 1 || r.Tool == "" || r.Format == "" || r.Status == "" {
		return need("run", "id, tool, format or status")
	}
	return nil
}

func (r *Run) row(dst []any) []any {
	var started, inclusive any
	if r.Started.Valid {
		started = r.Started.V.UTC()
	}
	if r.TimeMetric != "" {
		inclusive = r.TimeInclusive
	}
	return append(dst, r.ID, ref(r.Machine), r.Tool, text(r.ToolVersion), r.Format, text(r.FormatVersion),
		text(r.Command), text(r.EnvHash), text(r.InputHash), started, text(r.ClockPolicy), text(r.CachePolicy),
		text(r.ReplayPolicy), r.Status, text(r.Error), text(r.TimeMetric), inclusive)
}

func (r *Region) check() error {
	if r.ID < 1 || r.Run < 1 || r.Kind == "" {
		return need("region", "id, run or kind")
	}
	return nil
}

func (r *Region) row(dst []any) []any {
	return append(dst, r.ID, r.Run, ref(r.Parent), r.Kind, r.Raw, r.Short,
		text(r.Mangled), text(r.Module), r.Order.any())
}

func (r *Launch) check() error {
	if r.ID < 1 || r.Run < 1 || r.Region < 1 {
		return need("launch", "id, run or region")
	}
	return nil
}

func (r *Launch) row(dst []any) []any {
	return append(dst, r.ID, r.Run, r.Region, r.Device.any(), r.Context.any(), r.Stream.any(),
		r.PID.any(), r.Rank.any(), r.Thread.any(),
		r.Grid[0].any(), r.Grid[1].any(), r.Grid[2].any(), r.Block[0].any(), r.Block[1].any(), r.Block[2].any(),
		r.Regs.any(), r.Smem.any(), r.Sequence.any(), text(r.ToolID), r.StartNs.any(), r.DurNs.any())
}

func (r *Counter) check() error {
	if r.Run < 1 || r.Region < 1 || r.Metric == "" || r.Status == "" {
		return need("counter", "run, region, metric or status")
	}
	return nil
}

func (r *Counter) row(dst []any) []any {
	return append(dst, r.Run, r.Region, ref(r.Launch), r.Metric, text(r.Instance), r.Value.any(),
		text(r.Unit), text(r.RawValue), text(r.RawUnit), r.Coverage.any(), r.Status)
}

func (r *Code) check() error {
	if r.ID < 1 || r.Run < 1 || r.Region < 1 || r.ISA == "" {
		return need("code", "id, run, region or isa")
	}
	return nil
}

func (r *Code) row(dst []any) []any {
	return append(dst, r.ID, r.Run, r.Region, r.ISA, r.Offset.any(), text(r.Opcode), text(r.Text),
		text(r.File), r.Line.any(), r.InlineDepth.any())
}

func (r *StaticFeature) check() error {
	if r.Run < 1 || r.Region < 1 || r.Name == "" {
		return need("static_feature", "run, region or name")
	}
	return nil
}

func (r *StaticFeature) row(dst []any) []any {
	return append(dst, r.Run, r.Region, r.Name, r.Value.any())
}

func (r *PCSample) check() error {
	if r.Run < 1 || r.Launch < 1 || r.Code < 1 || r.Reason == "" {
		return need("pc_sample", "run, launch, code or reason")
	}
	return nil
}

func (r *PCSample) row(dst []any) []any {
	return append(dst, r.Run, r.Launch, r.Code, r.Reason, r.Samples.any(), r.NotIssued.any())
}

func (r *Telemetry) check() error {
	if r.Run < 1 || r.Sensor == "" || r.Kind == "" {
		return need("telemetry", "run, sensor or kind")
	}
	return nil
}

func (r *Telemetry) row(dst []any) []any {
	return append(dst, r.Run, r.Sensor, r.TNs, r.Value.any(), text(r.Unit), r.Kind)
}

func (r *Attribute) check() error {
	if r.Run < 1 || r.Name == "" {
		return need("attribute", "run or name")
	}
	return nil
}

func (r *Attribute) row(dst []any) []any {
	return append(dst, r.Run, ref(r.Region), ref(r.Launch), r.Name, r.Value)
}
