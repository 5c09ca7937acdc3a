package blast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// failures is the table of a level's failures. Columns about budgets and quorums that nobody breaks are left out of text.
func (t *writer) failures(level *Level, shown []*Failure) {
	budgets := t.wide || slices.ContainsFunc(shown, func(f *Failure) bool { return len(f.BrokenBudgets) > 0 })
	quorums := t.wide || slices.ContainsFunc(shown, func(f *Failure) bool {
		return slices.ContainsFunc(f.Workloads, func(l Loss) bool { return l.QuorumLost })
	})
	recoveries := slices.ContainsFunc(shown, func(f *Failure) bool { return level.Recovery(f) != nil })
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
	table := [][]text.Cell{text.Bold.Row(titles...)}
	for _, f := range shown {
		cells := []text.Cell{text.Plain.Cell(text.DomainsText(f.Domains)), text.Number(len(f.Nodes), text.Plain), text.Number(f.Pods, text.Plain), text.Plain.Cell(text.Percent(f.CPU))}
		if t.wide {
			cells = append(cells, text.Plain.Cell(text.Percent(f.Memory)))
		}
		cells = append(cells, t.hit(f.Workloads, func(l Loss) string { return fmt.Sprintf(" %d/%d", l.Lost, l.Replicas) }, text.ShareStyle(f.Share())))
		if budgets {
			cells = append(cells, t.budgets(f.BrokenBudgets))
		}
		bare := func(Loss) string { return "" }
		if quorums {
			cells = append(cells, t.hit(slices.DeleteFunc(slices.Clone(f.Workloads), func(l Loss) bool { return !l.QuorumLost }), bare, text.Red))
		}
		cells = append(cells, t.hit(slices.DeleteFunc(slices.Clone(f.Workloads), func(l Loss) bool { return !l.Gone }), bare, text.Red))
		if recoveries {
			cells = append(cells, t.recovery(level.Recovery(f))...)
		}
		table = append(table, cells)
	}
	t.Table("", table...)
}

func (t *writer) recovery(r *Recovery) []text.Cell {
	switch {
	case r == nil && t.wide:
		return text.Plain.Row(text.None, text.None, text.None, text.None, text.None)
	case r == nil:
		return text.Plain.Row(text.None, text.None, text.None)
	case t.wide:
		return append(r.cells(), text.Number(r.Preempted, text.Yellow), text.ShareStyle(r.After.Share).Cell(text.Percent(r.After.Share)))
	}
	return r.cells()
}

// hit names the workloads, with what is to be said of each, and counts those that are too many.
func (t *writer) hit(losses []Loss, suffix func(Loss) string, s text.Style) text.Cell {
	var names []string
	for _, loss := range losses {
		names = append(names, t.name(loss)+suffix(loss))
	}
	return t.few(names, s)
}

func (t *writer) budgets(names []string) text.Cell {
	short := make([]string, len(names))
	for i, name := range names {
		if short[i] = name; !t.namespaced {
			short[i] = strings.TrimPrefix(name, "default/")
		}
	}
	return t.few(short, text.Red)
}

// few names the first of several in a cell.
func (t *writer) few(names []string, s text.Style) text.Cell {
	if len(names) == 0 {
		return text.Plain.Cell(text.None)
	}
	if more := len(names) - maxHit; more > 0 && !t.All {
		names = append(names[:maxHit:maxHit], fmt.Sprintf("%d more", more))
	}
	return s.Cell(strings.Join(names, ", "))
}

// name is the workload's, with its kind and its namespace where another has the same name.
func (t *writer) name(l Loss) string {
	name := l.Name
	if t.kinds[[2]string{l.Namespace, l.Name}] != l.Kind {
		name = strings.ToLower(l.Kind) + "/" + name
	}
	return t.qualified(l.Namespace, name)
}

func (t *writer) qualified(namespace, name string) string {
	if t.namespaced || namespace != "default" {
		return namespace + "/" + name
	}
	return name
}

