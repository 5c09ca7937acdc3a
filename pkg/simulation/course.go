package simulation

import (
	"context"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Course is a run that continues after the last step of its scenario, with steps that may depend on the results of earlier ones. A run of
// the scenario with all these steps has the same result, and also says how far rollouts are after each step.
type Course struct {
	Result
	// Did are the steps after the scenario's own.
	Did []scenario.Step

	run        *run
	knownSteps int // number of the scenario's own steps
}

// Continue continues a run in a world that was built for its scenario. It leaves the known result as it is. Of the options, Progress, Record
// and Moved take effect.
func Continue(w world.World, known *Result, opts Options) (*Course, error) {
	c := &Course{Result: *known, run: &run{World: w, scenario: known.Scenario, opts: opts, brief: true}, knownSteps: len(known.Steps)}
	return c, c.Rewind(0)
}

// NewCourse continues a run in a new world of its scenario, which Close ends.
func NewCourse(known *Result) (*Course, error) {
	w, err := NewWorld(known.Scenario)
	if err != nil {
		return nil, err
	}
	c, err := Continue(w, known, Options{})
	if err != nil {
		w.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the course's world.
func (c *Course) Close() { c.run.World.Close() }

// Do carries out a step. If the step fails, the course stays as it is.
func (c *Course) Do(ctx context.Context, step scenario.Step) (*Step, error) {
	return c.DoLoaded(ctx, scenario.LoadedStep{Step: step})
}

// DoLoaded does what Do does, for a step with the objects that it applies.
func (c *Course) DoLoaded(ctx context.Context, step scenario.LoadedStep) (*Step, error) {
	if _, err := c.run.runStep(ctx, c.State(), &step, &c.Result); err != nil {
		return nil, err
	}
	c.Did = append(c.Did, step.Step)
	return c.Last(), nil
}

// Rewind takes the course back to its first did steps after the scenario's own.
func (c *Course) Rewind(did int) error {
	n := c.knownSteps + did
	c.Did, c.Steps = c.Did[:did:did], c.Steps[:n:n]
	c.run.Reset()
	return c.run.Resume(c.position())
}
