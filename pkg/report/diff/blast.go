package diff

import (
	"cmp"
	"fmt"
	"slices"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
)

// NewBlast compares two BlastReports. version is Faultline's version.
func NewBlast(old, new *blast.Report, version string) *Report {
	d := newDiff(blast.Kind, &old.Head, &new.Head, version)
	d.Old.Steps, d.New.Steps = len(old.Steps), len(new.Steps)
	d.addCondition("failure of nodes", old.Mode, new.Mode)
	d.addCondition("domains that fail together", fmt.Sprint(old.Simultaneous), fmt.Sprint(new.Simultaneous))
	d.addCondition("workloads", cmp.Or(blast.FilterText(old.Filter), "all"), cmp.Or(blast.FilterText(new.Filter), "all"))
	d.addCondition("recoveries", recoveriesText(old), recoveriesText(new))
	d.addCondition("losses of an even spread", evensText(old), evensText(new))
	name := func(s blast.Step) string { return s.Name }
	for _, at := range d.pairSteps(list.Map(old.Steps, name), list.Map(new.Steps, name)) {
		of := func(s *blast.Step) []report.Declared { return s.Declared }
		before, after := declaredAfter(old.Steps[:at.old+1], of), declaredAfter(new.Steps[:at.new+1], of)
		step := newBlastDiff(&old.Steps[at.old], &new.Steps[at.new], before, after, old.Simultaneous, new.Simultaneous)
		otherwise := d.addDeclared(step.Name, before, after)
		if same := step.Pending == nil && len(step.Added)+len(step.Removed)+len(step.OneReplica)+len(step.Levels) == 0; same && !otherwise {
			d.Unchanged = append(d.Unchanged, step.Name)
		} else if !same {
			d.Failures = append(d.Failures, step)
		}
	}
	d.setVerdict()
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

// newBlastDiff compares a step. declaredBefore and declared are the declarations of each report after the step. oldTogether and newTogether are the
// numbers of domains that fail together in each report.
func newBlastDiff(old, new *blast.Step, declaredBefore, declared []report.Declared, oldTogether, newTogether int) BlastDiff {
	d := BlastDiff{Name: new.Name, Pending: newChange(old.Pending, new.Pending), OneReplica: newlyOneReplica(old, new, declaredBefore, declared)}
	added := newWorkloads(declaredBefore, declared)
	for _, l := range pairBy(old.Levels, new.Levels, func(l askblast.Level) string { return l.TopologyKey }) {
		switch {
		case l.old == nil:
			d.Added = append(d.Added, l.new.TopologyKey)
		case l.new == nil:
			d.Removed = append(d.Removed, l.old.TopologyKey)
		default:
			level := newBlastLevelDiff(l.old, l.new, added)
			level.Excess = newExcess(worstSpreads(l.old, oldTogether), worstSpreads(l.new, newTogether), oldTogether, newTogether)
			level.NewlyStranded = newlyStranded(l.old, l.new, level.Excess, added, grownUnderSameRules(declaredBefore, declared))
			if d.Pending.growth() > 0 {
				level.dropImprovements()
			}
			if !level.empty() {
				d.Levels = append(d.Levels, level)
			}
		}
	}
	return d
}

// dropImprovements drops the smaller losses of a step with more Pending pods than before: a pod without a node cannot be lost.
func (d *BlastLevelDiff) dropImprovements() {
	if d.Radius != nil && d.Radius.New.Share < d.Radius.Old.Share {
		d.Radius = nil
	}
	for _, c := range []**Change{&d.NotBack, &d.Stranded, &d.NotReplaced} {
		*c = (*c).ifGrown()
	}
	for _, n := range []**NameDiff{&d.QuorumLost, &d.Gone, &d.BrokenBudgets} {
		*n = (*n).onlyNew()
	}
	for i := range d.Failures {
		f := &d.Failures[i]
		if f.Share.growth() <= 0 {
			f.Share = nil
		}
		f.NotBack, f.Stranded, f.NotReplaced = f.NotBack.ifGrown(), f.Stranded.ifGrown(), f.NotReplaced.ifGrown()
		f.QuorumLost, f.Gone, f.BrokenBudgets = f.QuorumLost.onlyNew(), f.Gone.onlyNew(), f.BrokenBudgets.onlyNew()
	}
	d.Failures = list.Without(d.Failures, FailureDiff.empty)
}

// ifGrown returns the change if the number has grown, and nil otherwise.
func (c *Change) ifGrown() *Change {
	if c.growth() > 0 {
		return c
	}
	return nil
}

// onlyNew returns the names that only the new report has, or nil if there are none.
func (d *NameDiff) onlyNew() *NameDiff {
	if d == nil || len(d.Newly) == 0 {
		return nil
	}
	return &NameDiff{Newly: d.Newly}
}

func (f FailureDiff) empty() bool {
	return f.Share == nil && f.Stranded == nil && f.NotReplaced == nil && f.QuorumLost == nil && f.Gone == nil && f.BrokenBudgets == nil
}

func (d *BlastLevelDiff) empty() bool {
	return d.Domains == nil && d.Radius == nil && d.Stranded == nil && d.NotReplaced == nil && d.QuorumLost == nil && d.Gone == nil &&
		d.BrokenBudgets == nil && len(d.Excess)+len(d.NewlyStranded)+len(d.Failures) == 0
}

// newWorkloads returns the workloads that only the new report declares. What a failure takes of them is not worse than before: that a new
// StatefulSet is gone with the only region says nothing about the change. It returns none if a report has no declarations.
func newWorkloads(old, new []report.Declared) map[cluster.WorkloadRef]bool {
	only := map[cluster.WorkloadRef]bool{}
	if old == nil {
		return only
	}
	for _, w := range new {
		only[w.Workload()] = true
	}
	for _, w := range old {
		delete(only, w.Workload())
	}
	return only
}

func newBlastLevelDiff(old, new *askblast.Level, added map[cluster.WorkloadRef]bool) BlastLevelDiff {
	d := BlastLevelDiff{TopologyKey: new.TopologyKey, Domains: newChange(old.Domains, new.Domains)}
	if old.Radius.Share != new.Radius.Share {
		d.Radius = &RadiusDiff{Old: old.Radius, New: new.Radius}
	}
	d.NotBack = changeIfKnown(maxOverRecoveries(old, notBack), maxOverRecoveries(new, notBack))
	d.Stranded = changeIfKnown(maxOverRecoveries(old, stranded), maxOverRecoveries(new, stranded))
	d.NotReplaced = changeIfKnown(maxOverRecoveries(old, notReplaced), maxOverRecoveries(new, notReplaced))
	d.QuorumLost, d.Gone = diffSeveralReplicas(old, new, added, quorumLost), diffSeveralReplicas(old, new, added, gone)
	d.BrokenBudgets = newNameDiff(brokenBudgets(old), brokenBudgets(new))
	none := &askblast.Failure{}
	for _, f := range pairBy(old.Failures, new.Failures, domainsKey) {
		d.addFailure(old, new, cmp.Or(f.old, none), cmp.Or(f.new, none))
	}
	slices.SortStableFunc(d.Failures, func(a, b FailureDiff) int { return slices.Compare(a.Domains, b.Domains) })
	return d
}

func domainsKey(f askblast.Failure) string { return fmt.Sprintf("%q", f.Domains) }

func quorumLost(l askblast.Loss) bool { return l.QuorumLost }
func gone(l askblast.Loss) bool       { return l.Gone }

// diffSeveralReplicas compares for which workloads holds is true in any failure of the level. A name is new or no longer there only if the workload
// has several replicas in the report that has the name, and new only if the workload is not among added.
func diffSeveralReplicas(old, new *askblast.Level, added map[cluster.WorkloadRef]bool, holds func(askblast.Loss) bool) *NameDiff {
	names := func(l *askblast.Level, least int) []string {
		var all []string
		for i := range l.Failures {
			all = append(all, workloadsWhere(&l.Failures[i], func(l askblast.Loss) bool { return l.Replicas >= least && !added[l.Ref.Workload()] && holds(l) })...)
		}
		return sortUnique(all)
	}
	d := &NameDiff{Newly: subtractNames(names(new, 2), names(old, 1)), NoLonger: subtractNames(names(old, 2), names(new, 1))}
	if len(d.Newly)+len(d.NoLonger) == 0 {
		return nil
	}
	return d
}

// subtractNames returns the names that are not among others.
func subtractNames(names, others []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(others, name) })
}

