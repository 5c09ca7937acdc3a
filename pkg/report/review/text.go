package review

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/ask/review"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, and All lists every risk and change.
var Formats = format.Of[Report]{Question: func(*Report) string { return "Review" }, Doc: document, Brief: true, Bars: bars}.Formats()

// The largest numbers of rows of the tables without All.
const maxRisks, maxChanges, maxGroups = 10, 20, 12

// document is the answer, then what has changed, the room in each group, the pods that each loss leaves behind, and the risks with their
// fixes.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.answer())
	if r.Since != "" {
		d.Linef(doc.Plain, "%s", r.changesSentence())
	}
	if level, worst := r.worstLoss(); worst != nil && worst.NotBack > 0 {
		d.Linef(doc.Plain, "What to add and to change so that nobody is stranded: simulate plan --survive %s.", surviveValue(level))
	}
	if len(r.Changes) > 0 {
		d.Section("What has changed")
		d.Add(doc.Table{Rows: r.changeTable(), Most: maxChanges, Noun: "change", Nouns: "changes"})
	}
	d.Section("Room in each group of nodes")
	d.Add(doc.Table{Rows: r.roomTable(), Most: maxGroups, Noun: "group", Nouns: "groups"})
	for i := range r.Levels {
		title := "Loss of each " + domainNoun(&r.Levels[i])
		if _, value, is := topology.SplitValue(r.Levels[i].TopologyKey); is {
			title = fmt.Sprintf("Loss of %s %s", domainNoun(&r.Levels[i]), value)
		}
		d.Section(title)
		d.Add(doc.Table{Rows: lossTable(&r.Levels[i]), Most: maxGroups, Noun: "domain", Nouns: "domains"})
	}
	if len(r.Risks) > 0 {
		d.Section("Risks")
		if opts.All || opts.Page {
			d.Add(doc.Table{Rows: r.riskTable()})
		} else {
			d.Add(doc.Table{Rows: r.checkTable(), Most: maxRisks, Noun: "check", Nouns: "checks"})
		}
	}
	d.Space()
	d.Header()
	return &d
}

// worstLoss returns the loss after which most pods do not come back, the first of equal ones, and its level. A level with one domain only
// counts if the user asked about it, since the loss of the only domain always takes everything. It returns nil if no level counts.
func (r *Report) worstLoss() (*review.Level, *review.Loss) {
	var of *review.Level
	var worst *review.Loss
	for i := range r.Levels {
		level := &r.Levels[i]
		for j := range level.Losses {
			if _, _, chosen := topology.SplitValue(level.TopologyKey); (len(level.Losses) > 1 || chosen || r.Partial != "") && (worst == nil || level.Losses[j].NotBack > worst.NotBack) {
				of, worst = level, &level.Losses[j]
			}
		}
	}
	return of, worst
}

// answer returns the worst loss, the Pending pods, the findings of lint, and the cost of the nodes.
func (r *Report) answer() doc.Cell {
	style := doc.Green
	var parts []string
	switch level, worst := r.worstLoss(); {
	case len(r.NotRunning) > 0 && r.Running == 0:
		parts = append(parts, words.UpperFirst(doc.NothingToLose(r.NotRunning)))
	case worst == nil:
		parts = append(parts, "No level has several domains that could fail")
	case worst.NotBack == 0:
		parts = append(parts, "Every lost pod comes back after the loss of any of "+words.And(list.Map(r.Levels, countDomains)))
	default:
		style = doc.Yellow
		text := fmt.Sprintf("After the loss of %s %s %d of %d lost pods %s not come back", domainNoun(level), worst.Domain, worst.NotBack, worst.Lost, words.Pick(worst.NotBack, "does", "do"))
		if len(level.Losses) > 1 {
			text += ", the most of " + countDomains(*level)
		}
		parts = append(parts, text)
	}
	if len(r.NotRunning) > 0 && r.Running > 0 {
		parts = append(parts, doc.NothingToLose(r.NotRunning))
	}
	parts = append(parts, fmt.Sprintf("%d of %s %s Pending now", r.Pending, words.Count(r.Running+r.Pending, "pod"), words.Pick(r.Pending, "is", "are")))
	if r.Pending > 0 {
		style = doc.Yellow
	}
	errors, warnings := r.countRisks(lint.Error), r.countRisks(lint.Warning)
	if errors > 0 {
		style = doc.Red
	}
	if !r.Unchecked {
		parts = append(parts, fmt.Sprintf("lint finds %s and %s", words.Count(errors, "error"), words.Count(warnings, "warning")))
	}
	if r.Cost != nil {
		parts = append(parts, "the nodes cost "+r.cost())
	}
	return style.Cell(strings.Join(parts, "; ") + ".")
}

