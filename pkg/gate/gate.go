// Package gate runs many scenarios at once, and judges each by what it expects.
package gate

import (
	"context"
	"time"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Case is a scenario to be tested. All of a set are loaded before any is run: the process has their feature gates while they are read.
type Case struct {
	Scenario *scenario.Scenario
	// Golden is what its placements are compared with, and GoldenFile the file that it is from; nil for nothing.
	Golden     *expect.Golden
	GoldenFile string
}

// Outcome is the result of a case with the judged expectations of each step, or why there is none.
type Outcome struct {
	Result *simulation.Result
	Judged [][]expect.Expectation
	Err    error
	// Took is how long it took to run and to judge, on the caller's clock.
	Took time.Duration
}

// Counts are the number of expectations, and of those that are not met.
func (o *Outcome) Counts() (all, unmet int) {
	for _, step := range o.Judged {
		for _, e := range step {
			if all++; !e.Met {
				unmet++
			}
		}
	}
	return all, unmet
}

// Test runs and judges the cases, on all cores. Outcomes are in the order of the cases. Now is a clock, which may be called from several
// goroutines. Progress, if set, is called before and after each, with the case that was begun last and how many are done; it is never called
// twice at a time.
//
// Feature gates are the process's: cases that switch the same gates run side by side, and different sets one after the other, in
// the order in which they first occur.
func Test(ctx context.Context, cases []Case, now func() time.Time, progress func(last, done int)) []Outcome {
	outcomes := make([]Outcome, len(cases))
	finished := 0
	for _, group := range byGates(cases) {
		opts := parallel.Options{}
		if progress != nil {
			opts.Progress = func(last, done int) { progress(group[last], finished+done) }
		}
		err := parallel.Each(ctx, len(group), opts, func(ctx context.Context, _, i int) error {
			start := now()
			outcomes[group[i]] = cases[group[i]].run(ctx)
			outcomes[group[i]].Took = now().Sub(start)
			return nil
		})
		for _, i := range group {
			if err != nil && outcomes[i].Result == nil && outcomes[i].Err == nil {
				outcomes[i].Err = err // it was not begun
			}
		}
		finished += len(group)
	}
	return outcomes
}

// byGates are the positions of the cases, together where they switch the same gates.
func byGates(cases []Case) [][]int {
	var groups [][]int
	at := map[string]int{}
	for i := range cases {
		gates := cases[i].Scenario.Config.FeatureGates()
		group, found := at[gates]
		if !found {
			group = len(groups)
			at[gates] = group
			groups = append(groups, nil)
		}
		groups[group] = append(groups[group], i)
	}
	return groups
}

func (c *Case) run(ctx context.Context) Outcome {
	result, err := simulation.Run(ctx, c.Scenario, simulation.Options{})
	if err != nil {
		return Outcome{Err: err}
	}
	judged, err := expect.Judge(ctx, result, nil)
	if err != nil {
		return Outcome{Err: err}
	}
	if c.Golden != nil {
		for i, e := range c.Golden.Judge(result, c.GoldenFile) {
			judged[i] = append(judged[i], e)
		}
	}
	return Outcome{Result: result, Judged: judged}
}
