package rocprof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

type handle struct {
	Handle json.Number `json:"handle"`
}

type size struct{ X, Y, Z *int64 }

func (s *size) dims() (d [3]datasets.Null[int64]) {
	for i, v := range [3]*int64{s.X, s.Y, s.Z} {
		if v != nil {
			d[i] = datasets.Some(*v)
		}
	}
	return d
}

// dispatchInfo is what a dispatch and the counters of one say of it.
type dispatchInfo struct {
	Agent     handle      `json:"agent_id"`
	Queue     handle      `json:"queue_id"`
	Kernel    json.Number `json:"kernel_id"`
	Dispatch  json.Number `json:"dispatch_id"`
	Private   *int64      `json:"private_segment_size"`
	Group     *int64      `json:"group_segment_size"`
	Workgroup size        `json:"workgroup_size"`
	Grid      size        `json:"grid_size"`
}

type jsonEvent struct {
	Kind        json.RawMessage `json:"kind"`
	Operation   json.RawMessage `json:"operation"`
	Name        string          `json:"name"`
	Thread      *int64          `json:"thread_id"`
	Start       *int64          `json:"start_timestamp"`
	End         *int64          `json:"end_timestamp"`
	Correlation struct {
		Internal json.Number `json:"internal"`
	} `json:"correlation_id"`
	Info  *dispatchInfo `json:"dispatch_info"`
	Src   *handle       `json:"src_agent_id"`
	Dst   *handle       `json:"dst_agent_id"`
	Bytes *int64        `json:"bytes"`
	// Of counters.
	Data    *jsonEvent `json:"dispatch_data"`
	LDS     *int64     `json:"lds_block_size_v"`
	VGPR    *int64     `json:"arch_vgpr_count"`
	SGPR    *int64     `json:"sgpr_count"`
	Records []struct {
		Counter handle `json:"counter_id"`
		Value   any    `json:"value"`
	} `json:"records"`
}

// jsonReader reads a file of rocprofv3, in two passes as parser does: the
// first also learns the names, wherever in the file they stand.
type jsonReader struct {
	*parser
	j        *collectors.JSON
	process  string
	kernels  map[string]string // by id
	counters map[string]string
	agents   map[string]int64 // numbers of the nodes by handle
	names    map[string]operations
	tools    int
}

// operations are the names of one kind of event.
type operations struct {
	kind  string
	names []string
}

func parseJSON(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return in.WithFile(func(path string) error {
		r := &jsonReader{kernels: map[string]string{}, counters: map[string]string{}, agents: map[string]int64{}, names: map[string]operations{},
			parser: &parser{in: in, out: out, kind: kindKernels, last: []delimited.Cell{{}}, launches: map[string]int{}, kernel: map[int]int32{}, ids: map[string]int32{}, seen: map[[2]int32]int32{}, regions: map[string]int64{}, warned: map[string]bool{},
				run:     datasets.Run{ID: runID, Tool: "rocprof", Status: datasets.RunOK},
				machine: datasets.Machine{ID: machineID}}}
		for _, r.emit = range []bool{false, true} {
			if err := r.pass(ctx, in.Name, path); err != nil {
				return err
			}
			if !r.emit {
				r.order()
			}
		}
		r.describe()
		r.run.Format, r.run.FormatVersion = "rocprofv3-json", ""
		return r.finish()
	})
}

func (r *jsonReader) pass(ctx context.Context, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if r.in, err = collectors.Open(name, f); err != nil {
		return err
	}
	r.r = delimited.New(r.in)
	r.j = collectors.NewLooseJSON(r.in) // a counter that was derived by a division by zero is NaN
	r.count, r.rows, r.tools = 0, 0, 0
	err = r.object(ctx, func(key string) error {
		if key != "rocprofiler-sdk-tool" {
			return r.skip()
		}
		return r.list(ctx, func() error {
			r.tools++
			r.process = strconv.Itoa(r.tools)
			return r.object(ctx, func(key string) error { return r.member(ctx, key) })
		})
	})
	if err != nil {
		return err
	}
	if _, err := r.j.Token(); !errors.Is(err, io.EOF) {
		return r.j.Syntax("the file goes on after its object")
	}
	return nil
}

func (r *jsonReader) object(ctx context.Context, f func(key string) error) error {
	if err := r.j.Delim('{', "an object"); err != nil {
		return err
	}
	for r.j.More() {
		if ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, ctx.Err())
		}
		key, err := r.j.Key()
		if err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
	return r.j.Delim('}', "the end of an object")
}

