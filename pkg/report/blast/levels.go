package blast

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// failureRow is a failure in a table, with its step and level and the noun for the level's domains. failure is nil if no failure of the level
// takes a pod.
type failureRow struct {
	step    *Step
	level   *blast.Level
	noun    string
	failure *blast.Failure
}

// levels returns a table with a row for each step and level: the radius, and the most harmful failure.
func (t *writer) levels() [][]doc.Cell {
	var rows []failureRow
	for i := range t.report.Steps {
		step := &t.report.Steps[i]
		for j, noun := range step.nouns() {
			rows = append(rows, failureRow{step, &step.Levels[j], noun, worstFailure(&step.Levels[j])})
		}
	}
	var c doc.TableBuilder[failureRow]
	if len(t.report.Steps) > 1 {
		c.AddTextColumn("STEP", func(r failureRow) string { return r.step.Name })
		c.AddNumberColumn("PENDING", doc.Yellow, func(r failureRow) int { return r.step.Pending })
	}
	c.AddTextColumn("LEVEL", func(r failureRow) string { return r.noun })
	c.AddColumn("RADIUS", func(r failureRow) doc.Cell { return shareCell(r.level.Replicated.Share) })
	c.AddTextColumn("TAKES", t.radiusTakes)
	c.AddTextColumn("EVEN", evenShare)
	c.AddColumn("EXCESS", func(r failureRow) doc.Cell {
		if r.level.Replicated.Replicas == 0 || r.level.Excess == nil {
			return shareCell(0)
		}
		return shareCell(r.level.Excess.Share)
	})
	c.AddTextColumn("WORST", func(r failureRow) string {
		if r.failure == nil {
			return doc.None
		}
		return doc.DomainsText(r.failure.Domains)
	})
	c.AddNumberColumn("DOWN", doc.Red, func(r failureRow) int {
		if r.failure == nil {
			return 0
		}
		return r.level.Harm(r.failure).Down
	})
	if t.wide {
		c.AddNumberColumn("DOMAINS", doc.Plain, func(r failureRow) int { return r.level.Domains })
		c.AddTextColumn("MEAN", func(r failureRow) string { return meanShare(r.level) })
	}
	if t.report.Recover {
		t.recoveryColumn(&c, "NOT BACK", notBackCell)
		if t.wide {
			t.replacementColumns(&c)
		}
		if t.report.addsNodes() {
			t.recoveryColumn(&c, "NEW NODES", newNodesCell)
		}
		t.recoveryColumn(&c, "AFTER", afterCell)
	}
	table := c.Rows(rows)
	table[0] = doc.SetDropOrder(table[0], "PENDING", "EVEN", "EXCESS", "AFTER")
	return table
}

func shareCell(share float64) doc.Cell { return doc.ShareStyle(share).Cell(doc.Percent(share)) }

// recoveryColumn adds a column about recoveries. The cell of a failure without a simulated recovery is <none>, or "not tried" if the command was
// interrupted.
func (t *writer) recoveryColumn(c *doc.TableBuilder[failureRow], title string, cell func(*blast.Recovery) doc.Cell) {
	none := doc.None
	if t.report.judgesTriedOnly() {
		none = "not tried"
	}
	c.AddColumn(title, func(r failureRow) doc.Cell {
		if found := r.level.Recovery(r.failure); found != nil {
			return cell(found)
		}
		return doc.Plain.Cell(none)
	})
}

// replacementColumns adds the columns that count stranded, not replaced and recovered pods.
func (t *writer) replacementColumns(c *doc.TableBuilder[failureRow]) {
	t.recoveryColumn(c, "STRANDED", func(r *blast.Recovery) doc.Cell { return doc.Number(len(r.Stranded), doc.Yellow) })
	t.recoveryColumn(c, "NOT REPLACED", func(r *blast.Recovery) doc.Cell { return doc.Number(r.CountNotReplaced(), doc.Red) })
	t.recoveryColumn(c, "RECOVERED", func(r *blast.Recovery) doc.Cell { return doc.Number(len(r.Recovered), doc.Green) })
}

