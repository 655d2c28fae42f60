package rocprof

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// agent reads a row of the table of agents into the machine: the processor,
// and the first GPU. All that it says is kept as attributes.
func (p *parser) agent(row []delimited.Cell) error {
	if !p.emit {
		return nil
	}
	node, typ := p.text(row, "nodeid"), strings.ToUpper(p.text(row, "agenttype"))
	model := p.text(row, "productname")
	if model == "" {
		model = p.text(row, "modelname")
	}
	name := p.text(row, "name")
	m := &p.machine
	switch typ {
	case "CPU":
		if m.CPU == "" {
			m.CPU = first(model, name)
		}
	case "GPU":
		if m.GPU == "" {
			m.GPU, m.Arch = first(model, name), name
			if n, err := strconv.ParseInt(p.text(row, "cucount"), 10, 64); err == nil && n > 0 {
				m.Units = datasets.Some(n)
			}
			if n, err := strconv.ParseFloat(p.text(row, "maxengineclkfcompute"), 64); err == nil && n > 0 {
				m.ClockHz = datasets.Some(n * 1e6) // the driver's megahertz
			}
		} else if name != m.Arch {
			p.once("gpus", row[0].Line, "there are GPUs of several kinds: the machine is recorded with %s, not %s", m.Arch, name)
		}
	default:
		return p.r.Fault(row[p.head.At("agenttype")], "an agent of an unknown type", `"CPU" or "GPU"`)
	}
	for i, c := range row {
		if c.Text == "" || i == p.head.At("nodeid") {
			continue
		}
		if err := p.attribute("agent"+node+"."+p.head.Cells[i].Text, c.Text); err != nil {
			return err
		}
	}
	return nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// agentsPart reads the table of agents that lies beside the input.
func (p *parser) agentsPart(in *collectors.Input) error {
	for _, name := range in.Parts() {
		if !strings.HasSuffix(name, "agent_info.csv") {
			continue
		}
		f, err := in.Part(name)
		if err != nil {
			return err
		}
		err = p.agents(name, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: reading the agents beside it: %w", in.Name, err)
		}
	}
	return nil
}

func (p *parser) agents(name string, r io.Reader) error {
	in, err := collectors.Open(name, r)
	if err != nil {
		return err
	}
	own := *p
	defer func() { *p = own }()
	a := &parser{in: in, out: p.out, r: delimited.New(in), emit: true, warned: p.warned, machine: p.machine, kind: kindAgents}
	for {
		text, err := a.r.Text()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := a.line(text); err != nil {
			return err
		}
	}
	own.machine = a.machine
	return nil
}
