package host

import (
	"flag"

	"github.com/rooflab/rooflab/kernel/live"
)

// flagSet gives each run of a cell flags of its own, as if it were a program: a
// cell that runs again may define its flags again. Those that earlier cells
// defined come back when the cell parses or looks at flags.
type flagSet struct {
	own     *flag.FlagSet
	base    map[string]*flag.Flag // of packages' initialisation
	earlier map[string]*flag.Flag // of cells that ran
}

func newFlagSet() *flagSet {
	s := &flagSet{own: flag.CommandLine, base: map[string]*flag.Flag{}, earlier: map[string]*flag.Flag{}}
	live.Recall = s.recall
	return s
}

// begin starts a run: only the flags of packages are defined, none is parsed.
func (s *flagSet) begin() {
	s.own.VisitAll(func(f *flag.Flag) {
		if s.earlier[f.Name] == nil { // a package was loaded since
			s.base[f.Name] = f
		}
	})
	// A mistake in %args is an error of the cell that parses them, not the end of
	// the process. The set is emptied in place: libraries may hold it.
	*s.own = *flag.NewFlagSet(s.own.Name(), flag.PanicOnError)
	s.own.Usage = func() { flag.Usage() }
	flag.CommandLine = s.own
	s.add(s.base)
}

// end takes note of the flags that the run has defined.
func (s *flagSet) end() {
	s.own.VisitAll(func(f *flag.Flag) {
		if s.base[f.Name] == nil {
			s.earlier[f.Name] = f
		}
	})
	s.add(s.earlier)
}

func (s *flagSet) recall() { s.add(s.earlier) }

// add defines the flags that the set lacks.
func (s *flagSet) add(flags map[string]*flag.Flag) {
	for name, f := range flags {
		if s.own.Lookup(name) == nil {
			s.own.Var(f.Value, name, f.Usage)
			s.own.Lookup(name).DefValue = f.DefValue
		}
	}
}