func afterCell(r *blast.Recovery) doc.Cell { return shareCell(r.AfterReplicated.Share) }

// levelNames returns the short names of the step's levels.
func (s *Step) levelNames() []string {
	return doc.ShortKeys(list.Map(s.Levels, func(l blast.Level) string { return l.TopologyKey }))
}

// nouns returns the nouns for the domains of the step's levels: region, zone, node, rack.
func (s *Step) nouns() []string {
	names := s.levelNames()
	for i := range names {
		names[i] = doc.DomainNoun(s.Levels[i].TopologyKey, names[i])
	}
	return names
}

// radiusTakes returns "web 2/3" for the loss that is the radius, with the domain of that failure if it is not the worst one.
func (t *writer) radiusTakes(row failureRow) string {
	r := row.level.Replicated
	if r.Replicas == 0 {
		return doc.None
	}
	takes := FormatTakes(r, t.namespaced)
	if loss := lossOf(row.level, r); loss != nil {
		takes = fmt.Sprintf("%s %d/%d", t.workloadName(*loss), loss.Lost, loss.Replicas)
	}
	if row.failure != nil && !slices.Equal(row.failure.Domains, r.Domains) {
		takes += " (" + doc.DomainsText(r.Domains) + ")"
	}
	return takes
}

// evenShare returns the share that an even spread would lose of the workload that makes the radius.
func evenShare(row failureRow) string {
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

// notBackCell returns "2 of 12": how many of the lost pods do not come back.
func notBackCell(r *blast.Recovery) doc.Cell {
	cell := doc.Number(r.CountNotBack(), doc.Red)
	cell.Text = fmt.Sprintf("%d of %d", r.CountNotBack(), r.CountLost())
	return cell
}

// addsNodes reports whether an autoscaler or a decider added nodes after any failure.
func (r *Report) addsNodes() bool {
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			for _, f := range r.Steps[i].Levels[j].Failures {
				if f.Recovery != nil && (f.Recovery.Autoscaling != nil || f.Recovery.Decided != nil) {
					return true
				}
			}
		}
	}
	return false
}

// newNodesCell returns "4, 0.80 an hour": how many nodes the autoscaler and the deciders add, and what they cost more.
func newNodesCell(r *blast.Recovery) doc.Cell {
	added, cost, priced := 0, 0.0, r.Autoscaling != nil || r.Decided != nil
	if r.Autoscaling != nil {
		added = len(r.Autoscaling.Added)
		cost, priced = r.Autoscaling.ExtraCost()
	}
	for _, did := range r.Decided {
		added += len(did.AddedNodes)
		cost, priced = cost+ptr.Deref(did.ExtraCost, 0), priced && did.ExtraCost != nil
	}
	switch {
	case r.Autoscaling == nil && r.Decided == nil:
		return doc.Plain.Cell(doc.None)
	case !priced:
		return doc.Plain.Cell(fmt.Sprint(added))
	}
	return doc.Plain.Cellf("%d, %s an hour", added, doc.Amount(cost))
}

// meanShare returns the mean over all failures of the largest share that each takes of a workload of two or more replicas.
func meanShare(l *blast.Level) string {
	if l.Mean == nil || len(l.Failures) == 0 {
		return doc.None
	}
	sum := 0.0
	for i := range l.Failures {
		sum += l.Failures[i].ReplicatedShare()
	}
	return doc.Percent(sum / float64(len(l.Failures)))
}

// worstFailure returns the most harmful failure of the level, or nil if none takes a pod.
func worstFailure(l *blast.Level) *blast.Failure {
	if failures := l.ByHarm(); len(failures) > 0 && failures[0].Pods > 0 {
		return failures[0]
	}
	return nil
}

// FormatTakes returns "2 of 3 of deployment/web".
func FormatTakes(r blast.Radius, namespaced bool) string {
	workload := r.Workload
	if namespaced {
		workload = r.Namespace + "/" + workload
	}
	return fmt.Sprintf("%d of %d of %s", r.Lost, r.Replicas, workload)
}
