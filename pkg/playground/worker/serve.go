package worker

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/faultline/faultline/pkg/playground"
)

// The memory of a process. A process that has more than releasedMemory after an answer returns what it does not need to the system; one that
// has more than keptMemory ends. One that has more than maxMemory during an answer ends at once.
const (
	releasedMemory = 512 << 20
	keptMemory     = 1536 << 20
	maxMemory      = 4 << 30
)

// exitMemory is the exit code of a process that took too much memory.
const exitMemory = 77

// Serve answers the requests that it reads, one at a time, until the input ends. The program of the process calls it.
func Serve(engine *playground.Engine, in io.Reader, out io.Writer) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(maxMemory * 3 / 4) // the collector works harder before the process has to end
	}
	go func() {
		for range time.Tick(time.Second / 4) {
			if usedMemory() > maxMemory {
				os.Exit(exitMemory)
			}
		}
	}()
	reader, writer := gob.NewDecoder(in), gob.NewEncoder(out)
	cancel, number := func() {}, 0
	for {
		var next request
		switch err := reader.Decode(&next); {
		case errors.Is(err, io.EOF): // the server has ended
			return nil
		case err != nil:
			return err
		case next.Method == "":
			if next.Number == number {
				cancel()
			}
			continue
		}
		var ctx context.Context
		number = next.Number
		ctx, cancel = context.WithCancel(context.Background())
		go func() {
			defer cancel()
			answer := engine.Answer(ctx, next.Method, next.Body)
			used := usedMemory()
			if err := writer.Encode(response{Body: answer, Last: used > keptMemory}); err != nil || used > keptMemory {
				os.Exit(0) // the server has ended, or starts another process
			}
			if used > releasedMemory {
				debug.FreeOSMemory()
			}
		}()
	}
}

// usedMemory returns the bytes that the process has from the system.
func usedMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
