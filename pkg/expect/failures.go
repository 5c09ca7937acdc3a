package expect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/words"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// stepFailures has the failures after one step. It analyzes each set of failures once, even if several expectations bound it.
type stepFailures struct {
	scenario *scenario.Scenario
	step     *simulation.Step
	progress func(what string, done, total int)
	analyses map[failureSet]*failureAnalysis
}

// failureSet identifies all failures of a level with one number of domains and one mode.
type failureSet struct {
	level        string
	simultaneous int
	mode         node.FailureMode
}

// failureAnalysis has what a set of failures takes and, if recovered is set, what comes back after each failure.
type failureAnalysis struct {
	opts      blast.Options
	analysis  *blast.Analysis
	recovered bool
}

// judgeFailures compares the failures of each level with their bounds.
func (j *stepJudge) judgeFailures(ctx context.Context, f *stepFailures) error {
	for at := range j.Failures {
		b, err := f.findBounded(ctx, &j.Failures[at])
		if err != nil {
			return fmt.Errorf("failures of level %s: %w", j.Failures[at].Level, err)
		}
		b.judgeBounds(func(field string, e Judged) { j.appendJudged(e, "failures", at, field) })
	}
	return nil
}

// findBounded finds what the bounded failures take.
func (f *stepFailures) findBounded(ctx context.Context, bounds *scenario.FailureBounds) (*boundedFailures, error) {
	set := failureSet{level: topology.ResolveKey(f.step.State.Nodes, bounds.Level), simultaneous: bounds.DomainCount(&f.scenario.Failures), mode: f.failureMode(bounds)}
	b := &boundedFailures{FailureBounds: bounds, failureSet: set, step: f.step, found: &blast.Level{}}
	if domains, _ := topology.Domains(f.step.State.Nodes, set.level); len(domains) < set.simultaneous {
		b.missing = fmt.Sprintf("after this step the level has %s, and %d cannot fail together", words.Count(len(domains), "domain"), set.simultaneous)
		if len(domains) == 0 {
			b.missing = "after this step no node has the label " + set.level
		}
		return b, nil
	}
	found, err := f.analyze(ctx, set, bounds.Stranded != nil || bounds.Unreplaced != nil)
	if err != nil {
		return nil, err
	}
	b.found, b.missing = &found.analysis.Levels[0], b.missingReason()
	return b, nil
}

// failureMode returns the mode in which the nodes fail.
func (f *stepFailures) failureMode(bounds *scenario.FailureBounds) node.FailureMode {
	for _, mode := range []string{bounds.Mode, f.scenario.Failures.Mode} {
		if mode != "" {
			return node.FailureMode(mode)
		}
	}
	return node.Unreachable
}

// analyze simulates the failures, and the recovery from them if asked to, unless that was done before.
func (f *stepFailures) analyze(ctx context.Context, set failureSet, recover bool) (*failureAnalysis, error) {
	state, found := f.step.State, f.analyses[set]
	if found == nil {
		// A workload with a quorum may not exist yet, or not any more.
		quorum := list.Without(f.scenario.Failures.Quorum, func(name string) bool {
			_, err := blast.Quorums(state, []string{name})
			return err != nil
		})
		// Worst is 0, which recovers from every failure, so that the bounds hold for each.
		found = &failureAnalysis{opts: blast.Options{Levels: []string{set.level}, Simultaneous: set.simultaneous, Mode: set.mode, Quorum: quorum, From: f.step.Mark()}}
		var err error
		if found.analysis, err = blast.Lost(state, found.opts); err != nil {
			return nil, err
		}
		f.analyses[set] = found
	}
	if recover && !found.recovered {
		var progress func(domains string, done, total int)
		if f.progress != nil {
			progress = func(domains string, done, total int) {
				f.progress("loss of "+domains+" after "+f.step.Name, done, total)
			}
		}
		if err := blast.Recover(ctx, state, f.scenario, found.analysis, found.opts, progress); err != nil {
			return nil, err
		}
		found.recovered = true
	}
	return found, nil
}

// boundedFailures has the failures of a level and their bounds.
type boundedFailures struct {
	*scenario.FailureBounds
	failureSet
	step    *simulation.Step
	found   *blast.Level
	missing string // why there are no failures
	running map[cluster.Ref]int
}

// runningReplicas returns the number of running pods of each workload, with its kind in lower case.
func (b *boundedFailures) runningReplicas() map[cluster.Ref]int {
	if b.running == nil {
		b.running = map[cluster.Ref]int{}
		for workload, count := range b.step.State.PodCounts() {
			if count.Running > 0 {
				b.running[lowerKind(workload)] = count.Running
			}
		}
	}
	return b.running
}