// domainNoun returns the noun for a domain of the level: zone, also for the level zone=b.
func domainNoun(level *review.Level) string {
	key, _, chosen := topology.SplitValue(level.TopologyKey)
	if !chosen {
		key = level.TopologyKey
	}
	return doc.DomainOrKey(doc.LevelName(key))
}

// countDomains counts the domains of the level: "3 zones".
func countDomains(level review.Level) string {
	return words.Count(len(level.Losses), domainNoun(&level))
}

// surviveValue returns the level in the form of --survive: zone, or zone=b.
func surviveValue(level *review.Level) string {
	if _, value, is := topology.SplitValue(level.TopologyKey); is {
		return domainNoun(level) + "=" + value
	}
	return doc.LevelName(level.TopologyKey)
}

func (r *Report) countRisks(severity lint.Severity) int {
	return list.Count(r.Risks, func(risk review.Risk) bool { return risk.Severity == severity })
}

// cost returns the cost of the nodes, and how many of them have no price.
func (r *Report) cost() string {
	text := fmt.Sprintf("%.2f an hour", *r.Cost)
	if r.Unpriced > 0 {
		text += fmt.Sprintf(", without %s of unknown price", words.Count(r.Unpriced, "node"))
	}
	return text
}

// changesSentence sums up what has changed: nodes, pods that do not come back, risks, and other figures.
func (r *Report) changesSentence() string {
	if len(r.Changes) == 0 {
		return fmt.Sprintf("Nothing has changed since %s.", r.Since)
	}
	sum := func(what string) (more, less float64) {
		for _, c := range r.Changes {
			if c.What == what {
				more, less = more+max(0, c.After-c.Before), less+max(0, c.Before-c.After)
			}
		}
		return more, less
	}
	var parts []string
	for _, of := range []struct{ what, more, less string }{
		{Nodes, "%s more", "%s fewer"}, {Risk, "%s new", "%s gone"},
	} {
		noun := strings.TrimSuffix(of.what, "s")
		more, less := sum(of.what)
		if more > 0 {
			parts = append(parts, fmt.Sprintf(of.more, words.Count(int(more), noun)))
		}
		if less > 0 {
			parts = append(parts, fmt.Sprintf(of.less, words.Count(int(less), noun)))
		}
	}
	for _, c := range r.Changes {
		switch {
		case c.What == NotBack:
			parts = append(parts, fmt.Sprintf("%g not back after the loss of %s, before %g", c.After, c.Name, c.Before))
		case c.What == Pods && c.Name == "pending":
			parts = append(parts, fmt.Sprintf("%g Pending, before %g", c.After, c.Before))
		case c.What == Cost:
			parts = append(parts, fmt.Sprintf("%.2f an hour, before %.2f", c.After, c.Before))
		}
	}
	if scaled := list.Count(r.Changes, func(c Change) bool { return c.What == Workload }); scaled > 0 {
		parts = append(parts, words.Count(scaled, "workload")+" with other numbers of running pods")
	}
	return fmt.Sprintf("Since %s: %s.", r.Since, strings.Join(parts, "; "))
}

// changeTexts has the words for the kinds of changes.
var changeTexts = map[string]string{
	Pods: "pods", Nodes: "nodes of group", Cost: "cost of the nodes in an hour", NotBack: "pods not back after the loss of", Down: "workloads down after the loss of",
	Risk: "risk", Workload: "running pods of",
}

