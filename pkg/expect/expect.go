// Package expect judges facts. Steps and reports only hold facts; this package alone decides whether they meet a scenario's expectations,
// deserve a finding, or are worse than before.
//
//	simulation.Result ─ Judge ────────▶ []Judged of each step   (step.go, peak.go, failures.go, finding.go)
//	                  ─ Answers ──────▶ what is right after a step    (question.go)
//	                  ─ Golden.Judge ─▶ Judged of each step     (golden.go: the placements of a file)
//	Facts             ─ Findings ─────▶ []Finding                    (finding.go)
//	Comparison        ─ Verdict ──────▶ Verdict                      (verdict.go)
//
// It comes after pkg/ask in the order of packages, since pkg/ask/blast finds what a failure takes, and pkg/ask/peak what the peak of the load
// leaves without a node. It comes before pkg/report, which shows what is judged here.
package expect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Judged is an expectation of a scenario about a step, with what was found.
type Judged struct {
	// Want is the expectation in words, and Got is what was found.
	Want string `json:"want"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
	// Why explains an unmet expectation in one line, with the pods concerned and kube-scheduler's messages. It is empty if nothing is known
	// besides Got.
	Why string `json:"why,omitempty"`
	// Source is the place of the expectation; missing if no file has it.
	Source *manifest.Place `json:"source,omitempty"`
}

// String returns, for example, "want 0 pods Pending, got 1".
func (e Judged) String() string { return fmt.Sprintf("want %s, got %s", e.Want, e.Got) }

// Unmet returns the expectations that are not met.
func Unmet(all []Judged) []Judged {
	return list.Without(all, func(e Judged) bool { return e.Met })
}

// Judge returns the judged expectations of each step: first the step's own, then the scenario's for every step; and in both, first the
// expectations that the step itself shows, then those about failures and findings. Progress, if set, is called after each recovery from a
// step's failures with the number of recoveries and their total.
func Judge(ctx context.Context, result *simulation.Result, progress func(what string, done, total int)) ([][]Judged, error) {
	judged := make([][]Judged, len(result.Steps))
	for i, spec := range simulation.StepsOf(result.Scenario)[:len(result.Steps)] {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		step := &result.Steps[i]
		var judges []*stepJudge
		for _, j := range []stepJudge{{Expect: spec.Expect, source: spec.Expects.Source()}, {Expect: result.Scenario.Expect, source: result.Scenario.Expects.Source()}} {
			if j.Expect != nil {
				j.judged = &judged[i]
				judges = append(judges, &j)
			}
		}
		for _, j := range judges {
			j.judgeStep(step)
			j.judgePods(step, func(since string) *cluster.State { return stateBefore(result, i, since) })
		}
		f := &stepFailures{scenario: result.Scenario, step: step, progress: progress, analyses: map[failureSet]*failureAnalysis{}}
		for _, j := range judges {
			if err := cmp.Or(j.judgePeak(ctx, result, i, progress), j.judgeFailures(ctx, f)); err != nil {
				return nil, fmt.Errorf("step %q: %w", step.Name, err)
			}
			if j.Findings != nil {
				j.appendJudged(judgeFindings(*j.Findings, newFacts(step)), "findings")
			}
		}
	}
	return judged, nil
}

// stateBefore returns the cluster after the step named since or, if since is empty, before the step with that index.
func stateBefore(result *simulation.Result, at int, since string) *cluster.State {
	i := at - 1
	if since != "" {
		i = slices.IndexFunc(result.Steps[:at], func(step simulation.Step) bool { return step.Name == since })
	}
	if i < 0 {
		return result.Initial
	}
	return result.Steps[i].State
}

// stepJudge judges the expectations of one place in the scenario, after one step.
type stepJudge struct {
	*scenario.Expect
	source func(field ...any) manifest.Source // nil if no file has the expectations
	judged *[]Judged
}

// appendJudged appends the expectation of the field.
func (j *stepJudge) appendJudged(e Judged, field ...any) {
	if e.Met {
		e.Why = ""
	}
	if j.source != nil {
		e.Source = j.source(field...).Place()
	}
	*j.judged = append(*j.judged, e)
}

func judgeFindings(most int, facts *Facts) Judged {
	lines := list.Map(facts.Findings(), func(f Finding) string { return f.ID + ": " + strings.TrimSuffix(f.Message, ".") })
	return Judged{Want: phraseAtMost(most, "finding"), Got: fmt.Sprint(len(lines)), Met: len(lines) <= most, Why: joinSome(lines, "; ")}
}

// phraseAtMost returns "no pod", "at most 1 pod" or "at most 2 pods".
func phraseAtMost(n int, noun string) string {
	if n == 0 {
		return "no " + noun
	}
	return "at most " + words.Count(n, noun)
}

// joinSome joins the first few of the words, and counts the others.
func joinSome(words []string, by string) string {
	const most = 6
	if len(words) <= most {
		return strings.Join(words, by)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], by), len(words)-most)
}
