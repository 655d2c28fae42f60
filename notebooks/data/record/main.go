// Command record measures rooflab's own kernels on this machine and writes the
// profiles that the notebooks use where there are no others. It takes about
// a minute and 1.5 GB of memory; a quiet machine gives better numbers.
//
//	GOEXPERIMENT=simd go run ./notebooks/data/record -o notebooks/data
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/rooflab/rooflab/notebooks/kernels"
)

func main() {
	dir := flag.String("o", ".", "`folder` to write the profiles to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := record(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(ctx context.Context, dir string) error {
	for _, p := range []struct {
		name    string
		measure func(context.Context) ([]kernels.Sample, error)
	}{{"ceilings", kernels.Ceilings}, {"large", kernels.Large}, {"sweep", kernels.Sweep}} {
		samples, err := p.measure(ctx)
		if err != nil {
			return err
		}
		for _, s := range samples {
			fmt.Println(p.name, s)
		}
		if err := write(filepath.Join(dir, p.name+".cali"), samples); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, samples []kernels.Sample) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := kernels.Write(f, samples); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}
