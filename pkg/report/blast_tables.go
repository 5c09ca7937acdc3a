package report

import (
	"fmt"
	"slices"
	"strings"
)

// failures is the table of a level's failures. Columns about budgets and quorums that nobody breaks are left out of text.
func (t *blastText) failures(level *BlastLevel, shown []*Failure) {
	budgets := t.wide || slices.ContainsFunc(shown, func(f *Failure) bool { return len(f.BrokenBudgets) > 0 })
	quorums := t.wide || slices.ContainsFunc(shown, func(f *Failure) bool {
		return slices.ContainsFunc(f.Workloads, func(l Loss) bool { return l.QuorumLost })
	})
	recoveries := slices.ContainsFunc(shown, func(f *Failure) bool { return level.recovery(f) != nil })
	titles := []string{"DOMAIN", "NODES", "PODS", "CPU"}
	if t.wide {
		titles = append(titles, "MEMORY")
	}
	titles = append(titles, "WORKLOADS HIT")
	if budgets {
		titles = append(titles, "BUDGETS BROKEN")
	}
	if quorums {
		titles = append(titles, "QUORUM LOST")
	}
	titles = append(titles, "GONE")
	if recoveries {
		titles = append(titles, "RECOVERED", "STRANDED", "NOT REPLACED")
		if t.wide {
			titles = append(titles, "PREEMPTED", "AFTER")
		}
	}
	table := [][]cell{bold.row(titles...)}
	for _, f := range shown {
		cells := []cell{plain.cell(domainsText(f.Domains)), number(len(f.Nodes), plain), number(f.Pods, plain), plain.cell(percent(f.CPU))}
		if t.wide {
			cells = append(cells, plain.cell(percent(f.Memory)))
		}
		cells = append(cells, t.hit(f.Workloads, func(l Loss) string { return fmt.Sprintf(" %d/%d", l.Lost, l.Replicas) }, shareStyle(f.share())))
		if budgets {
			cells = append(cells, t.budgets(f.BrokenBudgets))
		}
		bare := func(Loss) string { return "" }
		if quorums {
			cells = append(cells, t.hit(slices.DeleteFunc(slices.Clone(f.Workloads), func(l Loss) bool { return !l.QuorumLost }), bare, red))
		}
		cells = append(cells, t.hit(slices.DeleteFunc(slices.Clone(f.Workloads), func(l Loss) bool { return !l.Gone }), bare, red))
		if recoveries {
			cells = append(cells, t.recovery(level.recovery(f))...)
		}
		table = append(table, cells)
	}
	t.table("", table...)
}

func (t *blastText) recovery(r *Recovery) []cell {
	switch {
	case r == nil && t.wide:
		return plain.row(none, none, none, none, none)
	case r == nil:
		return plain.row(none, none, none)
	case t.wide:
		return append(r.cells(), number(r.Preempted, yellow), shareStyle(r.After.Share).cell(percent(r.After.Share)))
	}
	return r.cells()
}

// hit names the workloads, with what is to be said of each, and counts those that are too many.
func (t *blastText) hit(losses []Loss, suffix func(Loss) string, s style) cell {
	var names []string
	for _, loss := range losses {
		names = append(names, t.name(loss)+suffix(loss))
	}
	return t.few(names, s)
}

func (t *blastText) budgets(names []string) cell {
	short := make([]string, len(names))
	for i, name := range names {
		if short[i] = name; !t.namespaced {
			short[i] = strings.TrimPrefix(name, "default/")
		}
	}
	return t.few(short, red)
}

// few names the first of several in a cell.
func (t *blastText) few(names []string, s style) cell {
	if len(names) == 0 {
		return plain.cell(none)
	}
	if more := len(names) - maxHit; more > 0 && !t.all {
		names = append(names[:maxHit:maxHit], fmt.Sprintf("%d more", more))
	}
	return s.cell(strings.Join(names, ", "))
}

// name is the workload's, with its kind and its namespace where it takes these to tell it from another.
func (t *blastText) name(l Loss) string {
	name := l.Name
	if t.kinds[[2]string{l.Namespace, l.Name}] != l.Kind {
		name = strings.ToLower(l.Kind) + "/" + name
	}
	return t.qualified(l.Namespace, name)
}

func (t *blastText) qualified(namespace, name string) string {
	if t.namespaced || namespace != "default" {
		return namespace + "/" + name
	}
	return name
}

