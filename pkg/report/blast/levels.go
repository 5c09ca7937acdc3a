package blast

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// levels is a row for each step and level below the titles: the radius, and the failure that does most harm.
func (t *writer) levels() [][]doc.Cell {
	steps := len(t.report.Steps) > 1
	titles := []string{"LEVEL", "RADIUS", "TAKES", "EVEN", "EXCESS", "WORST", "DOWN"}
	if steps {
		titles = append([]string{"STEP", "PENDING"}, titles...)
	}
	if t.wide {
		titles = append(titles, "DOMAINS", "MEAN")
	}
	if t.report.Recover {
		titles = append(titles, "NOT BACK")
		if t.wide {
			titles = append(titles, "STRANDED", "NOT REPLACED", "RECOVERED")
		}
		if t.report.scaled() {
			titles = append(titles, "NEW NODES")
		}
		titles = append(titles, "AFTER")
	}
	table := [][]doc.Cell{doc.Dropped(doc.Bold.Row(titles...), "PENDING", "EVEN", "EXCESS", "AFTER")}
	for i := range t.report.Steps {
		step := &t.report.Steps[i]
		names := step.nouns()
		for j := range step.Levels {
			l := &step.Levels[j]
			var cells []doc.Cell
			if steps {
				cells = []doc.Cell{doc.Plain.Cell(step.Name), doc.Number(step.Pending, doc.Yellow)}
			}
			worst := worstOf(l)
			table = append(table, slices.Concat(cells, doc.Plain.Row(names[j]), t.radius(l, worst), t.worst(l, worst)))
		}
	}
	return table
}

// levels are the short names of the step's levels.
func (s *Step) levels() []string {
	return doc.Shorts(list.Each(s.Levels, func(l blast.Level) string { return l.TopologyKey }))
}

// nouns are what the domains of the step's levels are called: region, zone, node, rack.
func (s *Step) nouns() []string {
	names := s.levels()
	for i := range names {
		names[i] = doc.DomainNoun(s.Levels[i].TopologyKey, names[i])
	}
	return names
}

// radius fills RADIUS, TAKES, EVEN and EXCESS. TAKES names the domain where that is not the worst one.
func (t *writer) radius(l *blast.Level, worst *blast.Failure) []doc.Cell {
	r := l.Replicated
	if r.Replicas == 0 {
		return doc.Plain.Row("0%", doc.None, doc.None, "0%")
	}
	takes, even := Takes(r, t.namespaced), doc.None
	if loss := lossOf(l, r); loss != nil {
		takes, even = fmt.Sprintf("%s %d/%d", t.name(*loss), loss.Lost, loss.Replicas), doc.Percent(float64(loss.Even)/float64(loss.Replicas))
	}
	if worst != nil && !slices.Equal(worst.Domains, r.Domains) {
		takes += " (" + doc.DomainsText(r.Domains) + ")"
	}
	excess := 0.0
	if l.Excess != nil {
		excess = l.Excess.Share
	}
	return []doc.Cell{
		doc.ShareStyle(r.Share).Cell(doc.Percent(r.Share)), doc.Plain.Cell(takes), doc.Plain.Cell(even),
		doc.ShareStyle(excess).Cell(doc.Percent(excess)),
	}
}

// lossOf is the loss that is the radius; nil if no failure has it.
func lossOf(l *blast.Level, r blast.Radius) *blast.Loss {
	for i := range l.Failures {
		if !slices.Equal(l.Failures[i].Domains, r.Domains) {
			continue
		}
		for j := range l.Failures[i].Workloads {
			if loss := &l.Failures[i].Workloads[j]; loss.Namespace == r.Namespace && loss.Ref.String() == r.Workload && loss.Replicas > 0 {
				return loss
			}
		}
	}
	return nil
}

// worst fills the columns of the failure that does most harm.
func (t *writer) worst(l *blast.Level, f *blast.Failure) []doc.Cell {
	cells := doc.Plain.Row(doc.None, "0")
	if f != nil {
		cells = []doc.Cell{doc.Plain.Cell(doc.DomainsText(f.Domains)), doc.Number(l.Harm(f).Down, doc.Red)}
	}
	if t.wide {
		cells = append(cells, doc.Number(l.Domains, doc.Plain), doc.Plain.Cell(mean(l)))
	}
	switch r := l.Recovery(f); {
	case !t.report.Recover:
	case r != nil:
		cells = append(cells, notBack(r))
		if t.wide {
			cells = append(cells, doc.Number(len(r.Stranded), doc.Yellow), doc.Number(r.Unreplaced(), doc.Red), doc.Number(len(r.Recovered), doc.Green))
		}
		if t.report.scaled() {
			cells = append(cells, doc.Plain.Cell(newNodes(r)))
		}
		cells = append(cells, doc.ShareStyle(r.AfterReplicated.Share).Cell(doc.Percent(r.AfterReplicated.Share)))
	default:
		columns := 2
		if t.wide {
			columns += 3
		}
		if t.report.scaled() {
			columns++
		}
		cells = append(cells, doc.Plain.Row(slices.Repeat([]string{doc.None}, columns)...)...)
	}
	return cells
}

// notBack is "2 of 12": how many of the lost pods do not come back.
func notBack(r *blast.Recovery) doc.Cell {
	cell := doc.Number(r.Gone(), doc.Red)
	cell.Text = fmt.Sprintf("%d of %d", r.Gone(), r.CountLost())
	return cell
}

// scaled reports whether an autoscaler added nodes after any failure.
func (r *Report) scaled() bool {
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			for _, f := range r.Steps[i].Levels[j].Failures {
				if f.Recovery != nil && f.Recovery.Autoscaling != nil {
					return true
				}
			}
		}
	}
	return false
}

// newNodes is "4, 0.80": how many nodes the autoscaler adds, and what they cost in an hour.
func newNodes(r *blast.Recovery) string {
	if r.Autoscaling == nil {
		return doc.None
	}
	cell := fmt.Sprint(len(r.Autoscaling.Added))
	if more, known := r.Autoscaling.Costs(); known {
		cell += fmt.Sprintf(", %s an hour", doc.Amount(more))
	}
	return cell
}

// mean is that of the largest share of a workload of two or more replicas that each failure takes.
func mean(l *blast.Level) string {
	if l.Mean == nil || len(l.Failures) == 0 {
		return doc.None
	}
	sum := 0.0
	for i := range l.Failures {
		sum += l.Failures[i].Replicated()
	}
	return doc.Percent(sum / float64(len(l.Failures)))
}

// worst returns the failure that does most harm; nil if none takes anything.
func worstOf(l *blast.Level) *blast.Failure {
	if failures := l.ByHarm(); len(failures) > 0 && failures[0].Pods > 0 {
		return failures[0]
	}
	return nil
}

// Takes is "2 of 3 of deployment/web".
func Takes(r blast.Radius, namespaced bool) string {
	workload := r.Workload
	if namespaced {
		workload = r.Namespace + "/" + workload
	}
	return fmt.Sprintf("%d of %d of %s", r.Lost, r.Replicas, workload)
}
