package diff

import (
	"cmp"
	"fmt"

	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
)

// conclude asks for the verdict on what differs.
func (d *Report) conclude() {
	c := expect.Comparison{
		Steps: max(d.Old.Steps, d.New.Steps), Different: len(d.Steps) + len(d.Failures), StepsAdded: len(d.Added), StepsRemoved: len(d.Removed),
	}
	for i := range d.Steps {
		d.Steps[i].addTo(&c)
	}
	for i := range d.Failures {
		d.Failures[i].addTo(&c)
	}
	v := c.Verdict()
	d.Verdict, d.Differences, d.Worse = v.Line, v.Kinds, v.Worse
}

func (s *StepDiff) addTo(c *expect.Comparison) {
	for _, m := range s.Moved {
		c.Moved = append(c.Moved, expect.Move{Namespace: m.Namespace, OldName: cmp.Or(m.OldName, m.Name), Name: m.Name, Swapped: m.SameNodes})
	}
	c.Pending, c.NotReady = s.Pending.addTo(c.Pending, s.Name), s.NotReady.addTo(c.NotReady, s.Name)
	c.NewlyStuck += len(s.NewlyStuck)
	c.NoLongerStuck += len(s.NoLongerStuck)
	c.NewlyUnmet += len(s.NewlyUnmet)
	c.NoLongerUnmet += len(s.NoLongerUnmet)
	name := func(p DiffPod) string { return p.Namespace + "/" + p.Name }
	c.PodsAdded = append(c.PodsAdded, report.Each(s.Added, name)...)
	c.PodsRemoved = append(c.PodsRemoved, report.Each(s.Removed, name)...)
}

func (s *BlastDiff) addTo(c *expect.Comparison) {
	c.Pending = s.Pending.addTo(c.Pending, s.Name)
	for i := range s.Levels {
		l := &s.Levels[i]
		if l.Radius != nil {
			before, after := l.Radius.Old.Share, l.Radius.New.Share
			c.Radii = append(c.Radii, expect.RadiusChange{Step: s.Name, TopologyKey: l.TopologyKey, Old: before, New: after,
				Text: fmt.Sprintf("radius of %s %s → %s", text.LevelName(l.TopologyKey), text.Percent(before), text.Percent(after))})
		}
		c.Stranded, c.NotReplaced = l.Stranded.addTo(c.Stranded, s.Name), l.NotReplaced.addTo(c.NotReplaced, s.Name)
		for j := range l.Failures {
			f := &l.Failures[j]
			c.Stranded, c.NotReplaced = f.Stranded.addTo(c.Stranded, s.Name), f.NotReplaced.addTo(c.NotReplaced, s.Name)
			f.QuorumLost.addTo(&c.QuorumLost)
			f.Gone.addTo(&c.Gone)
			f.BrokenBudgets.addTo(&c.BrokenBudgets)
		}
	}
}

// addTo adds the change, if there is one.
func (c *Change) addTo(changes []expect.Change, step string) []expect.Change {
	if c == nil {
		return changes
	}
	return append(changes, expect.Change{Step: step, Old: c.Old, New: c.New})
}

func (d *NameDiff) addTo(names *expect.Names) {
	if d != nil {
		names.Newly, names.NoLonger = append(names.Newly, d.Newly...), append(names.NoLonger, d.NoLonger...)
	}
}
