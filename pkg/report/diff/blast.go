package diff

import (
	"cmp"
	"fmt"
	"slices"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
)

// NewBlast compares two BlastReports. version is Faultline's version.
func NewBlast(old, new *blast.Report, version string) *Report {
	d := newDiff(blast.Kind, &old.Head, &new.Head, version)
	d.Old.Steps, d.New.Steps = len(old.Steps), len(new.Steps)
	d.unlike("failure of nodes", old.Mode, new.Mode)
	d.unlike("domains that fail together", fmt.Sprint(old.Simultaneous), fmt.Sprint(new.Simultaneous))
	d.unlike("workloads", cmp.Or(blast.FilterText(old.Filter), "all"), cmp.Or(blast.FilterText(new.Filter), "all"))
	d.unlike("recoveries", recoveriesText(old), recoveriesText(new))
	d.unlike("losses of an even spread", evensText(old), evensText(new))
	name := func(s blast.Step) string { return s.Name }
	for _, at := range d.pairSteps(list.Each(old.Steps, name), list.Each(new.Steps, name)) {
		step := newBlastDiff(&old.Steps[at.old], &new.Steps[at.new], old.Simultaneous, new.Simultaneous)
		of := func(s *blast.Step) []report.Declared { return s.Declared }
		otherwise := d.declared(step.Name, declaredAfter(old.Steps[:at.old+1], of), declaredAfter(new.Steps[:at.new+1], of))
		if same := step.Pending == nil && len(step.Added)+len(step.Removed)+len(step.OneReplica)+len(step.Levels) == 0; same && !otherwise {
			d.Unchanged = append(d.Unchanged, step.Name)
		} else if !same {
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

// evensText says where the losses of an even spread come from: reports of older versions do not have them.
func evensText(r *blast.Report) string {
	for _, s := range r.Steps {
		for _, l := range s.Levels {
			for _, f := range l.Failures {
				if slices.ContainsFunc(f.Workloads, func(l askblast.Loss) bool { return l.Even == 0 }) {
					return "worked out from replicas and domains"
				}
			}
		}
	}
	return "as reported"
}

// newBlastDiff compares a step. oldTogether and newTogether are the numbers of domains that fail together in each report.
func newBlastDiff(old, new *blast.Step, oldTogether, newTogether int) BlastDiff {
	d := BlastDiff{Name: new.Name, Pending: change(old.Pending, new.Pending), OneReplica: oneReplica(old, new)}
	for _, l := range pairs(old.Levels, new.Levels, func(l askblast.Level) string { return l.TopologyKey }) {
		switch {
		case l.old == nil:
			d.Added = append(d.Added, l.new.TopologyKey)
		case l.new == nil:
			d.Removed = append(d.Removed, l.old.TopologyKey)
		default:
			level := newBlastLevelDiff(l.old, l.new)
			level.Excess = newExcess(spreads(l.old, oldTogether), spreads(l.new, newTogether), oldTogether, newTogether)
			level.NewlyStranded = newlyStranded(l.old, l.new, level.Excess)
			if !level.empty() {
				d.Levels = append(d.Levels, level)
			}
		}
	}
	return d
}

func (d *BlastLevelDiff) empty() bool {
	return d.Domains == nil && d.Radius == nil && d.Stranded == nil && d.NotReplaced == nil && d.QuorumLost == nil && d.Gone == nil &&
		d.BrokenBudgets == nil && len(d.Excess)+len(d.NewlyStranded)+len(d.Failures) == 0
}

func newBlastLevelDiff(old, new *askblast.Level) BlastLevelDiff {
	d := BlastLevelDiff{TopologyKey: new.TopologyKey, Domains: change(old.Domains, new.Domains)}
	if old.Radius.Share != new.Radius.Share {
		d.Radius = &RadiusDiff{Old: old.Radius, New: new.Radius}
	}
	d.NotBack = bothLookedAt(most(old, notBack), most(new, notBack))
	d.Stranded = bothLookedAt(most(old, stranded), most(new, stranded))
	d.NotReplaced = bothLookedAt(most(old, notReplaced), most(new, notReplaced))
	d.QuorumLost, d.Gone = ofSeveral(old, new, quorumLost), ofSeveral(old, new, gone)
	d.BrokenBudgets = nameDiff(brokenBudgets(old), brokenBudgets(new))
	none := &askblast.Failure{}
	for _, f := range pairs(old.Failures, new.Failures, domainsKey) {
		d.failure(old, new, cmp.Or(f.old, none), cmp.Or(f.new, none))
	}
	slices.SortStableFunc(d.Failures, func(a, b FailureDiff) int { return slices.Compare(a.Domains, b.Domains) })
	return d
}

func domainsKey(f askblast.Failure) string { return fmt.Sprintf("%q", f.Domains) }

func quorumLost(l askblast.Loss) bool { return l.QuorumLost }
func gone(l askblast.Loss) bool       { return l.Gone }

// ofSeveral compares for which workloads holds is true in any failure of the level. A name is new or no longer there only if the workload
// has several replicas in the report that has the name.
func ofSeveral(old, new *askblast.Level, holds func(askblast.Loss) bool) *NameDiff {
	names := func(l *askblast.Level, least int) []string {
		var all []string
		for i := range l.Failures {
			all = append(all, losing(&l.Failures[i], func(l askblast.Loss) bool { return l.Replicas >= least && holds(l) })...)
		}
		return distinct(all)
	}
	d := &NameDiff{Newly: without(names(new, 2), names(old, 1)), NoLonger: without(names(old, 2), names(new, 1))}
	if len(d.Newly)+len(d.NoLonger) == 0 {
		return nil
	}
	return d
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(others, name) })
}

func brokenBudgets(l *askblast.Level) []string {
	var names []string
	for i := range l.Failures {
		names = append(names, l.Failures[i].BrokenBudgets...)
	}
	return distinct(names)
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func notBack(r *askblast.Recovery) int     { return r.Gone() }
func stranded(r *askblast.Recovery) int    { return len(r.Stranded) }
func notReplaced(r *askblast.Recovery) int { return r.Unreplaced() }

// most returns the largest number over all recoveries of the level, or -1 if none was simulated.
func most(l *askblast.Level, of func(*askblast.Recovery) int) int {
	n := -1
	for i := range l.Failures {
		n = max(n, countOf(l, &l.Failures[i], of))
	}
	return n
}

// countOf returns the number for the recovery from the failure, or -1 if it was not simulated.
func countOf(l *askblast.Level, f *askblast.Failure, of func(*askblast.Recovery) int) int {
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

func (d *BlastLevelDiff) failure(oldLevel, newLevel *askblast.Level, old, new *askblast.Failure) {
	f := FailureDiff{Domains: new.Domains}
	if f.Domains == nil {
		f.Domains = old.Domains
	}
	if old.Share() != new.Share() {
		f.Share = &ShareDiff{Old: old.Share(), New: new.Share()}
	}
	f.NotBack = bothLookedAt(countOf(oldLevel, old, notBack), countOf(newLevel, new, notBack))
	f.Stranded = bothLookedAt(countOf(oldLevel, old, stranded), countOf(newLevel, new, stranded))
	f.NotReplaced = bothLookedAt(countOf(oldLevel, old, notReplaced), countOf(newLevel, new, notReplaced))
	f.QuorumLost = nameDiff(losing(old, quorumLost), losing(new, quorumLost))
	f.Gone = nameDiff(losing(old, gone), losing(new, gone))
	f.BrokenBudgets = nameDiff(old.BrokenBudgets, new.BrokenBudgets)
	if f.Share != nil || f.Stranded != nil || f.NotReplaced != nil || f.QuorumLost != nil || f.Gone != nil || f.BrokenBudgets != nil {
		d.Failures = append(d.Failures, f)
	}
}

// losing returns the names of the workloads for which holds is true.
func losing(f *askblast.Failure, holds func(askblast.Loss) bool) []string {
	var names []string
	for _, l := range f.Workloads {
		if holds(l) {
			names = append(names, l.Namespace+"/"+l.Ref.String())
		}
	}
	return names
}

// nameDiff compares two lists of names. It returns nil if they have the same names.
func nameDiff(old, new []string) *NameDiff {
	d := &NameDiff{Newly: without(slices.Clone(new), old), NoLonger: without(slices.Clone(old), new)}
	if len(d.Newly)+len(d.NoLonger) == 0 {
		return nil
	}
	return d
}
