package ncurep

import (
	"fmt"
	"math"
	"strings"
)

// messageTypes are how ncu's other pages write the types of messages.
var messageTypes = []string{"", "INF", "WRN", "ERR", "OPT"}

func messageType(n uint64) string {
	if n < uint64(len(messageTypes)) {
		return messageTypes[n]
	}
	return ""
}

// rule keeps the findings of a rule as attributes, one per message:
// "OPT: Title: text (estimated speedup global 5.77 %)".
func (p *parser) rule(fd field, r *result) error {
	name := ""
	body := []field{}
	err := p.eachIn(fd, "a rule", func(fd field) error {
		switch fd.num {
		case 1:
			return p.text(fd, &name)
		case 3, 5:
			body = append(body, fd)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, fd := range body {
		if fd.num == 5 {
			err = p.marker(fd, r, name)
		} else {
			err = p.eachIn(fd, "a rule's findings", func(fd field) error {
				if fd.num != 1 {
					return nil
				}
				return p.finding(fd, r, name)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) finding(fd field, r *result, name string) error {
	var parts []string
	says, speedup, scope, value := "", "", uint64(0), 0.0
	err := p.eachIn(fd, "a finding", func(fd field) error {
		switch fd.num {
		case 1:
			title, kind := "", uint64(0)
			err := p.eachIn(fd, "a rule's message", func(fd field) error {
				switch fd.num {
				case 1:
					return p.text(fd, &says)
				case 2:
					return p.number(fd, &kind)
				case 4:
					return p.text(fd, &title)
				}
				return nil
			})
			parts = append(parts, messageType(kind), title, says)
			return err
		case 10:
			return p.eachIn(fd, "an estimated speedup", func(fd field) error {
				switch fd.num {
				case 1:
					return p.number(fd, &scope)
				case 2:
					value = math.Float64frombits(fd.u)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || says == "" {
		return err
	}
	if value > 0 {
		speedup = strings.Join(strings.Fields(fmt.Sprintf(" (estimated speedup %s %.4g %%)", [...]string{"", "local", "global"}[min(scope, 2)], value)), " ")
		speedup = " " + speedup
	}
	full := parts[:0]
	for _, s := range parts {
		if s != "" {
			full = append(full, s)
		}
	}
	r.say("rule "+name, strings.Join(full, ": ")+speedup)
	return nil
}

// marker keeps what a rule says of a line or an instruction.
func (p *parser) marker(fd field, r *result, name string) error {
	var kind, line, address, typ uint64
	text, file := "", ""
	err := p.eachIn(fd, "a rule's marker", func(fd field) error {
		switch fd.num {
		case 1:
			return p.number(fd, &kind)
		case 2:
			return p.number(fd, &line)
		case 3:
			return p.number(fd, &address)
		case 4:
			return p.text(fd, &text)
		case 5:
			return p.number(fd, &typ)
		case 6:
			return p.text(fd, &file)
		}
		return nil
	})
	place := ""
	switch {
	case file != "":
		place = fmt.Sprintf("%s:%d", file, line)
	case address != 0:
		if fn, offset, ok := r.locate(address); ok {
			place = fmt.Sprintf("0x%04x", offset)
			if fn != r.mangled {
				place = fn + "+" + place
			}
		}
	}
	if t := messageType(typ); t != "" {
		text = t + ": " + text
	}
	if place != "" {
		text = place + ": " + text
	}
	r.say("rule "+name+" marker", text)
	return err
}

// nvtx keeps the ranges that a launch was in, outermost first.
func (p *parser) nvtx(fd field, r *result) error {
	domains := map[uint64]string{}
	type found struct {
		domain uint64
		names  []string
	}
	var stacks []found
	named := func(fd field, nameAt int32) (string, error) {
		name := ""
		err := p.eachIn(fd, "an NVTX range", func(fd field) error {
			if int32(fd.num) == nameAt {
				return p.text(fd, &name)
			}
			return nil
		})
		return name, err
	}
	domain := func(fd field, nameAt int32) error {
		f := found{}
		err := p.eachIn(fd, "an NVTX domain", func(fd field) error {
			switch fd.num {
			case 1:
				return p.number(fd, &f.domain)
			case 3:
				name, err := named(fd, nameAt)
				f.names = append(f.names, name)
				return err
			}
			return nil
		})
		stacks = append(stacks, f)
		return err
	}
	err := p.eachIn(fd, "the state of NVTX", func(fd field) error {
		switch fd.num {
		case 1:
			id, name := uint64(0), ""
			err := p.eachIn(fd, "an NVTX domain", func(fd field) error {
				switch fd.num {
				case 1:
					return p.number(fd, &id)
				case 2:
					return p.text(fd, &name)
				}
				return nil
			})
			domains[id] = name
			return err
		case 2:
			return p.eachIn(fd, "a thread's NVTX ranges", func(fd field) error {
				if fd.num != 2 {
					return nil
				}
				return domain(fd, 1)
			})
		case 3:
			return domain(fd, 2)
		}
		return nil
	})
	for _, f := range stacks {
		if len(f.names) > 0 {
			r.say(strings.TrimSpace("NVTX "+domains[f.domain]), strings.Join(f.names, "/"))
		}
	}
	return err
}

// stack keeps a call stack of the host, innermost first, a line per frame.
func (p *parser) stack(fd field, r *result, name string) error {
	var frames []string
	err := p.eachIn(fd, "a call stack", func(fd field) error {
		if fd.num != 1 {
			return nil
		}
		module, file, fn, pc, line := "", "", "", uint64(0), uint64(0)
		err := p.eachIn(fd, "a frame of a call stack", func(fd field) error {
			switch fd.num {
			case 1:
				return p.text(fd, &module)
			case 2:
				return p.number(fd, &pc)
			case 3:
				return p.text(fd, &file)
			case 4:
				return p.text(fd, &fn)
			case 5:
				return p.number(fd, &line)
			}
			return nil
		})
		frame := fn
		if fn == "" {
			frame = fmt.Sprintf("%s+0x%x", module, pc)
		}
		if file != "" {
			frame += fmt.Sprintf(" (%s:%d)", file, line)
		}
		frames = append(frames, frame)
		return err
	})
	r.say(name, strings.Join(frames, "\n"))
	return err
}
