package blast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// tableFailure is a failure of a step, its name, such as "zone a", and its recovery; recovery is nil if it was not simulated.
type tableFailure struct {
	*blast.Failure
	recovery *blast.Recovery
	name     string
}

// shownFailures returns the failures that the step's tables list.
func (t *writer) shownFailures(step *Step) []tableFailure {
	var all []tableFailure
	for j := range step.Levels {
		l := &step.Levels[j]
		if t.report.secondary(l) && !t.All {
			continue
		}
		for _, f := range t.listedFailures(l) {
			all = append(all, tableFailure{f, l.Recovery(f), step.failureName(j, f)})
		}
	}
	return all
}

// attention writes what to look at after the tables of a step: placements that lose more than an even spread, stranded pods, and pods that
// nobody replaces, with the reasons.
func (t *writer) attention(step *Step) {
	shown := t.shownFailures(step)
	t.excess(step)
	t.stranded(shown)
	t.notReplaced(shown)
	t.lostWork(shown)
	t.evictions(shown)
	if t.All {
		t.sharedFate(shown)
	}
	for _, f := range shown {
		if f.Recovery != nil {
			after := " after the loss of " + doc.DomainsText(f.Domains)
			t.ReplacementCycles(f.Recovery.Recovered, f.Recovery.Stranded, func(namespace, name string) string { return "Pod " + t.qualify(namespace, name) + after })
		}
	}
}

// excess lists the workloads that lose more than an even spread would, sorted by the share beyond it. Each line names the failure with the
// largest such share.
func (t *writer) excess(step *Step) {
	type beyond struct {
		blast.Loss
		share float64
		name  string
	}
	var all []beyond
	position := map[cluster.Ref]int{}
	for j := range step.Levels {
		l := &step.Levels[j]
		for i := range l.Failures {
			f := &l.Failures[i]
			for _, loss := range f.ReplicatedLosses() {
				if loss.Lost <= loss.Even {
					continue
				}
				found := beyond{loss, float64(loss.Lost-loss.Even) / float64(loss.Replicas), step.failureName(j, f)}
				at, seen := position[loss.Ref]
				switch {
				case !seen:
					position[loss.Ref] = len(all)
					all = append(all, found)
				case found.share > all[at].share:
					all[at] = found
				}
			}
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b beyond) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.Lost, a.Lost)) })
	t.Linef(doc.Bold, "%s more than with an even spread:", words.Pick(len(all), "1 workload loses", fmt.Sprintf("%d workloads lose", len(all))))
	for i, w := range all {
		if i == maxExcess && !t.All {
			t.More(len(all)-i, "workload", "workloads")
			return
		}
		t.Linef(doc.Plain, "  %s loses %d of %d with %s; an even spread loses %d", t.qualify(w.Namespace, w.Ref.String()), w.Lost, w.Replicas, w.name, w.Even)
	}
}

// stranded writes why replacements stay Pending. Failures with the same reason share it.
func (t *writer) stranded(shown []tableFailure) {
	type reason struct {
		name  string // name of the failure
		lines []string
	}
	var all []reason
	for _, f := range shown {
		if f.recovery == nil {
			continue
		}
		for _, pods := range list.GroupBy(f.recovery.Stranded, placement.StrandedPod.Why) {
			all = append(all, reason{f.name, t.refusal(pods)})
		}
	}
	told := list.GroupBy(all, func(r reason) string { return strings.Join(r.lines, "\n") })
	t.UpTo(len(told), "reason for stranded pods", "reasons for stranded pods", func(i int) {
		lines := told[i][0].lines
		t.Linef(doc.Yellow, "Stranded with the loss of %s: %s", t.joinOr(list.Map(told[i], func(r reason) string { return r.name })), lines[0])
		for _, line := range lines[1:] {
			t.Linef(doc.Plain, "  %s", line)
		}
	})
}

// refusal returns which pods wait, then kube-scheduler's message, which they share. With --all or wide it repeats the message by plugin.
func (t *writer) refusal(pods []placement.StrandedPod) []string {
	workloads := list.GroupBy(pods, placement.StrandedPod.Owner)
	of := func(group []placement.StrandedPod) string {
		return t.qualify(group[0].Namespace, cmp.Or(group[0].Workload, group[0].Name))
	}
	who := words.Count(len(pods), "pod") + " of " + of(workloads[0])
	if len(workloads) > 1 {
		who = words.Count(len(pods), "pod") + ": " + t.joinFew(list.Map(workloads, func(group []placement.StrandedPod) string {
			return fmt.Sprintf("%d of %s", len(group), of(group))
		}))
	}
	lines := append([]string{who}, doc.WaitLines(pods[0].Message, pods[0].Reason, pods[0].Untried)...)
	if t.All || t.wide {
		for _, reason := range pods[0].Reasons {
			lines = append(lines, fmt.Sprintf("%s: %d %s", reason.Plugin, reason.Nodes, reason.Message))
		}
	}
	if n := len(list.Where(pods, func(p placement.StrandedPod) bool { return p.Waiting })); n > 0 {
		get := words.Pick(n, "gets a node", "get a node")
		if pods[0].Node != "" {
			get = words.Pick(n, "starts", "start")
		}
		lines = append(lines, fmt.Sprintf("%d of %d %s once the lost pods, which stay Terminating, are gone: when the kubelet is back, or the node is tainted out-of-service",
			n, len(pods), get))
	}
	return lines
}

