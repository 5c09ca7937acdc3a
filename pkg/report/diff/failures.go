package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// failures writes the differences of one step of two BlastReports.
func (t *writer) failures(s *BlastDiff) {
	var counts []string
	if s.Pending != nil {
		counts = append(counts, s.Pending.text()+" Pending")
	}
	t.heading(s.Name, counts)
	if len(s.Added) > 0 {
		t.Linef(doc.Plain, "Levels added: %s", strings.Join(s.Added, ", "))
	}
	if len(s.Removed) > 0 {
		t.Linef(doc.Plain, "Levels removed: %s", strings.Join(s.Removed, ", "))
	}
	title := func(n int, which string) string { return words.Count(n, "workload") + " " + which + ":" }
	t.titledList(doc.Red, title(len(s.OneReplica), "with at most one replica left"), len(s.OneReplica), func(i int) string { return t.oneReplicaText(s.OneReplica[i]) })
	for i := range s.Levels {
		l := &s.Levels[i]
		level := doc.LevelName(l.TopologyKey)
		t.titledList(doc.Red, title(len(l.Excess), "further from an even spread over "+level+"s"), len(l.Excess), func(i int) string { return t.excessText(l.Excess[i]) })
		t.titledList(doc.Red, title(len(l.NewlyStranded), "with more pods that do not come back when a "+level+" fails"), len(l.NewlyStranded), func(i int) string {
			d := l.NewlyStranded[i]
			return fmt.Sprintf("%s: %s in %s", t.qualify(d.Namespace, d.Workload), d.pods(), doc.DomainsText(d.Domains))
		})
	}
	if len(s.Levels) > 0 {
		t.rows(t.levels(s), "level", "levels")
	}
	for i := range s.Levels {
		l := &s.Levels[i]
		if len(l.Failures) == 0 {
			continue
		}
		t.Linef(doc.Bold, "Failures of one %s:", doc.LevelName(l.TopologyKey))
		t.rows(l.table(), "failure", "failures")
	}
}

// oneReplicaText returns "deployment/web: 3 → 1 replica", or "deployment/web: 3 → 0 replicas".
func (t *writer) oneReplicaText(w OneReplica) string {
	return fmt.Sprintf("%s: %d → %s", t.qualify(w.Namespace, w.Workload), w.Replicas, words.Count(w.Left, "replica"))
}

// excessText returns "deployment/web: 2 of 6 → 4 of 6 in a (2 if spread evenly)".
func (t *writer) excessText(d ExcessDiff) string {
	was := "new"
	if d.Old != nil {
		was = fmt.Sprintf("%d of %d", d.Old.Lost, d.Old.Replicas)
	}
	return fmt.Sprintf("%s: %s → %d of %d in %s (%d if spread evenly)", t.qualify(d.Namespace, d.Workload), was, d.New.Lost, d.New.Replicas, doc.DomainsText(d.New.Domains), d.New.Even)
}

// Brief returns "a zone takes 4 of 6 (2 if spread evenly)".
func (d *ExcessDiff) Brief(topologyKey string) string {
	return fmt.Sprintf("a %s takes %d of %d (%d if spread evenly)", LevelNoun(topologyKey), d.New.Lost, d.New.Replicas, d.New.Even)
}

// Brief returns "2 pods do not come back when zone a fails (0 before)".
func (d *StrandedDiff) Brief(topologyKey string) string {
	return fmt.Sprintf("%s not come back when %s %s fails (%d before)", words.Count(d.New, "pod")+words.Pick(d.New, " does", " do"), LevelNoun(topologyKey), doc.DomainsText(d.Domains), d.Old)
}

// LevelNoun returns the noun for a domain of the level: zone.
func LevelNoun(topologyKey string) string { return doc.DomainOrKey(doc.LevelName(topologyKey)) }

// pods returns "1 → 2 pods".
func (d StrandedDiff) pods() string {
	return fmt.Sprintf("%d → %s", d.Old, words.Count(d.New, "pod"))
}

