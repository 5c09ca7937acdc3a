package expect

import (
	"cmp"
	"context"
	"fmt"

	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// judgePeak runs the peak after the step with that index, loses each domain of the level then, and compares the worst with the bound.
func (j *stepJudge) judgePeak(ctx context.Context, result *simulation.Result, at int, progress func(what string, done, total int)) error {
	if j.Peak == nil {
		return nil
	}
	base, nodes := *result, result.Steps[at].State.Nodes
	base.Steps = result.Steps[: at+1 : at+1]
	opts := peak.Options{Peak: j.Peak.Peak, Depth: peak.UpToLosses, Progress: progress}
	opts.Mode = node.FailureMode(cmp.Or(j.Peak.Mode, result.Scenario.Failures.Mode, string(node.Unreachable)))
	e := Judged{Want: describePeak(j.Peak, opts.Mode)}
	if j.Peak.Level != "" {
		key := topology.ResolveKey(nodes, j.Peak.Level)
		if domains, _ := topology.Domains(nodes, key); len(domains) == 0 {
			e.Got = "after this step no node has the label " + key
			j.appendJudged(e, "peak", "level")
			return nil
		}
		opts.Survive = []string{key}
	}
	answer, err := peak.Find(ctx, &base, opts)
	if err != nil {
		return err
	}
	e.Got, e.Met = fmt.Sprint(answer.Short), answer.Most() <= *j.Peak.Pending
	if worst := answer.Worst(); worst != nil {
		e.Got = fmt.Sprintf("%d at the peak, and %d if %s %s is lost", answer.Short, worst.Short, j.Peak.Level, worst.Domain)
	}
	e.Why = joinSome(list.Map(answer.Starved, func(s peak.Starved) string {
		return fmt.Sprintf("%s lacks a node for %s: %s", s.Qualified(), words.Count(max(s.Short, s.AfterLoss), "pod"), s.Ceiling)
	}), "; ")
	j.appendJudged(e, "peak", "pending")
	return nil
}

// describePeak returns what is wanted: "at the peak, also if any zone is lost, no pod without a node".
func describePeak(b *scenario.PeakBounds, mode node.FailureMode) string {
	text := "at the peak"
	if b.Way() < 1 {
		text = fmt.Sprintf("at %s of the way to the peak", formatPercent(b.Way()))
	}
	var with []string
	if len(b.Replicas) > 0 {
		with = append(with, "the given replicas of "+words.Count(len(b.Replicas), "workload"))
	}
	for _, name := range b.CronJobs {
		switch name {
		case scenario.AllCronJobs:
			with = append(with, "all CronJobs")
		case scenario.BusiestCronJobs:
			with = append(with, "the CronJobs of the busiest hour")
		default:
			with = append(with, name)
		}
	}
	if len(with) > 0 {
		text += " with " + words.And(with)
	}
	if b.Level != "" {
		text += fmt.Sprintf(", also if any %s is lost", b.Level)
		if mode != node.Unreachable {
			text += fmt.Sprintf(" (%s)", mode)
		}
		text += ","
	}
	return fmt.Sprintf("%s %s without a node", text, phraseAtMost(*b.Pending, "pod"))
}
