package diff

import (
	"cmp"
	"fmt"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// setVerdict sets the verdict on the differences.
func (d *Report) setVerdict() {
	c := expect.Comparison{
		Steps: max(d.Old.Steps, d.New.Steps), Different: len(d.Steps) + len(d.Failures), StepsAdded: len(d.Added), StepsRemoved: len(d.Removed),
	}
	for i := range d.Steps {
		d.Steps[i].addTo(&c)
	}
	for i := range d.Failures {
		d.Failures[i].addTo(&c)
	}
	for _, is := range d.Declared {
		if is.IsRemoval() {
			c.RulesRemoved = append(c.RulesRemoved, is.text())
		} else {
			c.Declared++
		}
	}
	v := c.Verdict()
	d.Verdict, d.Differences, d.Worse = v.Line, v.Kinds, v.Worse
}

func (s *StepDiff) addTo(c *expect.Comparison) {
	for _, m := range s.Moved {
		c.Moved = append(c.Moved, expect.Move{Namespace: m.Namespace, OldName: cmp.Or(m.OldName, m.Name), Name: m.Name, Swapped: m.SameNodes})
	}
	c.Pending, c.NotReady = append(c.Pending, s.pending()), s.NotReady.addTo(c.NotReady, s.Name)
	c.NotCreated = s.NotCreated.addTo(c.NotCreated, s.Name)
	c.Decided = append(c.Decided, list.Map(s.Bindings, func(b BindingDiff) string { return b.Namespace + "/" + b.Kind + "/" + b.Name })...)
	c.NewlyStuck += len(s.NewlyStuck)
	c.NoLongerStuck += len(s.NoLongerStuck)
	c.NewlyUnmet += len(s.NewlyUnmet)
	c.NoLongerUnmet += len(s.NoLongerUnmet)
	name := func(p DiffPod) string { return p.Namespace + "/" + p.Name }
	c.PodsAdded = append(c.PodsAdded, list.Map(s.Added, name)...)
	c.PodsRemoved = append(c.PodsRemoved, list.Map(s.Removed, name)...)
}

// pending counts how many more Pending pods each workload has than before, whichever pods they are.
func (s *StepDiff) pending() expect.Change {
	c := expect.Change{Step: s.Name}
	if s.Pending != nil {
		c.Old, c.New = s.Pending.Old, s.Pending.New
	}
	more := map[cluster.Ref]int{}
	for _, p := range s.NewlyPending {
		more[p.Owner()]++
	}
	for _, p := range s.NoLongerPending {
		more[p.Owner()]--
	}
	for _, n := range more {
		c.Newly += max(0, n)
	}
	return c
}

func (s *BlastDiff) addTo(c *expect.Comparison) {
	c.Pending = s.Pending.addTo(c.Pending, s.Name)
	for _, w := range s.OneReplica {
		c.OneReplica = append(c.OneReplica, fmt.Sprintf("%s has %s left of %d", w.Qualified(), words.Count(w.Left, "replica"), w.Replicas))
	}
	for i := range s.Levels {
		l := &s.Levels[i]
		level := doc.LevelName(l.TopologyKey)
		if l.Radius != nil {
			before, after := l.Radius.Old.Share, l.Radius.New.Share
			c.Radii = append(c.Radii, expect.RadiusChange{Step: s.Name, TopologyKey: l.TopologyKey, Old: before, New: after,
				Text: fmt.Sprintf("radius of %s %s → %s", level, doc.Percent(before), doc.Percent(after))})
		}
		for _, e := range l.Excess {
			c.Excess = append(c.Excess, expect.ExcessChange{Step: s.Name, TopologyKey: l.TopologyKey, By: e.New.share(),
				Workload: e.Qualified(), New: e.Old == nil, Text: e.text(level)})
		}
		c.NotBack = append(c.NotBack, l.notBack(s.Name))
		l.QuorumLost.addTo(&c.QuorumLost)
		l.Gone.addTo(&c.Gone)
		l.BrokenBudgets.addTo(&c.BrokenBudgets)
	}
}

// notBack counts the additional pods that do not come back after the worst failure of the level.
func (d *BlastLevelDiff) notBack(step string) expect.Change {
	c := expect.Change{Step: step}
	if d.NotBack != nil {
		c.Old, c.New = d.NotBack.Old, d.NotBack.New
	}
	for _, failure := range list.GroupBy(d.NewlyStranded, func(d StrandedDiff) string { return fmt.Sprintf("%q", d.Domains) }) {
		n := 0
		for _, d := range failure {
			n += d.New - d.Old
		}
		c.Newly = max(c.Newly, n)
	}
	return c
}

// text returns "1 zone takes 4 of 6 of deployment/web (2 if spread evenly)".
func (d *ExcessDiff) text(level string) string {
	takes := " takes"
	if len(d.New.Domains) > 1 {
		takes = " take"
	}
	return fmt.Sprintf("%s %d of %d of %s (%d if spread evenly)", words.Count(len(d.New.Domains), level)+takes,
		d.New.Lost, d.New.Replicas, d.Qualified(), d.New.Even)
}

// addTo appends the change, unless it is nil. An increase counts as new.
func (c *Change) addTo(changes []expect.Change, step string) []expect.Change {
	if c == nil {
		return changes
	}
	return append(changes, expect.Change{Step: step, Old: c.Old, New: c.New, Newly: max(0, c.New-c.Old)})
}

func (d *NameDiff) addTo(names *expect.Names) {
	if d != nil {
		names.Newly, names.NoLonger = append(names.Newly, d.Newly...), append(names.NoLonger, d.NoLonger...)
	}
}
