// Package gate tells whether scenarios do what is expected of them.
//
//	Scenario ─ simulation.Run ─▶ Result, judged by what each step alone tells   (pending, domains, nodes, rollouts)
//	         ─ Judge ──────────▶ Result, judged by what failures would take     (failures.go) and by findings
//	         ─ Golden.Judge ───▶ Result, compared with the placements of a file (golden.go)
//	many     ─ Test ───────────▶ []Outcome, on all cores                        (test.go)
package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Run carries out a scenario and judges everything that it expects.
func Run(ctx context.Context, s *scenario.Scenario, opts simulation.Options) (*simulation.Result, error) {
	result, err := simulation.Run(ctx, s, opts)
	if err != nil {
		return nil, err
	}
	return result, Judge(ctx, result, nil)
}

// Judge adds to the steps' expectations those that take more than the step to judge: failures, which are looked at in the cluster
// after the step, and findings. Progress, if set, is told how many recoveries of a step's failures are done, and of how many.
func Judge(ctx context.Context, result *simulation.Result, progress func(step string, done, total int)) error {
	var found []report.Finding
	if expectsFindings(result.Scenario) {
		found = run.New(result, "").Findings()
	}
	for i := range result.Steps {
		step := &result.Steps[i]
		f := &failures{scenario: result.Scenario, step: step, progress: progress, looked: map[look]*looked{}}
		judge := func(expect *scenario.Expect, always bool) error {
			if expect == nil {
				return nil
			}
			for at := range expect.Failures {
				judged, err := f.judge(ctx, &expect.Failures[at])
				if err != nil {
					return fmt.Errorf("step %q: failures of level %s: %w", step.Name, expect.Failures[at].Level, err)
				}
				for _, e := range judged {
					e.Field, e.Always = slices.Concat([]any{"failures", at}, e.Field), always
					step.Expectations = append(step.Expectations, e)
				}
			}
			if expect.Findings != nil {
				e := judgeFindings(*expect.Findings, found, step.Name)
				e.Always = always
				step.Expectations = append(step.Expectations, e)
			}
			return nil
		}
		if err := judge(own(result.Scenario, step.Name), false); err != nil {
			return err
		}
		if err := judge(result.Scenario.Expect, true); err != nil {
			return err
		}
	}
	return nil
}

// own is what the scenario expects of the step alone.
func own(s *scenario.Scenario, step string) *scenario.Expect {
	i := slices.IndexFunc(s.Steps, func(loaded scenario.LoadedStep) bool { return loaded.Name == step })
	if i < 0 {
		return nil
	}
	return s.Steps[i].Expect
}

func expectsFindings(s *scenario.Scenario) bool {
	return s.Expect != nil && s.Expect.Findings != nil ||
		slices.ContainsFunc(s.Steps, func(step scenario.LoadedStep) bool { return step.Expect != nil && step.Expect.Findings != nil })
}

func judgeFindings(most int, found []report.Finding, step string) simulation.Expectation {
	var lines []string
	for _, f := range found {
		if f.Step == step && f.ID != report.ExpectationNotMet {
			lines = append(lines, f.ID+": "+strings.TrimSuffix(f.Message, "."))
		}
	}
	e := simulation.Expectation{Want: atMost(most, "finding"), Got: fmt.Sprint(len(lines)), Met: len(lines) <= most, Field: []any{"findings"}}
	if !e.Met {
		e.Why = few(lines, "; ")
	}
	return e
}

// atMost is "no pod", "at most 1 pod" or "at most 2 pods".
func atMost(n int, noun string) string {
	if n == 0 {
		return "no " + noun
	}
	return "at most " + count(n, noun)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// few joins some of the words, and counts the others.
func few(words []string, by string) string {
	const most = 6
	if len(words) <= most {
		return strings.Join(words, by)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], by), len(words)-most)
}