func brokenBudgets(l *askblast.Level) []string {
	var names []string
	for i := range l.Failures {
		names = append(names, l.Failures[i].BrokenBudgets...)
	}
	return sortUnique(names)
}

func sortUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func notBack(r *askblast.Recovery) int     { return r.CountNotBack() }
func stranded(r *askblast.Recovery) int    { return len(r.Stranded) }
func notReplaced(r *askblast.Recovery) int { return r.CountNotReplaced() }

// maxOverRecoveries returns the largest number over all recoveries of the level, or -1 if none was simulated.
func maxOverRecoveries(l *askblast.Level, of func(*askblast.Recovery) int) int {
	n := -1
	for i := range l.Failures {
		n = max(n, recoveryCount(l, &l.Failures[i], of))
	}
	return n
}

// recoveryCount returns the number for the recovery from the failure, or -1 if it was not simulated.
func recoveryCount(l *askblast.Level, f *askblast.Failure, of func(*askblast.Recovery) int) int {
	if r := l.Recovery(f); r != nil {
		return of(r)
	}
	return -1
}

func changeIfKnown(old, new int) *Change {
	if old < 0 || new < 0 {
		return nil
	}
	return newChange(old, new)
}

func (d *BlastLevelDiff) addFailure(oldLevel, newLevel *askblast.Level, old, new *askblast.Failure) {
	f := FailureDiff{Domains: new.Domains}
	if f.Domains == nil {
		f.Domains = old.Domains
	}
	if old.Share() != new.Share() {
		f.Share = &ShareDiff{Old: old.Share(), New: new.Share()}
	}
	f.NotBack = changeIfKnown(recoveryCount(oldLevel, old, notBack), recoveryCount(newLevel, new, notBack))
	f.Stranded = changeIfKnown(recoveryCount(oldLevel, old, stranded), recoveryCount(newLevel, new, stranded))
	f.NotReplaced = changeIfKnown(recoveryCount(oldLevel, old, notReplaced), recoveryCount(newLevel, new, notReplaced))
	f.QuorumLost = newNameDiff(workloadsWhere(old, quorumLost), workloadsWhere(new, quorumLost))
	f.Gone = newNameDiff(workloadsWhere(old, gone), workloadsWhere(new, gone))
	f.BrokenBudgets = newNameDiff(old.BrokenBudgets, new.BrokenBudgets)
	if !f.empty() {
		d.Failures = append(d.Failures, f)
	}
}

// workloadsWhere returns the names of the workloads for which holds is true.
func workloadsWhere(f *askblast.Failure, holds func(askblast.Loss) bool) []string {
	var names []string
	for _, l := range f.Workloads {
		if holds(l) {
			names = append(names, l.Namespace+"/"+l.Ref.String())
		}
	}
	return names
}

// newNameDiff compares two lists of names. It returns nil if they have the same names.
func newNameDiff(old, new []string) *NameDiff {
	d := &NameDiff{Newly: subtractNames(slices.Clone(new), old), NoLonger: subtractNames(slices.Clone(old), new)}
	if len(d.Newly)+len(d.NoLonger) == 0 {
		return nil
	}
	return d
}