func (b *boundedFailures) judgeBounds(add func(field string, e Judged)) {
	judge := func(field string, e Judged) {
		if b.missing != "" {
			e.Met, e.Got = false, b.missing
		}
		add(field, e)
	}
	if b.Radius != nil {
		judge("radius", b.judgeRadius())
	}
	if b.Lost != nil {
		judge("lost", b.judgeMostPods(*b.Lost, "takes", "", b.countLost))
	}
	if b.Stranded != nil {
		judge("stranded", b.judgeMostPods(*b.Stranded, "leaves", " stranded", b.countStranded))
	}
	if b.Unreplaced != nil {
		judge("unreplaced", b.judgeMostPods(*b.Unreplaced, "leaves", " unreplaced", b.countUnreplaced))
	}
	if b.QuorumLost != nil {
		judge("quorumLost", b.judgeQuorum())
	}
}

// coversWorkload reports whether the bounds apply to this workload, whose kind may be in lower case.
func (b *boundedFailures) coversWorkload(workload cluster.Ref) bool {
	return b.Covers(workload) && (b.MinReplicas == nil || b.runningReplicas()[lowerKind(workload)] >= *b.MinReplicas)
}

func lowerKind(workload cluster.Ref) cluster.Ref {
	workload.Kind = strings.ToLower(workload.Kind)
	return workload
}

// missingReason says that the bounds apply to no running workload, or returns "" if they apply to one or to all.
func (b *boundedFailures) missingReason() string {
	if b.Kind == "" && b.MinReplicas == nil {
		return ""
	}
	for workload := range b.runningReplicas() {
		if b.coversWorkload(workload) {
			return ""
		}
	}
	return "after this step there is not " + b.describeWorkloads()
}

// isRestricted reports whether the bounds apply only to some workloads.
func (b *boundedFailures) isRestricted() bool {
	return b.Workload != "" || b.Kind != "" || b.MinReplicas != nil
}

// describeWorkloads describes the workloads to which the bounds apply: "any workload", "deployment/web", or "any StatefulSet of 2 or more replicas".
func (b *boundedFailures) describeWorkloads() string {
	whose := b.Workload
	if whose == "" {
		whose = "any " + cmp.Or(b.Kind, "workload")
	}
	if b.MinReplicas != nil {
		whose += fmt.Sprintf(" of %d or more replicas", *b.MinReplicas)
	}
	return whose
}

// describeFailures returns "the failure of any zone", or "the failure of any 2 domains of level zone together", with the mode if it is not the usual
// one.
func (b *boundedFailures) describeFailures() string {
	text := "the failure of any " + b.Level
	if b.simultaneous > 1 {
		text = fmt.Sprintf("the failure of any %d domains of level %s together", b.simultaneous, b.Level)
	}
	if b.mode != node.Unreachable {
		text += fmt.Sprintf(" (%s)", b.mode)
	}
	return text
}

// describeFailure names the domains of a failure: "zone a", or "zone a + b".
func (b *boundedFailures) describeFailure(f *blast.Failure) string {
	return b.Level + " " + strings.Join(f.Domains, " + ")
}

