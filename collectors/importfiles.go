package collectors

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"

	"github.com/rooflab/rooflab/datasets"
)

// Files up to smallFile bytes with up to smallRecords records are read into
// memory by several workers and written many at a time: a transaction of its
// own costs more than reading such a file. What is in memory is bounded by
// inFlight, in bytes of files; a file counts as leastFile bytes at least.
const (
	smallFile    = 1 << 20
	smallPacked  = smallFile / 8
	smallRecords = 20_000
	leastFile    = 16 << 10
	inFlight     = 32 << 20
	groupBytes   = inFlight / 2
)

// ImportFiles imports many files, each as a whole or not at all, as ImportFile
// does, and several small ones in one transaction. report is called for every
// file, in the order of the paths, once it is in the store, or is not going to
// be; its error ends the import, as does the end of ctx.
func ImportFiles(ctx context.Context, store *datasets.Store, paths []string, opt Options, report func(Summary, error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	im := &filesImport{ctx: ctx, store: store, opt: opt, report: report,
		queue: make(chan *loaded, 2*inFlight/leastFile), budget: newBudget(inFlight)}
	var workers sync.WaitGroup
	jobs := make(chan *loaded)
	for range max(1, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			opt := opt // a worker's own
			for l := range jobs {
				if f := l.load(ctx, opt); f != nil {
					opt.like = f
				}
				close(l.ready)
			}
		})
	}
	go func() {
		defer close(im.queue)
		defer close(jobs)
		for _, path := range paths {
			l := newLoaded(path)
			if !im.budget.take(ctx, l.weight) {
				return
			}
			im.queue <- l
			jobs <- l
		}
	}()
	err := im.write()
	cancel()
	for l := range im.queue { // let the others end
		im.budget.give(l.weight)
	}
	workers.Wait()
	return err
}

// loaded is a file on its way.
type loaded struct {
	path   string
	weight int64
	ready  chan struct{} // closed when the fields below are there

	sum     Summary
	err     error
	large   bool // it is too large for this road
	profile datasets.Profile
}

func newLoaded(path string) *loaded {
	l := &loaded{path: path, weight: leastFile, ready: make(chan struct{})}
	l.sum.Path = path
	if st, err := os.Stat(path); err == nil {
		if l.large = !st.Mode().IsRegular() || st.Size() > smallFile; !l.large {
			l.weight = max(leastFile, st.Size())
		}
	}
	return l
}

// errLarge ends the parsing of a file that has too many records.
var errLarge = errors.New("too many records")

// shelf keeps a bounded number of records.
type shelf struct{ records []datasets.Record }

func (s *shelf) Put(r datasets.Record) error {
	if len(s.records) == smallRecords {
		return errLarge
	}
	c := datasets.Clone(r)
	if c == nil {
		return errors.New("a record of an unknown kind")
	}
	s.records = append(s.records, c)
	return nil
}

// load parses the file. It returns its format, nil where that is unknown.
func (l *loaded) load(ctx context.Context, opt Options) *Format {
	if l.large || ctx.Err() != nil {
		return nil
	}
	f, err := os.Open(l.path)
	if err != nil {
		l.err = err
		return nil
	}
	defer f.Close()
	in, format, sum, err := recognise(l.path, true, f, opt)
	l.sum = sum
	if err != nil {
		l.err = err
		return nil
	}
	if st, err := f.Stat(); err == nil && in.packed != nil && st.Size() > smallPacked {
		l.large = true
		return &format
	}
	s := &shelf{}
	out := NewOutput(l.path, s)
	err = parse(ctx, format, in, out)
	if len(s.records) == smallRecords {
		l.large = true // whatever the error: this road cannot tell
		return &format
	}
	l.sum.Warnings, l.sum.More = out.Warnings, out.More
	if err != nil {
		l.err = err
		return &format
	}
	sha, n, err := in.Sum()
	if err != nil {
		l.err = err
		return &format
	}
	l.profile = datasets.Profile{Artefact: artefact(l.path, sha, n, format), Parts: in.partSums, Records: s.records}
	return &format
}

// filesImport is the writing side of ImportFiles.
type filesImport struct {
	ctx    context.Context
	store  *datasets.Store
	opt    Options
	report func(Summary, error) error
	queue  chan *loaded
	budget *budget

	group  []*loaded // read and not written
	weight int64
}

func (im *filesImport) write() error {
	for l := range im.queue {
		select {
		case <-l.ready:
		case <-im.ctx.Done():
			im.budget.give(l.weight)
			return im.ctx.Err()
		}
		if !l.large {
			im.group = append(im.group, l)
			if im.weight += l.weight; im.weight < groupBytes {
				continue
			}
		}
		if err := im.flush(); err != nil {
			return err
		}
		if l.large {
			sum, err := ImportFile(im.ctx, im.store, l.path, im.opt)
			im.budget.give(l.weight)
			if err := im.tell(sum, err); err != nil {
				return err
			}
		}
	}
	if err := im.ctx.Err(); err != nil {
		return err
	}
	return im.flush()
}

func (im *filesImport) tell(sum Summary, err error) error {
	if cerr := im.ctx.Err(); cerr != nil {
		return cerr
	}
	return im.report(sum, err)
}

// flush writes the group and reports on its files.
func (im *filesImport) flush() error {
	group := im.group
	im.group, im.weight = nil, 0
	var profiles []datasets.Profile
	for _, l := range group {
		if l.err == nil {
			profiles = append(profiles, l.profile)
		}
	}
	var outcomes []datasets.Outcome
	var failed error
	if len(profiles) > 0 {
		outcomes, failed = im.store.ImportAll(im.ctx, profiles)
	}
	for _, l := range group {
		im.budget.give(l.weight)
		l.profile.Records = nil
		if l.err == nil {
			if l.err = failed; failed == nil {
				o := outcomes[0]
				outcomes = outcomes[1:]
				l.sum.Runs, l.sum.Rows, l.sum.Duplicate, l.err = o.Runs, o.Rows, o.Duplicate, o.Err
			}
		}
		if err := im.tell(l.sum, l.err); err != nil {
			return err
		}
	}
	return nil
}

// budget is a number of bytes that may be in use.
type budget struct {
	mu   sync.Mutex
	left int64
	more chan struct{} // holds a token when bytes came back
}

func newBudget(n int64) *budget { return &budget{left: n, more: make(chan struct{}, 1)} }

// take waits until n bytes are free; false says that ctx ended before.
func (b *budget) take(ctx context.Context, n int64) bool {
	for {
		b.mu.Lock()
		ok := b.left >= n
		if ok {
			b.left -= n
		}
		b.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-b.more:
		case <-ctx.Done():
			return false
		}
	}
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.left += n
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
}