// stranded says why replacements stay Pending, once for all failures of which the same is to be said.
func (t *writer) stranded(level *Level, shown []*Failure) {
	type same struct {
		domains []string
		lines   []string
	}
	var told []same
	position := map[string]int{}
	for _, f := range shown {
		r := level.Recovery(f)
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
		told[i].domains = append(told[i].domains, text.DomainsText(f.Domains))
	}
	t.UpTo(len(told), "kind of failure", "kinds of failures", func(i int) {
		t.Linef(text.Yellow, "Stranded when %s is lost:", t.either(told[i].domains))
		for _, line := range told[i].lines {
			t.Linef(text.Plain, "%s", line)
		}
	})
}

// refusals are kube-scheduler's messages, each with the pods that it is about, and once more by plugin.
func (t *writer) refusals(pods []report.StrandedPod) []string {
	var lines []string
	for _, group := range report.Group(pods, report.StrandedPod.SameReason) {
		first := group[0]
		lines = append(lines, fmt.Sprintf("  %s of %s", words.Count(len(group), "pod"), t.qualified(first.Namespace, first.Workload)))
		lines = append(lines, "    "+text.Refused(first.Message))
		for _, reason := range first.Reasons {
			lines = append(lines, fmt.Sprintf("    %s: %d %s", reason.Plugin, reason.Nodes, reason.Message))
		}
		if n := len(slices.DeleteFunc(slices.Clone(group), func(p report.StrandedPod) bool { return !p.Waiting })); n > 0 {
			lines = append(lines, fmt.Sprintf("    %d of %d get a node once the lost pods, which stay Terminating, are gone: when the kubelet is back, or the node is tainted out-of-service", n, len(group)))
		}
	}
	return lines
}

// evictions says how long after a failure its last pod is evicted, where that is a matter of time.
func (t *writer) evictions(level *Level, shown []*Failure) {
	var least, most float64
	for _, f := range shown {
		if r := level.Recovery(f); r != nil && r.LastEviction > 0 {
			if least == 0 || r.LastEviction < least {
				least = r.LastEviction
			}
			most = max(most, r.LastEviction)
		}
	}
	switch {
	case most == 0:
	case least == most:
		t.Linef(text.Plain, "The last pod is evicted %.0f s after the failure.", most)
	default:
		t.Linef(text.Plain, "The last pod is evicted %.0f s to %.0f s after the failure.", least, most)
	}
}

// notReplaced says which lost pods nobody replaces, and why. The table says how many of them each failure takes.
func (t *writer) notReplaced(level *Level, shown []*Failure) {
	names, order := map[string][]string{}, []string(nil)
	for _, f := range shown {
		r := level.Recovery(f)
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
		t.Linef(text.Red, "Not replaced:")
	}
	for _, why := range order {
		t.Linef(text.Plain, "  %s (%s)", t.someFate(names[why]), why)
	}
}

// either is "a", "a or b", "a, b or c".
func (t *writer) either(names []string) string {
	if more := len(names) - maxFate; more > 0 && !t.All {
		names = append(names[:maxFate:maxFate], fmt.Sprintf("one of %d more", more))
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// sharedFate says which pods of one workload fail together.
func (t *writer) sharedFate(shown []*Failure) {
	told := 0
	var more int
	for _, f := range shown {
		for _, loss := range f.Workloads {
			if len(loss.SharedFate) == 0 {
				continue
			}
			if told == maxFates && !t.All {
				more++
				continue
			}
			if told == 0 {
				t.Line(text.Bold.Cell("Shared fate:"))
			}
			told++
			t.Linef(text.Plain, "  %d of %s in %s: pods %s", len(loss.SharedFate), t.name(loss), text.DomainsText(f.Domains), t.someFate(loss.SharedFate))
		}
	}
	if more > 0 {
		t.More(more, "shared fate", "shared fates")
	}
}

// someFate lists a few names.
func (t *writer) someFate(names []string) string {
	if more := len(names) - maxFate; more > 0 && !t.All {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxFate], ", "), more)
	}
	return strings.Join(names, ", ")
}
