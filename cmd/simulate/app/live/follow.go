package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	askverify "github.com/faultline/faultline/pkg/ask/verify"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/recording"
	"github.com/faultline/faultline/pkg/scenario"
)

// follower judges placements as they happen, and prints them on standard error.
type follower struct {
	*command.Call
	*askverify.Follower
}

func (f follower) printPlacements(ctx context.Context) error {
	placements, err := f.Judge(ctx)
	f.Bar.Clear()
	for i := range placements {
		fmt.Fprintln(f.Err, manifest.Clean(placements[i].Line()))
	}
	return err
}

// verifyRecording verifies the placements of a recording.
func verifyRecording(c *command.Call, loaded *scenario.Scenario, file string, data []byte) (*askverify.Result, error) {
	events, err := recording.Read(file, bytes.NewReader(data))
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	f := follower{c, askverify.NewFollower(loaded, "recording")}
	count := c.Bar.Counts("events")
	for i, e := range events {
		count(file, i, len(events))
		if f.Due(e.Time) {
			if err := f.printPlacements(c.Context()); err != nil {
				return f.partialResult(err, fmt.Sprintf("interrupted after %d of %d events", i, len(events)))
			}
		}
		if err := f.Observe(file, e); err != nil {
			return nil, exit.InvalidInput(err)
		}
	}
	if err := f.printPlacements(c.Context()); err != nil {
		return f.partialResult(err, "interrupted in its last events")
	}
	return f.Result()
}

// partialResult returns the placements that were judged, if the error is an interruption.
func (f follower) partialResult(err error, how string) (*askverify.Result, error) {
	if !exit.Interrupted(err) {
		return nil, err
	}
	result, none := f.Result()
	if none != nil {
		return nil, err
	}
	result.Partial = how
	return result, err
}

// verifyLive judges the placements of a live cluster for some time from now on, and records its events.
func verifyLive(c *command.Call, connection *input.Connection, loaded *scenario.Scenario, length time.Duration, record string) (result *askverify.Result, err error) {
	dump, err := connection.Read(c.Command, c.Bar)
	if err != nil {
		return nil, err
	}
	client, err := connection.Client(c.Command)
	if err != nil {
		return nil, err
	}
	to := io.Discard
	if record != "" {
		file, err := os.Create(record)
		if err != nil {
			return nil, fmt.Errorf("--record: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		to = file
	}
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	changes, err := client.Watch(ctx, dump)
	if err != nil {
		return nil, err
	}
	c.Bar.Clear()
	fmt.Fprintf(c.Err, "watching %s for %s; interrupt to end it sooner\n", manifest.Clean(dump.Name), length)
	f, lines := follower{c, askverify.NewFollower(loaded, "watched events")}, recording.NewWriter(to)
	end, tick := time.After(length), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case change := <-changes:
			if err := change.Err; err != nil {
				return nil, err
			}
			if err := errors.Join(lines.Write(change.Event), f.Observe(dump.Name, change.Event)); err != nil {
				return nil, err
			}
		case now := <-tick.C:
			if f.Due(now) && len(changes) == 0 {
				if err := f.printPlacements(ctx); err != nil && ctx.Err() == nil {
					return nil, err
				}
			}
		case <-end:
			if err := f.printPlacements(ctx); err != nil {
				return nil, err
			}
			return f.Result()
		case <-c.Context().Done():
			stopped := context.Cause(c.Context())
			if err := f.printPlacements(context.WithoutCancel(ctx)); err != nil {
				return nil, errors.Join(stopped, err)
			}
			return f.partialResult(c.Context().Err(), "interrupted before the time was over")
		}
	}
}
