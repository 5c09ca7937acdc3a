package blast

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// row is a failure in a table, with its step and level and the noun for the level's domains. failure is nil if no failure of the level
// takes a pod.
type row struct {
	step    *Step
	level   *blast.Level
	noun    string
	failure *blast.Failure
}

// levels returns a table with a row for each step and level: the radius, and the most harmful failure.
func (t *writer) levels() [][]doc.Cell {
	var rows []row
	for i := range t.report.Steps {
		step := &t.report.Steps[i]
		for j, noun := range step.nouns() {
			rows = append(rows, row{step, &step.Levels[j], noun, worstOf(&step.Levels[j])})
		}
	}
	var c doc.TableOf[row]
	if len(t.report.Steps) > 1 {
		c.Text("STEP", func(r row) string { return r.step.Name })
		c.Number("PENDING", doc.Yellow, func(r row) int { return r.step.Pending })
	}
	c.Text("LEVEL", func(r row) string { return r.noun })
	c.Add("RADIUS", func(r row) doc.Cell { return shareCell(r.level.Replicated.Share) })
	c.Text("TAKES", t.takes)
	c.Text("EVEN", even)
	c.Add("EXCESS", func(r row) doc.Cell {
		if r.level.Replicated.Replicas == 0 || r.level.Excess == nil {
			return shareCell(0)
		}
		return shareCell(r.level.Excess.Share)
	})
	c.Text("WORST", func(r row) string {
		if r.failure == nil {
			return doc.None
		}
		return doc.DomainsText(r.failure.Domains)
	})
	c.Number("DOWN", doc.Red, func(r row) int {
		if r.failure == nil {
			return 0
		}
		return r.level.Harm(r.failure).Down
	})
	if t.wide {
		c.Number("DOMAINS", doc.Plain, func(r row) int { return r.level.Domains })
		c.Text("MEAN", func(r row) string { return mean(r.level) })
	}
	if t.report.Recover {
		t.recovery(&c, "NOT BACK", notBack)
		if t.wide {
			t.replacements(&c)
		}
		if t.report.scaled() {
			t.recovery(&c, "NEW NODES", newNodes)
		}
		t.recovery(&c, "AFTER", after)
	}
	table := c.Rows(rows)
	table[0] = doc.Dropped(table[0], "PENDING", "EVEN", "EXCESS", "AFTER")
	return table
}

func shareCell(share float64) doc.Cell { return doc.ShareStyle(share).Cell(doc.Percent(share)) }

// recovery adds a column about recoveries. The cell of a failure without a simulated recovery is <none>, or "not tried" if the command was
// interrupted.
func (t *writer) recovery(c *doc.TableOf[row], title string, cell func(*blast.Recovery) doc.Cell) {
	none := doc.None
	if t.report.known() {
		none = "not tried"
	}
	c.Add(title, func(r row) doc.Cell {
		if found := r.level.Recovery(r.failure); found != nil {
			return cell(found)
		}
		return doc.Plain.Cell(none)
	})
}

// replacements adds the columns that count stranded, not replaced and recovered pods.
func (t *writer) replacements(c *doc.TableOf[row]) {
	t.recovery(c, "STRANDED", func(r *blast.Recovery) doc.Cell { return doc.Number(len(r.Stranded), doc.Yellow) })
	t.recovery(c, "NOT REPLACED", func(r *blast.Recovery) doc.Cell { return doc.Number(r.Unreplaced(), doc.Red) })
	t.recovery(c, "RECOVERED", func(r *blast.Recovery) doc.Cell { return doc.Number(len(r.Recovered), doc.Green) })
}

func after(r *blast.Recovery) doc.Cell { return shareCell(r.AfterReplicated.Share) }

// levels returns the short names of the step's levels.
func (s *Step) levels() []string {
	return doc.Shorts(list.Each(s.Levels, func(l blast.Level) string { return l.TopologyKey }))
}

// nouns returns the nouns for the domains of the step's levels: region, zone, node, rack.
func (s *Step) nouns() []string {
	names := s.levels()
	for i := range names {
		names[i] = doc.DomainNoun(s.Levels[i].TopologyKey, names[i])
	}
	return names
}

// takes returns "web 2/3" for the loss that is the radius, with the domain of that failure if it is not the worst one.
func (t *writer) takes(row row) string {
	r := row.level.Replicated
	if r.Replicas == 0 {
		return doc.None
	}
	takes := Takes(r, t.namespaced)
	if loss := lossOf(row.level, r); loss != nil {
		takes = fmt.Sprintf("%s %d/%d", t.name(*loss), loss.Lost, loss.Replicas)
	}
	if row.failure != nil && !slices.Equal(row.failure.Domains, r.Domains) {
		takes += " (" + doc.DomainsText(r.Domains) + ")"
	}
	return takes
}

// even returns the share that an even spread would lose of the workload that makes the radius.
func even(row row) string {
	loss := lossOf(row.level, row.level.Replicated)
	if loss == nil || row.level.Replicated.Replicas == 0 {
		return doc.None
	}
	return doc.Percent(float64(loss.Even) / float64(loss.Replicas))
}

// lossOf returns the loss that makes the radius, or nil if no failure has it.
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

// notBack returns "2 of 12": how many of the lost pods do not come back.
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

// newNodes returns "4, 0.80 an hour": how many nodes the autoscaler adds, and what they cost.
func newNodes(r *blast.Recovery) doc.Cell {
	if r.Autoscaling == nil {
		return doc.Plain.Cell(doc.None)
	}
	cell := fmt.Sprint(len(r.Autoscaling.Added))
	if more, known := r.Autoscaling.Costs(); known {
		cell += fmt.Sprintf(", %s an hour", doc.Amount(more))
	}
	return doc.Plain.Cell(cell)
}

// mean returns the mean over all failures of the largest share that each takes of a workload of two or more replicas.
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

// worstOf returns the most harmful failure of the level, or nil if none takes a pod.
func worstOf(l *blast.Level) *blast.Failure {
	if failures := l.ByHarm(); len(failures) > 0 && failures[0].Pods > 0 {
		return failures[0]
	}
	return nil
}

// Takes returns "2 of 3 of deployment/web".
func Takes(r blast.Radius, namespaced bool) string {
	workload := r.Workload
	if namespaced {
		workload = r.Namespace + "/" + workload
	}
	return fmt.Sprintf("%d of %d of %s", r.Lost, r.Replicas, workload)
}
