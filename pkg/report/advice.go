package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
)

// AdviceKind is the kind of a report on how the pods of a workload should keep apart.
const AdviceKind = "AdviceReport"

// AdviceReport tells by which rule the pods of a workload should keep apart.
type AdviceReport struct {
	Head
	// Advice is what to do, in a sentence.
	Advice string `json:"advice"`
	// Workload is the workload as kind/name in lower case, Replicas the number of pods that it asks for after Step, the last.
	Workload string `json:"workload"`
	Replicas int    `json:"replicas"`
	Step     string `json:"step"`
	// Candidates are the rules that were run, the best first; the workload as it is is one of them.
	Candidates []AdviceCandidate `json:"candidates"`
	// LeftOut are the rules that were not run, and why.
	LeftOut []string `json:"leftOut,omitempty"`

	top   int // how many are shown
	owner cluster.Ref
	again Again
}

// AdviceCandidate is one rule, what it comes to, and how to have it.
type AdviceCandidate struct {
	// Rank is the place among the candidates; those with the same figures share it.
	Rank int `json:"rank"`
	advice.Candidate
	// Apply is the command that gives the workload the rule; empty where nothing changes.
	Apply string `json:"apply,omitempty"`
	// Costs are what has to be paid for it, Unsolved what it leaves as it is, a sentence each.
	Costs    []string `json:"costs,omitempty"`
	Unsolved []string `json:"unsolved,omitempty"`
	// Commands are those that run it again.
	Commands []AdviceCommand `json:"commands"`
}

// AdviceCommand is a command that shows what is told of a candidate.
type AdviceCommand struct {
	// Shows says what.
	Shows   string `json:"shows"`
	Command string `json:"command"`
}

// Again is how a command line names the same scenario again.
type Again struct {
	// Input are the words that name it, Ties the flags of its ties, with a blank before them if there are any.
	Input, Ties string
}

// NewAdvice puts advice into the model, of which text and Markdown show the top candidates. The version is Faultline's own.
func NewAdvice(a *advice.Advice, again Again, top int, version string) *AdviceReport {
	r := &AdviceReport{
		Head: newHead(a.Result, AdviceKind, version), Workload: metric.Name(a.Workload), Replicas: int(a.Replicas),
		Step: a.Result.Steps[len(a.Result.Steps)-1].Name, LeftOut: a.LeftOut, top: top, owner: a.Workload, again: again,
	}
	ranks, rank := map[string]int{}, 0
	for i := range a.Candidates {
		c := AdviceCandidate{Candidate: a.Candidates[i]}
		if c.SameAs != "" {
			c.Rank = ranks[c.SameAs]
		} else {
			rank++
			c.Rank, ranks[c.Name] = rank, rank
		}
		if c.Changed() {
			c.Apply = r.apply(ShellWord(string(c.Patch)))
		}
		c.Costs, c.Unsolved = r.costs(&c), r.unsolved(&c)
		c.Commands = r.commands(&c, func(words string) string { return ShellWord(words + string(c.Patch)) })
		r.Candidates = append(r.Candidates, c)
	}
	r.Advice = r.verdict()
	return r
}

// now is the workload as it is.
func (r *AdviceReport) now() *AdviceCandidate {
	for i := range r.Candidates {
		if !r.Candidates[i].Changed() {
			return &r.Candidates[i]
		}
	}
	return nil
}

