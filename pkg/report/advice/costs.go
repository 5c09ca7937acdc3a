package advice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// costs returns what the candidate costs.
func (r *Report) costs(c *Candidate) []string {
	all := r.secondReplicaCosts(c)
	if c.Changed() && strings.Contains(string(c.Patch), `"template"`) {
		line := fmt.Sprintf("the patch changes the template: every pod is made anew, and %d of %d would be on other nodes than now", c.OwnMoved, r.Replicas)
		if others := c.Moved - c.OwnMoved; others > 0 {
			line += fmt.Sprintf("; so would %s of other workloads", words.Count(others, "pod"))
		}
		all = append(all, line)
	}
	if c.Strategy != "" {
		all = append(all, fmt.Sprintf("a rolling update goes on with %s, so that pods are missing meanwhile; as the strategy is now it never ends: %s", c.Strategy, c.Stuck))
	}
	if c.Surge > 0 {
		all = append(all, fmt.Sprintf("a rolling update needs room for %s more than replicas (maxSurge)", words.Count(c.Surge, "pod")))
	}
	return all
}

// FormatAmounts returns resources in words, sorted by name: "cpu 250m and memory 1Gi".
func FormatAmounts(asks map[string]string) string {
	return words.And(list.Map(slices.Sorted(maps.Keys(asks)), func(name string) string { return name + " " + asks[name] }))
}

// secondReplicaCosts returns what a second replica requests, and what else must change for it.
func (r *Report) secondReplicaCosts(c *Candidate) []string {
	if c.Replicas == 0 {
		return nil
	}
	asks := "nothing"
	if len(c.Asks) > 0 {
		asks = FormatAmounts(c.Asks)
	}
	all := []string{"one more pod, which requests " + asks}
	if len(c.Storage) > 0 {
		all = append(all, "one more claim of each template: "+words.And(c.Storage))
	}
	if c.ScaledBy != "" {
		all = append(all, fmt.Sprintf("horizontalpodautoscaler/%s sets the replicas: its minReplicas has to be %d, too", c.ScaledBy, c.Replicas))
	}
	if c.Alone {
		all = append(all, "the strategy is Recreate, which lets no two pods of different revisions run at once: check that two can run")
	}
	return all
}

// pendingNow returns how many pods are Pending without changes.
func (r *Report) pendingNow() int {
	if now := r.unchanged(); now != nil {
		return now.Pending
	}
	return 0
}

// unsolved returns the problems that stay with the candidate.
func (r *Report) unsolved(c *Candidate) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if c.OwnPending > 0 || c.Pending > r.pendingNow() { // other Pending pods are of other workloads, which no rule of this one changes
		line := fmt.Sprintf("%s Pending, %d of them of %s", words.Is(c.Pending, "pod"), c.OwnPending, r.Workload)
		if c.Why != "" {
			line += ": " + c.Why
		}
		say("%s", line)
	}
	if c.Rollout != nil {
		r.unsolvedRollout(c, say)
	}
	for i := range c.Levels {
		level := &c.Levels[i]
		name := doc.LevelName(level.TopologyKey)
		if level.Radius > 0 && level.RadiusIn != "" {
			say("the loss of a %s takes up to %s of it (%s)", name, doc.Percent(level.Radius), doc.DomainsText([]string{level.RadiusIn}))
		}
		var worst *metric.FailureMetrics
		others := 0
		for j := range level.Failures {
			f := &level.Failures[j]
			if n := f.OwnStranded; n > 0 && (worst == nil || n > worst.OwnStranded) {
				worst = f
			}
			if f.OwnStranded > 0 {
				others++
			}
		}
		if worst != nil {
			line := fmt.Sprintf("%d of %s that the loss of %s %s takes of it %s not come back", worst.OwnStranded, words.Count(worst.OwnLost, "pod"), name,
				doc.DomainsText([]string{worst.Domain}), words.Pick(worst.OwnStranded, "does", "do"))
			if others > 1 {
				line += fmt.Sprintf("; after %d of the %d failures looked at some do not", others, len(level.Failures))
			}
			say("%s", line)
		}
	}
	if t := c.Trials; t != nil {
		r.unsolvedTrials(c, say)
	}
	return all
}

func (r *Report) unsolvedRollout(c *Candidate, say func(string, ...any)) {
	if !c.Rollout.Ends {
		say("a rolling update never ends: %s", c.Rollout.Waiting)
		return
	}
	if c.Rollout.Pending > c.Pending {
		say("after a rolling update %s Pending", words.Is(c.Rollout.Pending, "pod"))
	}
	for i := range c.Rollout.Levels {
		after, before := &c.Rollout.Levels[i], c.Level(c.Rollout.Levels[i].TopologyKey)
		name := doc.LevelName(after.TopologyKey)
		switch {
		case before == nil:
		case after.Radius > before.Radius:
			say("after a rolling update the loss of a %s takes up to %s instead of %s", name, doc.Percent(after.Radius), doc.Percent(before.Radius))
		case after.Skew > before.Skew:
			say("after a rolling update the pods are less evenly spread over the domains of %s: skew %d instead of %d", after.TopologyKey, after.Skew, before.Skew)
		}
	}
}

// unsolvedTrials says what random ties may change, with the number of runs, the seeds and the interval.
func (r *Report) unsolvedTrials(c *Candidate, say func(string, ...any)) {
	t := c.Trials
	if t.SomePending > 0 && (c.OwnPending > 0 || t.WorstPending > r.pendingNow()) {
		say("with random ties a pod is Pending in %d of %d runs (95%% interval %s to %s, seeds %d to %d)",
			t.SomePending, t.N, doc.Percent(t.Low), doc.Percent(t.High), t.Seed, t.Seed+uint64(t.N)-1)
	}
	for _, radius := range t.Radius {
		if level := c.Level(radius.TopologyKey); level != nil && radius.Worst > level.Radius {
			say("with random ties the loss of a %s takes up to %s in the worst of %d runs, %s in the median", doc.LevelName(radius.TopologyKey),
				doc.Percent(radius.Worst), t.N, doc.Percent(radius.Median))
		}
	}
}
