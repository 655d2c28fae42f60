// Command rooflab-nvml reads the sensors of NVIDIA's GPUs for the collector
// nvml, with NVIDIA's own binding of the driver's library. It is a program of
// its own for two reasons: the binding leaves its symbols to the first call,
// whereas a program that loads plugins binds all at its start and would not
// run where there is no driver; and a library that crashes takes a small
// program with it instead of a session.
//
//	rooflab-nvml describe [--gpu 0,1]
//	rooflab-nvml sample [--gpu 0,1] [--rate 50] [--wait]
//
// describe writes what there is. sample writes the same and then readings,
// until its input ends or says "stop"; with --wait it begins at "start".
// Package sensors is the form of both. What is missing is part of the answer;
// the exit status is 0 then, too.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rooflab/rooflab/collectors/nvml/sensors"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rooflab-nvml:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, w io.Writer) error {
	if len(args) == 0 || args[0] != "describe" && args[0] != "sample" {
		return fmt.Errorf("expected describe or sample")
	}
	fs := flag.NewFlagSet("rooflab-nvml "+args[0], flag.ContinueOnError)
	choice := fs.String("gpu", "", "the GPUs, by number: 0,1; empty is all")
	rate := fs.Float64("rate", 50, "readings per second, 100 at most")
	wait := fs.Bool("wait", false, "begin at the word start")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	if !(*rate > 0 && *rate <= 100) {
		return fmt.Errorf("--rate %g: expected more than 0 and 100 at most", *rate)
	}
	var which []int
	for _, f := range strings.FieldsFunc(*choice, func(r rune) bool { return r == ',' }) {
		i, err := strconv.Atoi(f)
		if err != nil {
			return fmt.Errorf("--gpu %s: expected numbers, separated by commas", *choice)
		}
		which = append(which, i)
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	lib, hello := open()
	defer lib.close()
	var gpus []*gpu
	if hello.Missing == nil {
		gpus = lib.describe(&hello, which)
	}
	if err := enc.Encode(hello); err != nil {
		return err
	}
	if err := out.Flush(); err != nil || args[0] == "describe" || len(gpus) == 0 {
		return err
	}
	return sample(gpus, time.Duration(float64(time.Second) / *rate), listen(in), *wait, func(rs []sensors.Reading) error {
		for i := range rs {
			if err := enc.Encode(&rs[i]); err != nil {
				return err
			}
		}
		return out.Flush() // of one time together: a write for each would disturb more
	})
}

// listen passes on the words of the input; the channel is closed at its end,
// at "stop", and when the program is told to end.
func listen(in io.Reader) <-chan string {
	words, ended := make(chan string), make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	lines := make(chan string)
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(in); s.Scan() && s.Text() != sensors.Stop; {
			lines <- s.Text()
		}
	}()
	go func() {
		defer close(words)
		for {
			select {
			case <-signals:
				return
			case <-ended:
				return
			case l := <-lines:
				words <- l
			}
		}
	}()
	return words
}

// sample reads the GPUs at once, then each interval, and once more at the end.
// A reading that took too long leaves out others, so that the times stay a grid.
func sample(gpus []*gpu, interval time.Duration, words <-chan string, wait bool, emit func([]sensors.Reading) error) error {
	for wait {
		w, ok := <-words
		if !ok {
			return nil
		}
		wait = w != sensors.Start
	}
	read := func(end bool) error {
		rs := make([]sensors.Reading, len(gpus))
		for i, g := range gpus {
			rs[i] = sensors.Reading{T: now(), GPU: i, Values: g.read()}
		}
		rs[len(rs)-1].End = end
		return emit(rs)
	}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	if err := read(false); err != nil {
		return err
	}
	for {
		select {
		case _, ok := <-words:
			if !ok {
				return read(true)
			}
		case <-ticks.C:
			if err := read(false); err != nil {
				return err
			}
		}
	}
}

func now() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0 // it has no reason to fail
	}
	return t.Nano()
}