// notReplaced lists the lost pods that no controller replaces, and why. It leaves out pods that belong to their node, such as those of
// DaemonSets.
func (t *writer) notReplaced(shown []tableFailure) {
	type left struct{ pod, why string }
	var all []left
	seen := map[left]bool{}
	for _, f := range shown {
		if f.recovery == nil {
			continue
		}
		for _, pod := range f.recovery.NotReplaced {
			if l := (left{t.qualify(pod.Namespace, pod.Name), pod.Why}); !pod.BelongsToNode() && !seen[l] {
				seen[l] = true
				all = append(all, l)
			}
		}
	}
	for _, pods := range list.GroupBy(all, func(l left) string { return l.why }) {
		who := words.Count(len(pods), "pod")
		if len(pods) <= maxHit || t.All {
			who = strings.Join(list.Map(pods, func(l left) string { return l.pod }), ", ")
		}
		t.Line(doc.Red.Cell("Not replaced:"), doc.Plain.Cellf(" %s (%s)", who, pods[0].why))
	}
}

// lostWork lists the lost pods that run once for controllers that the input does not have.
func (t *writer) lostWork(shown []tableFailure) {
	var pods []cluster.PodRef
	for _, f := range shown {
		if f.recovery == nil {
			continue
		}
		for _, pod := range f.recovery.LostWork {
			if !slices.Contains(pods, pod) {
				pods = append(pods, pod)
			}
		}
	}
	if len(pods) == 0 {
		return
	}
	who := words.Count(len(pods), "pod")
	if len(pods) <= maxHit || t.All {
		who = strings.Join(list.Map(pods, func(p cluster.PodRef) string { return t.qualify(p.Namespace, p.Name) + " of " + p.Workload }), ", ")
	}
	t.Line(doc.Yellow.Cell("Lost work:"), doc.Plain.Cellf(" %s (%s once, for a controller that is not part of the input)", who, words.Pick(len(pods), "runs", "run")))
}

// evictions writes how long after a failure the last pod is evicted, the last volume detached and the last workload moved. It writes
// nothing about events that happen at once or not at all.
func (t *writer) evictions(shown []tableFailure) {
	t.lastTimes("The last pod is evicted", shown, func(r *blast.Recovery) float64 { return r.LastEviction })
	t.lastTimes("The last volume is detached by force", shown, func(r *blast.Recovery) float64 { return r.LastDetach })
	t.lastTimes("Karmada moves the last workload away", shown, func(r *blast.Recovery) float64 { return r.LastMove })
}

func (t *writer) lastTimes(what string, shown []tableFailure, seconds func(*blast.Recovery) float64) {
	var least, most float64
	for _, f := range shown {
		if f.recovery == nil || seconds(f.recovery) == 0 {
			continue
		}
		last := seconds(f.recovery)
		if least == 0 || last < least {
			least = last
		}
		most = max(most, last)
	}
	switch {
	case most == 0:
	case least == most:
		t.Linef(doc.Plain, "%s %.0f s after the failure.", what, most)
	default:
		t.Linef(doc.Plain, "%s %.0f s to %.0f s after the failure.", what, least, most)
	}
}

// joinOr returns "a", "a or b", "a, b or c".
func (t *writer) joinOr(names []string) string {
	if more := len(names) - maxHit; more > 0 && !t.All {
		names = append(names[:maxHit:maxHit], fmt.Sprintf("one of %d more", more))
	}
	return words.Or(names)
}

// sharedFate lists the pods of one workload that fail together.
func (t *writer) sharedFate(shown []tableFailure) {
	first := true
	for _, f := range shown {
		for _, loss := range f.Workloads {
			if len(loss.SharedFate) == 0 {
				continue
			}
			if first {
				t.Line(doc.Bold.Cell("Shared fate:"))
				first = false
			}
			t.Linef(doc.Plain, "  %d of %s in %s: pods %s", len(loss.SharedFate), t.workloadName(loss), doc.DomainsText(f.Domains), strings.Join(loss.SharedFate, ", "))
		}
	}
}

// unlabelled names the nodes without the label, which are in no domain.
func (t *writer) unlabelled(level *blast.Level) {
	n := len(level.Unlabelled)
	if n == 0 {
		return
	}
	t.Line(doc.Bold.Cell("Unlabelled:"), doc.Plain.Cellf(" %s no label %s, so %s in no domain, and no failure of the level takes the pods there: %s",
		words.Has(n, "node"), level.TopologyKey, words.Pick(n, "it is", "they are"), t.ListNames(level.Unlabelled)))
}

// joinFew joins a few names with commas, and counts the others.
func (t *writer) joinFew(names []string) string {
	if more := len(names) - maxFate; more > 0 && !t.All {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFate], ", "), more)
	}
	return strings.Join(names, ", ")
}

// wholeLevel writes that the level's only failure takes every node.
func (t *writer) wholeLevel(level *blast.Level, name string) {
	for _, f := range level.Failures { // there is only one
		t.Linef(doc.Plain, "Level %s: %s %s all there is; the failure takes all %s, whatever the placement.",
			name, doc.DomainsText(f.Domains), words.Pick(len(f.Domains), "is", "are"), words.Count(len(f.Nodes), "node"))
	}
}