// stranded tells why replacements stay Pending, once for all failures of which the same is to be said.
func (t *blastText) stranded(level *BlastLevel, shown []*Failure) {
	type same struct {
		domains []string
		lines   []string
	}
	var told []same
	position := map[string]int{}
	for _, f := range shown {
		r := level.recovery(f)
		if r == nil || len(r.Stranded) == 0 {
			continue
		}
		lines := t.refusals(r.Stranded)
		key := strings.Join(lines, "\n")
		i, seen := position[key]
		if !seen {
			i = len(told)
			position[key] = i
			told = append(told, same{lines: lines})
		}
		told[i].domains = append(told[i].domains, domainsText(f.Domains))
	}
	t.upTo(len(told), "kind of failure", "kinds of failures", func(i int) {
		t.linef(yellow, "Stranded when %s is lost:", t.either(told[i].domains))
		for _, line := range told[i].lines {
			t.linef(plain, "%s", line)
		}
	})
}

// refusals are kube-scheduler's messages, each with the pods that it is about, and once more by plugin.
func (t *blastText) refusals(pods []StrandedPod) []string {
	var lines []string
	for _, group := range grouped(pods, StrandedPod.sameReason) {
		first := group[0]
		lines = append(lines, fmt.Sprintf("  %s of %s", count(len(group), "pod"), t.qualified(first.Namespace, first.Workload)))
		lines = append(lines, "    "+refused(first.Message))
		for _, reason := range first.Reasons {
			lines = append(lines, fmt.Sprintf("    %s: %d %s", reason.Plugin, reason.Nodes, reason.Message))
		}
		if n := len(slices.DeleteFunc(slices.Clone(group), func(p StrandedPod) bool { return !p.Waiting })); n > 0 {
			lines = append(lines, fmt.Sprintf("    %d of %d get a node once the lost pods, which stay Terminating, are gone: when the kubelet is back, or the node is tainted out-of-service", n, len(group)))
		}
	}
	return lines
}

// evictions says how long after a failure its last pod is evicted, where that is a matter of time.
func (t *blastText) evictions(level *BlastLevel, shown []*Failure) {
	var least, most float64
	for _, f := range shown {
		if r := level.recovery(f); r != nil && r.LastEviction > 0 {
			if least == 0 || r.LastEviction < least {
				least = r.LastEviction
			}
			most = max(most, r.LastEviction)
		}
	}
	switch {
	case most == 0:
	case least == most:
		t.linef(plain, "The last pod is evicted %.0f s after the failure.", most)
	default:
		t.linef(plain, "The last pod is evicted %.0f s to %.0f s after the failure.", least, most)
	}
}

// notReplaced tells which lost pods nobody replaces, and why. The table says how many of them each failure takes.
func (t *blastText) notReplaced(level *BlastLevel, shown []*Failure) {
	names, order := map[string][]string{}, []string(nil)
	for _, f := range shown {
		r := level.recovery(f)
		if r == nil {
			continue
		}
		for _, pod := range r.NotReplaced {
			if names[pod.Why] == nil {
				order = append(order, pod.Why)
			}
			if name := t.qualified(pod.Namespace, pod.Name); !slices.Contains(names[pod.Why], name) {
				names[pod.Why] = append(names[pod.Why], name)
			}
		}
	}
	if len(order) > 0 {
		t.linef(red, "Not replaced:")
	}
	for _, why := range order {
		t.linef(plain, "  %s (%s)", t.someFate(names[why]), why)
	}
}

// either is "a", "a or b", "a, b or c".
func (t *blastText) either(names []string) string {
	if more := len(names) - maxFate; more > 0 && !t.all {
		names = append(names[:maxFate:maxFate], fmt.Sprintf("one of %d more", more))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// sharedFate tells which pods of one workload fail together.
func (t *blastText) sharedFate(shown []*Failure) {
	told := 0
	var more int
	for _, f := range shown {
		for _, loss := range f.Workloads {
			if len(loss.SharedFate) == 0 {
				continue
			}
			if told == maxFates && !t.all {
				more++
				continue
			}
			if told == 0 {
				t.line(bold.cell("Shared fate:"))
			}
			told++
			t.linef(plain, "  %d of %s in %s: pods %s", len(loss.SharedFate), t.name(loss), domainsText(f.Domains), t.someFate(loss.SharedFate))
		}
	}
	if more > 0 {
		t.more(more, "shared fate", "shared fates")
	}
}

// someFate lists a few names.
func (t *blastText) someFate(names []string) string {
	if more := len(names) - maxFate; more > 0 && !t.all {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFate], ", "), more)
	}
	return strings.Join(names, ", ")
}
