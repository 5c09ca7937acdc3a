package advice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// New returns the report on an advice. Text and Markdown show only the top candidates. version is Faultline's version.
func New(a *advice.Advice, again ScenarioArguments, top int, version string) *Report {
	r := &Report{
		Head: report.NewHead(a.Result, Kind, version), Workload: a.Workload.Qualified(), Replicas: int(a.Replicas),
		Step: a.Result.Last().Name, LeftOut: a.LeftOut, Held: a.Held, One: a.One, Unplaced: a.Unplaced, maxShown: top, owner: a.Workload, arguments: again,
	}
	ranks, rank := map[string]int{}, 0
	for i := range a.Candidates {
		c := Candidate{Candidate: a.Candidates[i]}
		if c.SameAs != "" {
			c.Rank = ranks[c.SameAs]
		} else {
			rank++
			c.Rank, ranks[c.Name] = rank, rank
		}
		if c.Changed() {
			c.Apply = r.patchCommand(ShellWord(string(c.Patch)))
		}
		c.Costs = r.costs(&c)
		c.Commands = r.commands(&c, func(words string) string { return ShellWord(words + string(c.Patch)) })
		r.Candidates = append(r.Candidates, c)
	}
	for i := range r.Candidates { // once the candidate without changes is known
		r.Candidates[i].Unsolved = r.unsolved(&r.Candidates[i])
	}
	for i := range a.Candidates {
		for _, sentence := range a.Candidates[i].HowChanged() {
			if !slices.Contains(r.Notes, sentence) {
				r.Notes = append(r.Notes, sentence)
			}
		}
	}
	r.Advice = r.verdict()
	return r
}

// unchanged returns the candidate without changes.
func (r *Report) unchanged() *Candidate {
	for i := range r.Candidates {
		if !r.Candidates[i].Changed() {
			return &r.Candidates[i]
		}
	}
	return nil
}

// verdict returns the advice in one or two sentences.
func (r *Report) verdict() string {
	now, best := r.unchanged(), r.advised()
	distinct := 0
	for _, c := range r.Candidates {
		distinct = max(distinct, c.Rank)
	}
	tried := words.Count(len(r.Candidates)-1, "other candidate")
	switch {
	case r.Held != "":
		return fmt.Sprintf("No rule reaches the pods of %s now, so none was tried: %s. Scale it to another number and back, or see with --fresh how rules compare if all of its pods are placed anew.",
			r.Workload, strings.TrimSuffix(r.Held, "."))
	case r.Unplaced != "":
		return fmt.Sprintf("No rule helps %s: none of its %s gets a node, as it is or with any of %s: %s.",
			r.Workload, words.Count(r.Replicas, "pod"), tried, strings.TrimSuffix(r.Unplaced, "."))
	case best == now && r.One != "":
		return fmt.Sprintf("Leave %s as it is: it has 1 replica, so no rule keeps anything apart, and it cannot have a second: %s.", r.Workload, strings.TrimSuffix(r.One, "."))
	case distinct == 1 && r.Replicas <= 1:
		return fmt.Sprintf("No rule changes anything here: %s has %s, and %s came to the same.", r.Workload, words.Count(r.Replicas, "replica"), tried)
	case distinct == 1:
		return fmt.Sprintf("Leave %s as it is (%s): %s came to the same. %s", r.Workload, rulesText(now.Rules), tried, equalHereNote)
	case best == now:
		line := fmt.Sprintf("Leave %s as it is (%s): ", r.Workload, rulesText(now.Rules))
		top := &r.Candidates[0]
		if top == now {
			return line + fmt.Sprintf("it ranks first, and none of %s beats it.%s", tried, r.presentGain(now))
		}
		better, worse := top.DifferencesFrom(&now.Candidate)
		return line + fmt.Sprintf("what is better elsewhere is worse, too, such as %s: better in %s; worse in %s.%s", top.Name, joinReasons(better), joinReasons(worse), r.presentGain(now))
	}
	better, worse := best.DifferencesFrom(&now.Candidate)
	stuck := ""
	if len(best.StuckRollouts) > 0 {
		stuck = words.UpperFirst(whatif.DescribeStuckRollout(&best.StuckRollouts[0])) + ". "
	}
	line := fmt.Sprintf("Let the pods of %s keep apart by %s", r.Workload, best.Name)
	if len(best.Rules) == 0 {
		line = fmt.Sprintf("Let the pods of %s have no rule to keep apart but the scheduler's own defaults", r.Workload)
	}
	if best.Replicas > 0 {
		line = r.adviseSecondReplica(best)
	}
	if best.Strategy != "" && strings.HasPrefix(best.Name, advice.AsItIs) {
		line = fmt.Sprintf("Leave the rule of %s as it is, and set %s", r.Workload, best.Strategy)
	}
	if len(better) > 0 && best.Replicas == 0 {
		line += ": better than now in " + joinReasons(better)
	}
	if len(worse) > 0 {
		line += "; worse in " + joinReasons(worse)
	}
	line += "."
	if r.One != "" {
		line += " It cannot have a second replica: " + strings.TrimSuffix(r.One, ".") + "."
	}
	return stuck + line
}