// levels returns a table with a row for each level.
func (t *writer) levels(s *BlastDiff) [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("LEVEL", "DOMAINS", "RADIUS", "TAKES", "NOT BACK", "STRANDED", "NOT REPLACED")}
	for _, l := range s.Levels {
		if l.Domains == nil && l.Radius == nil && l.Stranded == nil && l.NotReplaced == nil {
			continue // only single failures differ
		}
		cells := doc.Plain.Row(doc.LevelName(l.TopologyKey), l.Domains.text(), doc.None, doc.None)
		if l.Radius != nil {
			cells[2] = worseStyle(len(l.Excess) > 0).Cell(l.Radius.text())
			cells[3] = doc.Plain.Cell(l.Radius.takes(t.namespaced))
		}
		table = append(table, append(cells, worseStyle(len(l.NewlyStranded) > 0).Cell(l.NotBack.text()),
			doc.Plain.Cell(l.Stranded.text()), doc.Plain.Cell(l.NotReplaced.text())))
	}
	return dropEmptyColumns(table)
}

func (r *RadiusDiff) text() string {
	return doc.Percent(r.Old.Share) + " → " + doc.Percent(r.New.Share)
}

// worseStyle is red for a change for the worse, and plain for any other.
func worseStyle(worse bool) doc.Style {
	if worse {
		return doc.Red
	}
	return doc.Plain
}

// takes returns "deployment/web: 1 of 3 in zone-a → 2 of 3 in zone-b".
func (r *RadiusDiff) takes(namespaced bool) string {
	alike := r.Old.Namespace == r.New.Namespace && r.Old.Workload == r.New.Workload
	side := func(radius askblast.Radius) string {
		switch {
		case radius.Replicas == 0:
			return "nothing"
		case alike:
			return fmt.Sprintf("%d of %d in %s", radius.Lost, radius.Replicas, doc.DomainsText(radius.Domains))
		}
		return blast.FormatTakes(radius, namespaced) + " in " + doc.DomainsText(radius.Domains)
	}
	line := side(r.Old) + " → " + side(r.New)
	if alike && r.New.Workload != "" {
		name := r.New.Workload
		if namespaced {
			name = r.New.Namespace + "/" + name
		}
		line = name + ": " + line
	}
	return line
}

// table returns a row for each failure, below the titles. Failures that grew most come first.
func (d *BlastLevelDiff) table() [][]doc.Cell {
	table := [][]doc.Cell{doc.Bold.Row("DOMAIN", "TAKES UP TO", "NOT BACK", "STRANDED", "NOT REPLACED", "QUORUM LOST", "GONE", "BUDGETS BROKEN")}
	failures := slices.Clone(d.Failures)
	slices.SortStableFunc(failures, func(a, b FailureDiff) int {
		return cmp.Or(cmp.Compare(b.Share.growth(), a.Share.growth()), cmp.Compare(b.NotBack.growth(), a.NotBack.growth()))
	})
	for _, f := range failures {
		takes := doc.None
		if f.Share != nil {
			takes = doc.Percent(f.Share.Old) + " → " + doc.Percent(f.Share.New)
		}
		table = append(table, doc.Plain.Row(doc.DomainsText(f.Domains), takes, f.NotBack.text(), f.Stranded.text(), f.NotReplaced.text(),
			f.QuorumLost.text(), f.Gone.text(), f.BrokenBudgets.text()))
	}
	return dropEmptyColumns(table)
}

func (s *ShareDiff) growth() float64 {
	if s == nil {
		return 0
	}
	return s.New - s.Old
}

func (c *Change) growth() int {
	if c == nil {
		return 0
	}
	return c.New - c.Old
}

// text returns "newly default/deployment/web; no longer default/deployment/db".
func (d *NameDiff) text() string {
	if d == nil {
		return doc.None
	}
	var parts []string
	if len(d.Newly) > 0 {
		parts = append(parts, "newly "+strings.Join(d.Newly, ", "))
	}
	if len(d.NoLonger) > 0 {
		parts = append(parts, "no longer "+strings.Join(d.NoLonger, ", "))
	}
	return strings.Join(parts, "; ")
}