// verdict is the advice in a sentence.
func (r *AdviceReport) verdict() string {
	best, now := &r.Candidates[0], r.now()
	distinct := 0
	for _, c := range r.Candidates {
		distinct = max(distinct, c.Rank)
	}
	tried := count(len(r.Candidates)-1, "other candidate")
	switch {
	case distinct == 1 && r.Replicas <= 1:
		return fmt.Sprintf("No rule changes anything here: %s has %s, and %s came to the same.", r.Workload, count(r.Replicas, "replica"), tried)
	case distinct == 1:
		return fmt.Sprintf("No rule changes anything here: %s came to the same as %s does as it is.", tried, r.Workload)
	case best == now:
		return fmt.Sprintf("Leave %s as it is (%s): it ranks first, and none of %s beats it.", r.Workload, rulesText(now.Rules), tried)
	}
	better, worse := best.Against(&now.Candidate)
	line := fmt.Sprintf("Let the pods of %s keep apart by %s", r.Workload, best.Name)
	if len(best.Rules) == 0 {
		line = fmt.Sprintf("Let the pods of %s have no rule to keep apart but the scheduler's own defaults", r.Workload)
	}
	if best.Strategy != "" && strings.HasPrefix(best.Name, advice.AsItIs) {
		line = fmt.Sprintf("Leave the rule of %s as it is, and set %s", r.Workload, best.Strategy)
	}
	if len(better) > 0 {
		line += ": better than now in " + and(better[:min(len(better), maxReasons)])
	}
	if len(worse) > 0 {
		line += "; worse in " + and(worse[:min(len(worse), maxReasons)])
	}
	return line + "."
}

// maxReasons is how many figures the advice names.
const maxReasons = 3

func rulesText(rules []string) string {
	if len(rules) == 0 {
		return "no rule"
	}
	return and(rules)
}

// apply is the command that patches the workload.
func (r *AdviceReport) apply(patch string) string {
	return fmt.Sprintf("kubectl patch %s -n %s --type merge --patch %s", r.owner, r.owner.Namespace, patch)
}

// commands are those that run the candidate again. patch makes a word of the shell of a text and the patch after it.
func (r *AdviceReport) commands(c *AdviceCandidate, patch func(string) string) []AdviceCommand {
	words := func(command, ties string, more ...string) string {
		line := "simulate " + command
		if r.again.Input != "" {
			line += " " + r.again.Input
		}
		if c.Changed() {
			line += " --patch " + patch(r.Workload+"=")
		}
		for _, word := range more {
			line += " " + word
		}
		return line + ties
	}
	var all []AdviceCommand
	if c.Changed() {
		all = append(all, AdviceCommand{"the figures, and those of now", words("compare", r.again.Ties, "--workload", r.Workload)})
	}
	all = append(all, AdviceCommand{"what each failure takes and strands, and why", words("blast", r.again.Ties, "--step", ShellWord(r.Step))})
	if c.Rollout != nil {
		all = append(all, AdviceCommand{"the rolling update", words("run", r.again.Ties, "--restart", r.Workload)})
	}
	if t := c.Trials; t != nil {
		command, ties := "blast", " --ties random --seed "+strconv.FormatUint(t.WorstSeed, 10)
		all = append(all, AdviceCommand{"the worst trial", words(command, ties, "--recover=false", "--step", ShellWord(r.Step))})
	}
	return all
}

// costs are what has to be paid for the candidate.
func (r *AdviceReport) costs(c *AdviceCandidate) []string {
	var all []string
	if c.Changed() && strings.Contains(string(c.Patch), `"template"`) {
		all = append(all, fmt.Sprintf("the patch changes the template: every pod is made anew, and %d of %d would be on other nodes than now", c.Moved, r.Replicas))
	}
	if c.Strategy != "" {
		all = append(all, fmt.Sprintf("a rolling update goes on with %s, so that pods are missing meanwhile; as the strategy is now it never ends: %s", c.Strategy, c.Stuck))
	}
	if c.Surge > 0 {
		all = append(all, fmt.Sprintf("a rolling update needs room for %s more than replicas (maxSurge)", count(c.Surge, "pod")))
	}
	return all
}

