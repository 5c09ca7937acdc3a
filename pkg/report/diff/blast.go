package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
)

// NewBlast compares two BlastReports. The version is Faultline's own.
func NewBlast(old, new *blast.Report, version string) *Report {
	d := newDiff(blast.Kind, &old.Head, &new.Head, version)
	d.Old.Steps, d.New.Steps = len(old.Steps), len(new.Steps)
	d.unlike("failure of nodes", old.Mode, new.Mode)
	d.unlike("domains that fail together", fmt.Sprint(old.Simultaneous), fmt.Sprint(new.Simultaneous))
	d.unlike("workloads", cmp.Or(old.Filter.String(), "all"), cmp.Or(new.Filter.String(), "all"))
	d.unlike("recoveries", recoveriesText(old), recoveriesText(new))
	name := func(s blast.Step) string { return s.Name }
	for _, at := range d.pairSteps(report.Each(old.Steps, name), report.Each(new.Steps, name)) {
		step := newBlastDiff(&old.Steps[at.old], &new.Steps[at.new])
		if step.Pending == nil && len(step.Added)+len(step.Removed)+len(step.Levels) == 0 {
			d.Unchanged = append(d.Unchanged, step.Name)
		} else {
			d.Failures = append(d.Failures, step)
		}
	}
	d.conclude()
	return d
}

func recoveriesText(r *blast.Report) string {
	switch {
	case !r.Recover:
		return "not looked at"
	case r.Worst > 0:
		return fmt.Sprintf("of the %d worst failures", r.Worst)
	}
	return "of every failure"
}

func newBlastDiff(old, new *blast.Step) BlastDiff {
	d := BlastDiff{Name: new.Name, Pending: change(old.Pending, new.Pending)}
	key := func(l blast.Level) string { return l.TopologyKey }
	pairs, added, removed := pairByKey(report.Each(old.Levels, key), report.Each(new.Levels, key))
	for _, i := range added {
		d.Added = append(d.Added, new.Levels[i].TopologyKey)
	}
	for _, i := range removed {
		d.Removed = append(d.Removed, old.Levels[i].TopologyKey)
	}
	for _, at := range pairs {
		l := newBlastLevelDiff(&old.Levels[at.old], &new.Levels[at.new])
		if l.Domains != nil || l.Radius != nil || l.Stranded != nil || l.NotReplaced != nil || len(l.Failures) > 0 {
			d.Levels = append(d.Levels, l)
		}
	}
	return d
}

func newBlastLevelDiff(old, new *blast.Level) BlastLevelDiff {
	d := BlastLevelDiff{TopologyKey: new.TopologyKey, Domains: change(old.Domains, new.Domains)}
	if old.Radius.Share != new.Radius.Share {
		d.Radius = &RadiusDiff{Old: old.Radius, New: new.Radius}
	}
	d.Stranded = bothLookedAt(most(old, stranded), most(new, stranded))
	d.NotReplaced = bothLookedAt(most(old, notReplaced), most(new, notReplaced))
	domains := func(f blast.Failure) string { return fmt.Sprintf("%q", f.Domains) }
	pairs, added, removed := pairByKey(report.Each(old.Failures, domains), report.Each(new.Failures, domains))
	none := &blast.Failure{}
	for _, at := range pairs {
		d.failure(old, new, &old.Failures[at.old], &new.Failures[at.new])
	}
	for _, i := range added {
		d.failure(old, new, none, &new.Failures[i])
	}
	for _, i := range removed {
		d.failure(old, new, &old.Failures[i], none)
	}
	slices.SortStableFunc(d.Failures, func(a, b FailureDiff) int { return slices.Compare(a.Domains, b.Domains) })
	return d
}

func stranded(r *blast.Recovery) int    { return len(r.Stranded) }
func notReplaced(r *blast.Recovery) int { return r.Unreplaced() }

// most is the largest number over all recoveries that were looked at; -1 if none was.
func most(l *blast.Level, of func(*blast.Recovery) int) int {
	n := -1
	for i := range l.Failures {
		n = max(n, countOf(l, &l.Failures[i], of))
	}
	return n
}

// countOf is -1 if the recovery was not looked at.
func countOf(l *blast.Level, f *blast.Failure, of func(*blast.Recovery) int) int {
	if r := l.Recovery(f); r != nil {
		return of(r)
	}
	return -1
}

func bothLookedAt(old, new int) *Change {
	if old < 0 || new < 0 {
		return nil
	}
	return change(old, new)
}

func (d *BlastLevelDiff) failure(oldLevel, newLevel *blast.Level, old, new *blast.Failure) {
	f := FailureDiff{Domains: new.Domains}
	if f.Domains == nil {
		f.Domains = old.Domains
	}
	if old.Share() != new.Share() {
		f.Share = &ShareDiff{Old: old.Share(), New: new.Share()}
	}
	f.Stranded = bothLookedAt(countOf(oldLevel, old, stranded), countOf(newLevel, new, stranded))
	f.NotReplaced = bothLookedAt(countOf(oldLevel, old, notReplaced), countOf(newLevel, new, notReplaced))
	f.QuorumLost = nameDiff(losing(old, func(l blast.Loss) bool { return l.QuorumLost }), losing(new, func(l blast.Loss) bool { return l.QuorumLost }))
	f.Gone = nameDiff(losing(old, func(l blast.Loss) bool { return l.Gone }), losing(new, func(l blast.Loss) bool { return l.Gone }))
	f.BrokenBudgets = nameDiff(old.BrokenBudgets, new.BrokenBudgets)
	if f.Share != nil || f.Stranded != nil || f.NotReplaced != nil || f.QuorumLost != nil || f.Gone != nil || f.BrokenBudgets != nil {
		d.Failures = append(d.Failures, f)
	}
}

// losing are the names of the workloads of which it holds.
func losing(f *blast.Failure, holds func(blast.Loss) bool) []string {
	var names []string
	for _, l := range f.Workloads {
		if holds(l) {
			names = append(names, l.Namespace+"/"+strings.ToLower(l.Kind)+"/"+l.Name)
		}
	}
	return names
}

// nameDiff is nil if both have the same names.
func nameDiff(old, new []string) *NameDiff {
	_, added, removed := pairByKey(old, new)
	if len(added)+len(removed) == 0 {
		return nil
	}
	d := &NameDiff{}
	for _, i := range added {
		d.Newly = append(d.Newly, new[i])
	}
	for _, i := range removed {
		d.NoLonger = append(d.NoLonger, old[i])
	}
	return d
}
