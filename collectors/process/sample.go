package process

import "time"

// Every calls read at once and then each interval, with the time since start,
// until the function that it returns is called, which calls read once more and
// returns its first error. Calls do not overlap; one that took too long leaves
// out others, so that the times stay a grid.
func Every(start time.Time, interval time.Duration, read func(since time.Duration) error) (stop func() error) {
	quit, result := make(chan struct{}), make(chan error, 1)
	go func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		err := read(time.Since(start))
		for {
			select {
			case <-quit:
				if err == nil {
					err = read(time.Since(start))
				}
				result <- err
				return
			case <-ticks.C:
				if err == nil {
					err = read(time.Since(start))
				}
			}
		}
	}()
	return func() error {
		close(quit)
		return <-result
	}
}