func (r *jsonReader) list(ctx context.Context, f func() error) error {
	if err := r.j.Delim('[', "a list"); err != nil {
		return err
	}
	for n := 0; r.j.More(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, ctx.Err())
		}
		if err := f(); err != nil {
			return err
		}
	}
	return r.j.Delim(']', "the end of a list")
}

func (r *jsonReader) decode(v any) error {
	err := r.j.Wrap(r.j.Decode(v))
	var syntax *collectors.SyntaxError
	if err != nil && !errors.As(err, &syntax) { // a text where a number belongs
		e := r.j.Syntax("")
		e.Msg, e.Expected, e.Found = collectors.JSONFault(err)
		e.Msg += " (it ends here)"
		return e
	}
	return err
}

func (r *jsonReader) skip() error {
	var v json.RawMessage
	return r.decode(&v)
}

// member reads a member of a tool's object.
func (r *jsonReader) member(ctx context.Context, key string) error {
	switch key {
	case "metadata":
		return r.metadata()
	case "agents":
		return r.list(ctx, r.agentJSON)
	case "counters":
		return r.list(ctx, func() error {
			var c struct {
				ID   handle `json:"id"`
				Name string `json:"name"`
			}
			err := r.decode(&c)
			r.counters[c.ID.Handle.String()] = c.Name
			return err
		})
	case "kernel_symbols":
		return r.list(ctx, func() error {
			var k struct {
				ID        json.Number `json:"kernel_id"`
				Name      string      `json:"kernel_name"`
				Formatted string      `json:"formatted_kernel_name"`
				Demangled string      `json:"demangled_kernel_name"`
			}
			err := r.decode(&k)
			r.kernels[r.process+"|"+k.ID.String()] = first(k.Formatted, k.Demangled, k.Name)
			return err
		})
	case "strings":
		return r.strings(ctx)
	case "buffer_records", "callback_records":
		return r.object(ctx, func(domain string) error {
			return r.list(ctx, func() error {
				var e jsonEvent
				if err := r.decode(&e); err != nil {
					return err
				}
				r.rows++
				return r.event(domain, &e)
			})
		})
	}
	return r.skip()
}

func (r *jsonReader) metadata() error {
	var m struct {
		PID     *int64          `json:"pid"`
		Node    json.RawMessage `json:"node"`
		Command []string        `json:"command"`
	}
	if err := r.decode(&m); err != nil {
		return err
	}
	if m.PID != nil {
		r.process = strconv.FormatInt(*m.PID, 10)
	}
	if len(m.Command) > 0 {
		r.run.Command = strings.Join(m.Command, " ")
	}
	var node struct {
		Hostname string `json:"hostname"`
	}
	if json.Unmarshal(m.Node, &node) == nil && node.Hostname != "" { // other versions have no such member
		r.machine.Host = node.Hostname
	}
	return nil
}

func (r *jsonReader) agentJSON() error {
	var a struct {
		ID      handle      `json:"id"`
		Type    json.Number `json:"type"`
		Node    int64       `json:"node_id"`
		Name    string      `json:"name"`
		Product string      `json:"product_name"`
		Model   string      `json:"model_name"`
		CUs     int64       `json:"cu_count"`
	}
	if err := r.decode(&a); err != nil {
		return err
	}
	r.agents[r.process+"|"+a.ID.Handle.String()] = a.Node
	m := &r.machine
	switch {
	case a.Type.String() == "1" && m.CPU == "":
		m.CPU = first(a.Product, a.Name)
	case a.Type.String() == "2" && m.GPU == "":
		m.GPU, m.Arch = first(a.Product, a.Model, a.Name), a.Name
		if a.CUs > 0 {
			m.Units = datasets.Some(a.CUs)
		}
	}
	return nil
}

// strings reads the names of kinds and operations, which events number.
func (r *jsonReader) strings(ctx context.Context) error {
	return r.object(ctx, func(key string) error {
		if key != "buffer_records" && key != "callback_records" {
			return r.skip()
		}
		n := 0
		return r.list(ctx, func() error {
			var k struct {
				Kind       string   `json:"kind"`
				Operations []string `json:"operations"`
			}
			err := r.decode(&k)
			r.names[key+strconv.Itoa(n)] = operations{k.Kind, k.Operations}
			n++
			return err
		})
	})
}

