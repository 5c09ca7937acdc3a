// Package gate runs many scenarios at once, and judges the expectations of each.
package gate

import (
	"context"
	"time"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Case is a scenario to test. Load all cases before you run any, because loading one sets the process's feature gates.
type Case struct {
	Scenario *scenario.Scenario
	// Golden has the placements to compare with, or is nil. GoldenFile is the file of Golden.
	Golden     *expect.Golden
	GoldenFile string
}

// Outcome is the result of a case with the judged expectations of each step, or the error that prevented the result.
type Outcome struct {
	Result *simulation.Result
	Judged [][]expect.Judged
	Err    error
	// Took is how long running and judging took, by the caller's clock.
	Took time.Duration
}

// Counts returns the number of expectations, and the number of unmet ones.
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

// Test runs and judges the cases, on all cores. Outcomes are in the order of the cases. Now is a clock; several goroutines may call it.
// Progress, if set, is called before and after each case with the case begun last and the number of finished cases. Calls never overlap.
//
// Releases with their feature gates are global to the process. So cases of one release run in parallel, and different releases one after
// the other, in the order in which they first occur.
func Test(ctx context.Context, cases []Case, now func() time.Time, progress func(last, done int)) []Outcome {
	outcomes := make([]Outcome, len(cases))
	finished := 0
	for _, group := range groupByRelease(cases) {
		opts := parallel.Options{}
		if progress != nil {
			opts.Progress = func(last, done int) { progress(group[last], finished+done) }
		}
		err := parallel.Each(ctx, len(group), opts, func(ctx context.Context, _, i int) error {
			start := now()
			outcomes[group[i]] = cases[group[i]].runAndJudge(ctx)
			outcomes[group[i]].Took = now().Sub(start)
			return nil
		})
		for _, i := range group {
			if err != nil && outcomes[i].Result == nil && outcomes[i].Err == nil {
				outcomes[i].Err = err // the case was not started
			}
		}
		finished += len(group)
	}
	return outcomes
}

// groupByRelease groups the indexes of the cases by their releases.
func groupByRelease(cases []Case) [][]int {
	var groups [][]int
	at := map[sched.Release]int{}
	for i := range cases {
		release := cases[i].Scenario.Config.Release()
		group, found := at[release]
		if !found {
			group = len(groups)
			at[release] = group
			groups = append(groups, nil)
		}
		groups[group] = append(groups[group], i)
	}
	return groups
}

// runAndJudge runs and judges one case.
func (c *Case) runAndJudge(ctx context.Context) Outcome {
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