// adviseSecondReplica advises a second replica: with only one, the loss of its node leaves no pod until another is ready.
func (r *Report) adviseSecondReplica(best *Candidate) string {
	with := ""
	if _, rules, _ := strings.Cut(best.Name, ", "); rules != "" {
		with = " with " + rules
	}
	line := fmt.Sprintf("Run %d replicas of %s%s: with one, the loss of its node takes it down", best.Replicas, r.Workload, with)
	for i := range best.Levels {
		if level, now := &best.Levels[i], r.unchanged().Level(best.Levels[i].TopologyKey); now != nil && now.Radius == 1 && level.Radius < 1 && level.TopologyKey != v1.LabelHostname {
			return line + fmt.Sprintf("; with these, no loss of a %s does", doc.LevelName(level.TopologyKey))
		}
	}
	return line
}

// equalHereNote says what equal results mean.
const equalHereNote = "No failure that was looked at shows a difference in this cluster; in another, or later in this one, there may be one."

// advised returns the advised candidate. If the workload now has a Pending pod or a rollout that never ends, and the first candidate does
// better, it is that one. Otherwise it is the first candidate that is better than now in something, and worse in nothing except skew. If
// there is none, it is the workload without changes.
func (r *Report) advised() *Candidate {
	now := r.unchanged()
	if top := &r.Candidates[0]; now.OwnPending > top.OwnPending || now.Rollout != nil && !now.Rollout.Ends && top.Rollout != nil && top.Rollout.Ends {
		return top
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if now.BeatenBy != "" && c.Name == now.BeatenBy {
			return c
		}
		better, worse := c.DifferencesFrom(&now.Candidate)
		loses := slices.ContainsFunc(worse, func(in string) bool { return !strings.HasPrefix(in, "skew ") })
		if c == now || len(better) > 0 && !loses {
			return c
		}
	}
	return now
}

// presentGain says what the present rule improves compared with no rule.
func (r *Report) presentGain(now *Candidate) string {
	for i := range r.Candidates {
		none := &r.Candidates[i]
		if !none.Changed() || len(none.Rules) > 0 || len(now.Rules) == 0 {
			continue
		}
		if better, _ := now.DifferencesFrom(&none.Candidate); len(better) > 0 {
			return " Against no rule it is better in " + joinReasons(better) + "."
		}
		return " Without any rule it comes to the same here. " + equalHereNote
	}
	return ""
}

// joinReasons joins the first few figures.
func joinReasons(all []string) string { return words.And(all[:min(len(all), maxReasons)]) }

// maxReasons is the largest number of figures that the advice names.
const maxReasons = 3

func rulesText(rules []string) string {
	if len(rules) == 0 {
		return "no rule"
	}
	return words.And(rules)
}

// patchCommand returns the command that patches the workload.
func (r *Report) patchCommand(patch string) string {
	return fmt.Sprintf("kubectl patch %s -n %s --type merge --patch %s", r.owner, r.owner.Namespace, patch)
}

// commands returns the commands that run the candidate again. patch quotes a text, and the patch after it, as one word for a shell.
func (r *Report) commands(c *Candidate, patch func(string) string) []Command {
	words := func(command, ties string, more ...string) string {
		line := "simulate " + command
		if r.arguments.Input != "" {
			line += " " + r.arguments.Input
		}
		if c.Changed() {
			line += " --patch " + patch(r.Workload+"=")
		}
		for _, word := range more {
			line += " " + word
		}
		return line + ties
	}
	var all []Command
	if c.Changed() {
		all = append(all, Command{"the figures beside those of now, with pods of others that do not come back", words("compare", r.arguments.Ties, "--workload", r.Workload)})
	}
	all = append(all, Command{"what each failure takes, what does not come back, and why", words("blast", r.arguments.Ties, "--step", ShellWord(r.Step))})
	if c.Rollout != nil {
		all = append(all, Command{"the rolling update", words("run", r.arguments.Ties, "--restart", r.Workload)})
	}
	if t := c.Trials; t != nil {
		command, ties := "blast", " --ties random --seed "+strconv.FormatUint(t.WorstSeed, 10)
		all = append(all, Command{"the worst trial", words(command, ties, "--recover=false", "--step", ShellWord(r.Step))})
	}
	return all
}

// ShellWord quotes the text as one word of a POSIX shell.
func ShellWord(text string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !safe(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