// unsolved are what the candidate does not solve.
func (r *AdviceReport) unsolved(c *AdviceCandidate) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if c.Pending > 0 {
		line := fmt.Sprintf("%s Pending, %d of them of %s", is(c.Pending, "pod"), c.OwnPending, r.Workload)
		if c.Why != "" {
			line += ": " + c.Why
		}
		say("%s", line)
	}
	if c.Rollout != nil {
		r.afterRollout(c, say)
	}
	for i := range c.Levels {
		level := &c.Levels[i]
		name := levelName(level.TopologyKey)
		if level.Radius > 0 && level.RadiusIn != "" {
			say("the loss of a %s takes up to %s of it (%s)", name, percent(level.Radius), domainsText([]string{level.RadiusIn}))
		}
		var worst *metric.FailureMetrics
		others := 0
		for j := range level.Failures {
			f := &level.Failures[j]
			if n := f.Stranded + f.Unreplaced; n > 0 && (worst == nil || n > worst.Stranded+worst.Unreplaced) {
				worst = f
			}
			if f.Stranded+f.Unreplaced > 0 {
				others++
			}
		}
		if worst != nil {
			line := fmt.Sprintf("the loss of %s %s still strands %s of %d that it takes", name, domainsText([]string{worst.Domain}),
				count(worst.Stranded+worst.Unreplaced, "pod"), worst.Lost)
			if others > 1 {
				line += fmt.Sprintf("; %d of the %d failures looked at strand some", others, len(level.Failures))
			}
			say("%s", line)
		}
	}
	if t := c.Trials; t != nil {
		r.trials(c, say)
	}
	return all
}

func (r *AdviceReport) afterRollout(c *AdviceCandidate, say func(string, ...any)) {
	if !c.Rollout.Ends {
		say("a rolling update never ends: %s", c.Rollout.Waiting)
		return
	}
	if c.Rollout.Pending > c.Pending {
		say("after a rolling update %s Pending", is(c.Rollout.Pending, "pod"))
	}
	for i := range c.Rollout.Levels {
		after, before := &c.Rollout.Levels[i], c.Level(c.Rollout.Levels[i].TopologyKey)
		name := levelName(after.TopologyKey)
		switch {
		case before == nil:
		case after.Radius > before.Radius:
			say("after a rolling update the loss of a %s takes up to %s instead of %s", name, percent(after.Radius), percent(before.Radius))
		case after.Skew > before.Skew:
			say("after a rolling update the pods are less evenly spread over the domains of %s: skew %d instead of %d", after.TopologyKey, after.Skew, before.Skew)
		}
	}
}

// trials are what random ties do to it, with the number of runs, the seeds and the interval.
func (r *AdviceReport) trials(c *AdviceCandidate, say func(string, ...any)) {
	t := c.Trials
	if t.SomePending > 0 {
		say("with random ties a pod is Pending in %d of %d runs (95%% interval %s to %s, seeds %d to %d)",
			t.SomePending, t.N, percent(t.Low), percent(t.High), t.Seed, t.Seed+uint64(t.N)-1)
	}
	for _, radius := range t.Radius {
		if level := c.Level(radius.TopologyKey); level != nil && radius.Worst > level.Radius {
			say("with random ties the loss of a %s takes up to %s in the worst of %d runs, %s in the median", levelName(radius.TopologyKey),
				percent(radius.Worst), t.N, percent(radius.Median))
		}
	}
}

// ShellWord is the text as one word of a POSIX shell.
func ShellWord(text string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !safe(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

var AdviceFormats = formats[AdviceReport]{
	textFormat("text", func(r *AdviceReport, opts Options) []byte {
		t := adviceText{page: newPage(opts), report: r}
		t.everything()
		return t.bytes()
	}),
	jsonFormat(completeAdvice),
	yamlFormat(completeAdvice),
	plainFormat("markdown", adviceMarkdown),
}

// completeAdvice is complete for an AdviceReport.
func completeAdvice(r *AdviceReport) *AdviceReport {
	c := *r
	c.Head, c.Candidates = completeHead(r.Head), list(r.Candidates)
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		candidate.Rules, candidate.Levels, candidate.Commands = list(candidate.Rules), list(candidate.Levels), list(candidate.Commands)
		if candidate.Rollout != nil {
			rollout := *candidate.Rollout
			rollout.Levels = list(rollout.Levels)
			candidate.Rollout = &rollout
		}
		if candidate.Trials != nil {
			trials := *candidate.Trials
			trials.Radius = list(trials.Radius)
			candidate.Trials = &trials
		}
	}
	return &c
}
