package datasets

import (
	"fmt"
	"sync/atomic"
)

// batch holds copies of records on their way to the engine, by table, ids
// moved already. It exists so that whoever parses need not wait for the engine.
type batch struct {
	n          int
	regions    []Region
	launches   []Launch
	counters   []Counter
	codes      []Code
	features   []StaticFeature
	samples    []PCSample
	telemetry  []Telemetry
	attributes []Attribute
}

// batchSize is how many records go to the engine together: DuckDB takes 2048
// rows at a time.
const batchSize = 8192

// add copies a record, moving its ids.
func (b *batch) add(r Record, ids *bases) error {
	switch v := r.(type) {
	case *Counter:
		b.counters = append(b.counters, *v)
		c := &b.counters[len(b.counters)-1]
		c.Run, c.Region, c.Launch = c.Run+ids.run, c.Region+ids.region, moved(c.Launch, ids.launch)
	case *Launch:
		b.launches = append(b.launches, *v)
		c := &b.launches[len(b.launches)-1]
		c.ID, c.Run, c.Region = c.ID+ids.launch, c.Run+ids.run, c.Region+ids.region
	case *PCSample:
		b.samples = append(b.samples, *v)
		c := &b.samples[len(b.samples)-1]
		c.Run, c.Launch, c.Code = c.Run+ids.run, c.Launch+ids.launch, c.Code+ids.code
	case *Attribute:
		b.attributes = append(b.attributes, *v)
		c := &b.attributes[len(b.attributes)-1]
		c.Run, c.Region, c.Launch = c.Run+ids.run, moved(c.Region, ids.region), moved(c.Launch, ids.launch)
	case *Region:
		b.regions = append(b.regions, *v)
		c := &b.regions[len(b.regions)-1]
		c.ID, c.Run, c.Parent = c.ID+ids.region, c.Run+ids.run, moved(c.Parent, ids.region)
	case *Telemetry:
		b.telemetry = append(b.telemetry, *v)
		b.telemetry[len(b.telemetry)-1].Run += ids.run
	case *Code:
		b.codes = append(b.codes, *v)
		c := &b.codes[len(b.codes)-1]
		c.ID, c.Run, c.Region = c.ID+ids.code, c.Run+ids.run, c.Region+ids.region
	case *StaticFeature:
		b.features = append(b.features, *v)
		c := &b.features[len(b.features)-1]
		c.Run, c.Region = c.Run+ids.run, c.Region+ids.region
	default:
		return fmt.Errorf("a record of table %s cannot be imported", r.Table())
	}
	b.n++
	return nil
}

// write hands the records to the engine and empties the batch.
func (b *batch) write(tx Tx, names *metricSeries) error {
	var row [24]Value
	for _, err := range []error{
		appendAll(tx, b.regions, row[:0]), appendAll(tx, b.launches, row[:0]), names.append(tx, b.counters),
		appendAll(tx, b.codes, row[:0]), appendAll(tx, b.features, row[:0]), appendAll(tx, b.samples, row[:0]),
		appendAll(tx, b.telemetry, row[:0]), appendAll(tx, b.attributes, row[:0]),
	} {
		if err != nil {
			return err
		}
	}
	*b = batch{regions: b.regions[:0], launches: b.launches[:0], counters: b.counters[:0], codes: b.codes[:0],
		features: b.features[:0], samples: b.samples[:0], telemetry: b.telemetry[:0], attributes: b.attributes[:0]}
	return nil
}

func appendAll[T any, P interface {
	*T
	Record
	row(dst []Value) []Value
}](tx Tx, records []T, row []Value) error {
	for i := range records {
		r := P(&records[i])
		row = r.row(row[:0])
		if err := tx.Append(r.Table(), row); err != nil {
			return fmt.Errorf("adding a row to table %s: %w", r.Table(), err)
		}
	}
	return nil
}

// queue takes records to a transaction. What fits into one batch is written
// when the queue ends; with more, a goroutine writes full batches while the
// next one is filled.
type queue struct {
	tx      Tx
	names   metricSeries
	cur     *batch
	full    chan *batch // nil while there is no goroutine
	free    chan *batch
	done    chan error
	failed  atomic.Bool // the goroutine has an error: more records are pointless
	ended   bool
	batches int
}

// maxBatches bounds what is on its way: one is filled, one is written, one
// waits.
const maxBatches = 3

func (q *queue) put(r Record, ids *bases) error {
	if q.cur == nil {
		q.cur = q.next()
	}
	if err := q.cur.add(r, ids); err != nil {
		return err
	}
	if q.cur.n < batchSize {
		return nil
	}
	if q.full == nil {
		q.full, q.free, q.done = make(chan *batch, maxBatches), make(chan *batch, maxBatches), make(chan error, 1)
		go q.write()
	}
	if q.failed.Load() {
		return q.end()
	}
	q.full <- q.cur
	q.cur = nil
	return nil
}

func (q *queue) next() *batch {
	if q.batches < maxBatches {
		select {
		case b := <-q.free:
			return b
		default:
			q.batches++
			return &batch{}
		}
	}
	return <-q.free
}

// write is the goroutine. After an error it takes batches without writing
// them, so that nobody waits for it.
func (q *queue) write() {
	var err error
	for b := range q.full {
		if err == nil {
			if err = b.write(q.tx, &q.names); err != nil {
				q.failed.Store(true)
			}
		}
		q.free <- b
	}
	q.done <- err
}

// end writes what is left and stops the goroutine: the transaction is the
// caller's again. It returns the first error of writing.
func (q *queue) end() error {
	if q.ended {
		return nil
	}
	q.ended = true
	if q.full == nil {
		if q.cur == nil {
			return nil
		}
		return q.cur.write(q.tx, &q.names)
	}
	if q.cur != nil {
		q.full <- q.cur
	}
	close(q.full)
	return <-q.done
}

// drop stops the goroutine without writing what is left.
func (q *queue) drop() {
	q.cur = nil
	_ = q.end() // the transaction is rolled back, whatever the error
}