func (r *Report) changeTable() [][]doc.Cell {
	var c doc.TableBuilder[Change]
	c.AddTextColumn("WHAT", func(c Change) string { return strings.TrimSpace(changeTexts[c.What] + " " + c.Name) })
	c.AddTextColumn("BEFORE", func(c Change) string { return doc.Amount(c.Before) })
	c.AddTextColumn("NOW", func(c Change) string { return doc.Amount(c.After) })
	return c.Rows(r.Changes)
}

// roomTable returns the titles, and a row for each group: its free capacity, and the part of it that workloads can use.
func (r *Report) roomTable() [][]doc.Cell {
	var c doc.TableBuilder[review.Group]
	c.AddTextColumn("GROUP", func(g review.Group) string { return g.Group })
	c.AddNumberColumn("NODES", doc.Plain, func(g review.Group) int { return g.Nodes })
	for _, of := range []struct {
		title string
		name  v1.ResourceName
		spare func(review.Group) capacity.Spare
	}{
		{"CPU", v1.ResourceCPU, func(g review.Group) capacity.Spare { return g.CPU }},
		{"MEMORY", v1.ResourceMemory, func(g review.Group) capacity.Spare { return g.Memory }},
	} {
		c.AddTextColumn(of.title, func(g review.Group) string { return doc.Quantity(of.name, of.spare(g).Allocatable) })
		c.AddTextColumn("FREE", func(g review.Group) string { return doc.Quantity(of.name, of.spare(g).Free) })
		c.AddTextColumn("USABLE", func(g review.Group) string { return doc.Quantity(of.name, of.spare(g).Free-of.spare(g).Stranded) })
	}
	if r.Cost != nil {
		c.AddTextColumn("COST/H", func(g review.Group) string {
			if g.Cost == nil {
				return doc.None
			}
			return fmt.Sprintf("%.2f", *g.Cost)
		})
	}
	return c.Rows(r.Groups)
}

func lossTable(level *review.Level) [][]doc.Cell {
	var c doc.TableBuilder[review.Loss]
	c.AddTextColumn("DOMAIN", func(l review.Loss) string { return l.Domain })
	c.AddNumberColumn("NODES", doc.Plain, func(l review.Loss) int { return l.Nodes })
	c.AddNumberColumn("LOST PODS", doc.Plain, func(l review.Loss) int { return l.Lost })
	c.AddNumberColumn("NOT BACK", doc.Yellow, func(l review.Loss) int { return l.NotBack })
	c.AddNumberColumn("WORKLOADS DOWN", doc.Yellow, func(l review.Loss) int { return l.Down })
	c.AddNumberColumn("BUDGETS BROKEN", doc.Yellow, func(l review.Loss) int { return l.BrokenBudgets })
	return c.Rows(level.Losses)
}

var severityStyles = map[lint.Severity]doc.Style{lint.Error: doc.Red, lint.Warning: doc.Yellow, lint.Note: doc.Plain}

// checkTable returns the titles, and a row for each check with a finding, with its first finding.
func (r *Report) checkTable() [][]doc.Cell {
	var c doc.TableBuilder[[]review.Risk]
	c.AddColumn("RISK", func(all []review.Risk) doc.Cell {
		return severityStyles[all[0].Severity].LinkTo(all[0].Check, lint.Page(all[0].Check))
	})
	c.AddNumberColumn("OBJECTS", doc.Plain, func(all []review.Risk) int { return len(all) })
	c.AddTextColumn("FIRST", func(all []review.Risk) string { return all[0].Object })
	c.AddTextColumn("FIX", func(all []review.Risk) string { return all[0].Fix })
	return c.Rows(list.GroupBy(r.Risks, func(risk review.Risk) string { return string(risk.Severity) + risk.Check }))
}

// riskTable returns the titles, and a row for each finding.
func (r *Report) riskTable() [][]doc.Cell {
	var c doc.TableBuilder[review.Risk]
	c.AddColumn("RISK", func(risk review.Risk) doc.Cell {
		return severityStyles[risk.Severity].LinkTo(risk.Check, lint.Page(risk.Check))
	})
	c.AddTextColumn("OBJECT", func(risk review.Risk) string { return risk.Object })
	c.AddTextColumn("FOUND", func(risk review.Risk) string { return risk.Message })
	c.AddTextColumn("FIX", func(risk review.Risk) string { return risk.Fix })
	return c.Rows(r.Risks)
}