// event reads one record of a domain.
func (r *jsonReader) event(domain string, e *jsonEvent) error {
	info := e.Info
	outer := e
	if e.Data != nil {
		info, e = e.Data.Info, e.Data
	}
	v := &event{}
	l := &v.launch
	if info != nil {
		v.kind = datasets.KindKernel
		if v.name = r.kernels[r.process+"|"+info.Kernel.String()]; v.name == "" && r.emit {
			v.name = "kernel " + info.Kernel.String() // the table of symbols does not have it
		}
		l.ToolID = info.Dispatch.String()
		v.key = r.process + "|" + l.ToolID
		l.Grid, l.Block = info.Grid.dims(), info.Workgroup.dims()
		r.grid = "work-items"
		if node, ok := r.agents[r.process+"|"+info.Agent.Handle.String()]; ok {
			l.Device = datasets.Some(node)
		}
		if q, err := info.Queue.Handle.Int64(); err == nil {
			l.Stream = datasets.Some(q)
		}
		for _, n := range [...]*int64{info.Group, outer.LDS} {
			if n != nil {
				l.Smem = datasets.Some(*n)
			}
		}
		if outer.VGPR != nil {
			l.Regs = datasets.Some(*outer.VGPR)
		}
		for _, c := range []struct {
			name string
			v    *int64
		}{{"private_segment_size", info.Private}, {"sgpr_count", outer.SGPR}} {
			if c.v != nil {
				u, raw := unitOf(c.name)
				v.fixed = append(v.fixed, value{metric: c.name, raw: strconv.FormatInt(*c.v, 10), rawUnit: raw, unit: u.Base, num: datasets.Some(float64(*c.v))})
			}
		}
		if s := e.Correlation.Internal.String(); s != "" {
			v.attrs = append(v.attrs, [2]string{"Correlation_Id", s})
		}
	} else {
		v.kind, v.module, v.name = r.named(domain, e)
		l.ToolID = e.Correlation.Internal.String()
		if e.Bytes != nil {
			v.values = append(v.values, value{metric: "bytes", raw: strconv.FormatInt(*e.Bytes, 10), rawUnit: "byte", unit: "byte", num: datasets.Some(float64(*e.Bytes))})
		}
	}
	if pid, err := strconv.ParseInt(r.process, 10, 64); err == nil {
		l.PID = datasets.Some(pid)
	}
	if t := outer.Thread; t != nil {
		l.Thread = datasets.Some(*t)
	} else if e.Thread != nil {
		l.Thread = datasets.Some(*e.Thread)
	}
	if e.Start != nil && e.End != nil && *e.Start > 0 {
		if *e.End < *e.Start {
			s := r.j.Syntax("the event that ends here ends before it starts")
			s.Expected, s.Found = fmt.Sprintf("at least %d", *e.Start), strconv.FormatInt(*e.End, 10)
			return s
		}
		r.time(v, *e.Start, *e.End)
	}
	for _, c := range outer.Records {
		name := first(r.counters[c.Counter.Handle.String()], "counter "+c.Counter.Handle.String())
		u, raw := unitOf(name)
		counter := value{metric: name, raw: collectors.JSONText(c.Value), rawUnit: raw, unit: u.Base}
		if _, not := collectors.NotFinite(c.Value); !not {
			_, is := c.Value.(json.Number)
			n, err := u.Scale(counter.raw, collectors.Dot)
			if !is || err != nil {
				s := r.j.Syntax("the value of " + name + " in the record that ends here is no number")
				s.Found = collectors.Quote(counter.raw)
				return s
			}
			counter.num = datasets.Some(n)
		}
		v.values = append(v.values, counter)
	}
	if !r.emit {
		v.name = "" // the names are known when all of the file was seen
	} else if v.key != "" {
		if i, ok := r.launches[v.key]; ok && r.texts[r.kernel[i]] == "" {
			r.kernel[i] = r.id32(v.name)
		}
	}
	err := r.add(v)
	var syntax *collectors.SyntaxError
	if errors.As(err, &syntax) && syntax.Line == 0 { // the row's place, which JSON has not
		syntax.Line, syntax.Column = r.j.Place(r.j.InputOffset())
	}
	return err
}

// named returns kind, module and name of an event that is no dispatch.
func (r *jsonReader) named(domain string, e *jsonEvent) (kind, module, name string) {
	number := func(b json.RawMessage) int {
		n, err := strconv.Atoi(string(b))
		if err != nil {
			return -1
		}
		return n
	}
	ops := r.names["buffer_records"+strconv.Itoa(number(e.Kind))]
	module = first(ops.kind, domain)
	if i := number(e.Operation); i >= 0 && i < len(ops.names) {
		name = ops.names[i]
	}
	name = first(e.Name, name, domain+" "+string(e.Operation))
	kind = datasets.KindRange
	if strings.HasSuffix(domain, "_api") && domain != "marker_api" {
		kind = datasets.KindFunction
	}
	return kind, module, name
}