// judgeRadius judges the largest share that a failure takes of a workload, or the first of equal shares. It names each workload beyond the bound
// with the failure that takes most of it.
func (b *boundedFailures) judgeRadius() Judged {
	e := Judged{Want: fmt.Sprintf("%s takes at most %s of %s", b.describeFailures(), formatPercent(*b.Radius), b.describeWorkloads()), Got: "none takes any", Met: true}
	const rounding = 1e-9 // a third is 0.333… here, and may be 1/3 rounded there
	type taken struct {
		*blast.Loss
		by *blast.Failure
	}
	var all []taken // the largest loss of each workload
	at := map[cluster.Ref]int{}
	for i := range b.found.Failures {
		f := &b.found.Failures[i]
		for k := range f.Workloads {
			loss := &f.Workloads[k]
			if known, found := at[loss.Ref]; !b.coversWorkload(loss.Ref) || loss.Lost == 0 {
				continue
			} else if !found {
				at[loss.Ref] = len(all)
				all = append(all, taken{loss, f})
			} else if loss.Share() > all[known].Share() {
				all[known] = taken{loss, f}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b taken) int { return cmp.Compare(b.Share(), a.Share()) })
	if len(all) == 0 {
		return e
	}
	text := func(t taken) string {
		return fmt.Sprintf("%s, %d of %d of %s, by %s", formatPercent(t.Share()), t.Lost, t.Replicas, t.Ref, b.describeFailure(t.by))
	}
	worst := all[0]
	e.Got = text(worst)
	e.Why = fmt.Sprintf("%s holds %s", b.describeFailure(worst.by), joinSome(b.namePodsOn(worst.by, func(o cluster.Ref) bool { return o == worst.Ref }), ", "))
	if beyond := list.Where(all, func(t taken) bool { return t.Share() > *b.Radius+rounding }); len(beyond) > 0 {
		e.Met, e.Got = false, joinSome(list.Map(beyond, text), "; ")
	}
	return e
}

// formatPercent formats a share with at most one decimal: 50%, 33.3%.
func formatPercent(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + "%"
}

// judgeMostPods judges the failure with the most pods of some kind, or the first of equal ones, and names each failure beyond the bound.
func (b *boundedFailures) judgeMostPods(bound int, verb, fate string, pods func(*blast.Failure) (n int, why string)) Judged {
	whose := ""
	if b.isRestricted() {
		whose = " of " + b.describeWorkloads()
	}
	e := Judged{Want: fmt.Sprintf("%s %s %s%s%s", b.describeFailures(), verb, phraseAtMost(bound, "pod"), whose, fate), Got: "0"}
	type failed struct {
		n         int
		text, why string
	}
	var all []failed
	for i := range b.found.Failures {
		f := &b.found.Failures[i]
		if n, why := pods(f); n > 0 {
			all = append(all, failed{n, fmt.Sprintf("%d, by %s", n, b.describeFailure(f)), why})
		}
	}
	slices.SortStableFunc(all, func(a, b failed) int { return cmp.Compare(b.n, a.n) })
	if len(all) > 0 {
		e.Got, e.Why = all[0].text, all[0].why
	}
	beyond := list.Where(all, func(f failed) bool { return f.n > bound })
	if e.Met = len(beyond) == 0; !e.Met {
		e.Got = joinSome(list.Map(beyond, func(f failed) string { return f.text }), "; ")
	}
	if b.found.Search != "" && fate != "" {
		e.Got += ", of the worst sets of domains"
	}
	return e
}

func (b *boundedFailures) countLost(f *blast.Failure) (int, string) {
	n := f.Pods
	if b.isRestricted() {
		n = 0
		for _, loss := range f.Workloads {
			if b.coversWorkload(loss.Ref) {
				n += loss.Lost
			}
		}
	}
	if n == 0 {
		return 0, ""
	}
	return n, fmt.Sprintf("%s holds %s", b.describeFailure(f), joinSome(b.namePodsOn(f, b.coversWorkload), ", "))
}

func (b *boundedFailures) countStranded(f *blast.Failure) (int, string) {
	if f.Recovery == nil {
		return 0, ""
	}
	owner := f.Recovery.State.Owners()
	stranded := list.Where(f.Recovery.Pending, func(p placement.Pending) bool { return b.coversWorkload(owner(p.Pod)) })
	return len(stranded), fmt.Sprintf("after the failure of %s, Pending %s", b.describeFailure(f), describePending(stranded))
}

func (b *boundedFailures) countUnreplaced(f *blast.Failure) (int, string) {
	if f.Recovery == nil {
		return 0, ""
	}
	var names []string
	for _, pod := range f.Recovery.NotReplaced {
		if o := pod.Owner(); b.coversWorkload(o) && (b.Workload != "" || b.Kind != "" || o.Kind != "daemonset") {
			names = append(names, fmt.Sprintf("%s (%s)", cluster.Qualify(pod.Namespace, pod.Name), o))
		}
	}
	return len(names), fmt.Sprintf("after the failure of %s, no controller makes another of %s", b.describeFailure(f), joinSome(names, ", "))
}

func (b *boundedFailures) judgeQuorum() Judged {
	whose := "a quorum"
	if b.isRestricted() {
		whose = "the quorum of " + b.describeWorkloads()
	}
	e := Judged{Want: b.describeFailures() + " leaves " + whose, Got: "every one does"}
	if *b.QuorumLost {
		e.Want = strings.Replace(b.describeFailures(), " any ", " some ", 1) + " takes " + whose
	}
	var taken []string
	for i := range b.found.Failures {
		f := &b.found.Failures[i]
		for _, loss := range f.Workloads {
			if loss.QuorumLost && b.coversWorkload(loss.Ref) {
				taken = append(taken, fmt.Sprintf("%s takes %d of %d of %s, whose quorum is %d", b.describeFailure(f), loss.Lost, loss.Replicas, loss.Ref, loss.Quorum))
			}
		}
	}
	if len(taken) > 0 {
		e.Got, e.Why = taken[0], joinSome(taken[1:], "; ")
	}
	e.Met = len(taken) > 0 == *b.QuorumLost
	return e
}

// namePodsOn names the running pods of some owners on the nodes of the failure.
func (b *boundedFailures) namePodsOn(f *blast.Failure, of func(cluster.Ref) bool) []string {
	owner := b.step.State.Owners()
	var names []string
	for _, pod := range b.step.State.Pods {
		if slices.Contains(f.Nodes, pod.Spec.NodeName) && cluster.IsActive(pod) && of(owner(pod)) {
			names = append(names, cluster.Qualify(pod.Namespace, pod.Name))
		}
	}
	return names
}
