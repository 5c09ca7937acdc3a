package peak

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/ask/peak"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, and All lists every workload.
var Formats = format.Of[Report]{Question: (*Report).question, Doc: document, Brief: true, Course: course}.Formats()

// question returns the title of the page.
func (r *Report) question() string {
	title := "The peak"
	if len(r.Survive) > 0 {
		title += ", and the loss of " + strings.Join(list.Map(r.Survive, doc.AnyDomain), " or ")
	}
	return title
}

// course returns the curves over the way to the peak.
func course(r *Report) *doc.Course {
	c := &doc.Course{Title: "pods without a node on the way to the peak", Curves: []doc.Curve{{Name: "at the share of the way", Style: doc.Red}}}
	if len(r.Survive) > 0 {
		c.Curves = append(c.Curves, doc.Curve{Name: "with the worst loss that was tried", Style: doc.Yellow})
	}
	for i := range r.Curve {
		p := &r.Curve[i]
		c.Moments = append(c.Moments, percent(p.Share))
		c.Curves[0].Values = append(c.Curves[0].Values, float64(p.Short))
		if len(c.Curves) > 1 {
			c.Curves[1].Values = append(c.Curves[1].Values, float64(p.Most()))
		}
	}
	return c
}

// document is the verdict and the safe share, what to do, what binds, who has no node, who grows, and the curve.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.verdict())
	writeSafe(&d, r)
	writeCronJobs(&d, r)
	most := 0
	for i := range r.Losses {
		most = max(most, r.Losses[i].Unreplaced)
	}
	if most > 0 {
		d.Linef(doc.Plain, "Nothing replaces %s of one loss, at most: %s back with their nodes, and need no room.", words.Count(most, "pod"), words.Pick(most, "such pods come", "they come"))
	}
	d.Space()
	writeRemedies(&d, r)
	d.Space()
	writeStarved(&d, r)
	d.Space()
	writeWorkloads(&d, r)
	d.Space()
	writeGroups(&d, r)
	d.Space()
	writeLosses(&d, r)
	d.Space()
	writeCurve(&d, r)
	d.Header()
	return &d
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) + " %" }

// at says which load is asked about.
func (r *Report) at() string {
	switch {
	case len(r.Workloads)+len(r.CronJobs) == 0:
		return "at peak, where nothing grows,"
	case r.Share < 1:
		return fmt.Sprintf("at %s of the way to the peak", percent(r.Share))
	}
	return "at peak"
}

// verdict returns the first line.
func (r *Report) verdict() doc.Cell {
	of := r.Pods - r.StillPending
	others := ""
	if r.StillPending > 0 {
		others = fmt.Sprintf(" (%s Pending before)", words.Pick(r.StillPending, "1 other was", fmt.Sprintf("%d others were", r.StillPending)))
	}
	worst := r.Worst()
	switch {
	case of == 0 && r.StillPending > 0:
		return doc.Red.Cellf("No pod has a node, at peak or before: %s Pending, and there is nothing that a loss could take.", words.Is(r.StillPending, "pod"))
	case r.Short == 0 && worst == nil:
		line := fmt.Sprintf("Yes: %s all %s have a node%s", r.at(), words.Count(of, "pod"), others)
		if of == 1 {
			line = fmt.Sprintf("Yes: %s the only pod has a node%s", r.at(), others)
		}
		if len(r.Losses) > 0 {
			line += ", also if " + words.Or(list.Map(r.Survive, doc.AnyDomain)) + " is lost"
		}
		if room, loss := r.Tightest(); room.Resource != "" {
			line += fmt.Sprintf("; %s of %s is left", percent(float64(int(room.Free*100))/100), resourceName(room.Resource))
			if loss != nil {
				line += fmt.Sprintf(" without the worst %s, %s", doc.LevelName(loss.Level), loss.Domain)
			}
		}
		style := doc.Green
		if r.Partial != "" {
			style, line = doc.Yellow, strings.Replace(line, "Yes: ", "Not known yet: ", 1)
		}
		return style.Cell(line + ".")
	case r.Short == 0:
		return doc.Red.Cellf("No: %s all %s have a node%s, but %s none if %s %s is lost%s.", r.at(), words.Count(of, "pod"), others, words.Pick(worst.Short, "1 has", fmt.Sprintf("%d have", worst.Short)),
			doc.LevelName(worst.Level), worst.Domain, r.shortOf())
	}
	line := fmt.Sprintf("No: %s %d of %s %s no node%s", r.at(), r.Short, words.Count(of, "pod"), words.Pick(r.Short, "has", "have"), others)
	if worst != nil {
		line += fmt.Sprintf(", %d if %s %s is lost", worst.Short, doc.LevelName(worst.Level), worst.Domain)
	}
	return doc.Red.Cell(line + r.shortOf() + ".")
}

func resourceName(resource string) string {
	if resource == "cpu" {
		return "CPU"
	}
	return resource
}

// shortOf says what is short, in the words of the first line.
func (r *Report) shortOf() string {
	var short []*peak.Group
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Short() > 0 {
			short = append(short, g)
		}
	}
	if len(short) > 0 {
		worst := short[0]
		for _, g := range short {
			if g.Short() > worst.Short() {
				worst = g
			}
		}
		line := fmt.Sprintf("; the node group %s ends %s short", worst.Name, words.Count(worst.Short(), "node"))
		if more := len(short) - 1; more > 0 {
			line += fmt.Sprintf(", and %s short, too", words.Is(more, "other group"))
		}
		return line
	}
	if len(r.Ceilings) == 0 {
		return ""
	}
	binds := r.Ceilings[0]
	switch binds.Kind {
	case "nodes":
		for i := range r.Remedies {
			if m := &r.Remedies[i]; m.Kind == "nodes" && m.Most() == 0 {
				return fmt.Sprintf("; %s enough", words.Is(m.Nodes, "more node"))
			}
		}
		return fmt.Sprintf("; %s is used up, and nothing adds nodes that help", resourceName(binds.What))
	case "quota":
		return fmt.Sprintf("; the %s refuses %s", binds.What, words.Count(binds.Pods, "pod"))
	case "other":
		return ""
	}
	return "; what binds is " + binds.What
}

// writeSafe says how much of the way is safe, and what was tried.
func writeSafe(d *doc.Doc, r *Report) {
	if len(r.Curve) == 0 {
		return
	}
	safe := r.Safe
	if safe == nil {
		first := &r.Curve[0]
		with := ""
		if len(r.CronJobs) > 0 {
			with = " with the CronJobs,"
		}
		d.Linef(doc.Yellow, "No share of the way is safe: %s%s%s before anything grows.", has(first.Most()), ifLost(first), with)
		return
	}
	tried := words.And(list.Map(safe.Tried, func(share float64) string { return strings.TrimSuffix(percent(share), " %") }))
	line := fmt.Sprintf("Safe up to %s of the way", percent(safe.Share))
	if safe.Share == 1 {
		line = "The whole way is safe"
	}
	if safe.Next != nil {
		line += fmt.Sprintf("; at %s %s%s", percent(safe.Next.Share), has(safe.Next.Most()), ifLost(safe.Next))
	}
	line += fmt.Sprintf(". Tried: %s %%", tried)
	if safe.Losses > 0 && safe.Losses < safe.Of {
		line += fmt.Sprintf(", with the %d losses that are the worst at the peak, of %d", safe.Losses, safe.Of)
	} else if safe.Losses > 1 {
		line += fmt.Sprintf("; the %s with each of the %d losses, the others with the worst", words.Pick(len(safe.Tried), "share", "safe share"), safe.Losses)
	}
	d.Linef(doc.Plain, "%s.", line)
	if len(safe.Again) > 0 {
		d.Linef(doc.Yellow, "More load is not always worse: every pod has a node at %s, too.", words.And(list.Map(safe.Again, percent)))
	}
}

// writeCronJobs names the CronJobs that run at the peak.
func writeCronJobs(d *doc.Doc, r *Report) {
	if len(r.CronJobs) == 0 {
		return
	}
	runs := list.Map(r.CronJobs, func(c cronjob.CronJob) string {
		return fmt.Sprintf("%s with %s", cluster.Qualify(c.Namespace, "cronjob/"+c.Name), words.Count(c.Pods, "pod"))
	})
	hour := ""
	if r.Hour != "" {
		hour = fmt.Sprintf(" The busiest hour of 31 days begins at %s.", r.Hour)
	}
	d.Linef(doc.Plain, "At the peak, CronJobs run: %s.%s", d.NameFew(runs, len(runs)), hour)
}

func has(pods int) string { return words.Has(pods, "pod") + " no node" }

func ifLost(p *peak.Point) string {
	if p.AfterLoss <= p.Short {
		return ""
	}
	return fmt.Sprintf(" if %s %s is lost", doc.LevelName(p.Level), p.Domain)
}

// writeRemedies lists the changes that help, each with its result and its commands.
func writeRemedies(d *doc.Doc, r *Report) {
	if len(r.Remedies) == 0 {
		if r.Most() > 0 && r.Partial == "" {
			d.Linef(doc.Yellow, "None of the changes that were tried helps.")
		}
		return
	}
	d.Section("What to do")
	for i := range r.Remedies {
		m := &r.Remedies[i]
		price := ""
		if m.Price != nil {
			price = fmt.Sprintf(" for %.2f an hour more", *m.Price)
		}
		d.Linef(doc.Bold, "%d. %s%s", i+1, words.UpperFirst(m.What), price)
		d.Linef(doc.Plain, "   %s.", result(m))
		if m.Beaten {
			d.Linef(doc.Plain, "   Another change leaves no more pods without a node, for no higher price.")
		}
		for j, command := range m.Commands {
			if j == doc.MaxDetails && !d.All {
				d.Linef(doc.Plain, "   and %d more commands; --all lists them", len(m.Commands)-j)
				break
			}
			d.Linef(doc.Plain, "   %s", command)
		}
	}
}

// result says what the run of a change shows.
func result(m *peak.Remedy) string {
	var parts []string
	if len(m.Saves) > 0 {
		parts = append(parts, "each pod of "+words.Few(list.Map(m.Saves, cluster.WorkloadRef.Qualified))+" has a node")
	}
	also := ""
	if m.Losses > 0 {
		also = words.Pick(m.Losses, ", also after the loss that was tried", fmt.Sprintf(", also after each of the %d losses that were tried", m.Losses))
	}
	switch {
	case m.Most() == 0:
		parts = []string{"Every pod has a node at the peak" + also}
	case m.Short == 0:
		parts = append(parts, fmt.Sprintf("%s a node at the peak, and %s if %s %s is lost", "every pod has", has(m.AfterLoss), doc.LevelName(m.Level), m.Domain))
	case m.AfterLoss > m.Short:
		parts = append(parts, fmt.Sprintf("%s at the peak, %d if %s %s is lost", has(m.Short), m.AfterLoss, doc.LevelName(m.Level), m.Domain))
	default:
		parts = append(parts, has(m.Short)+" at the peak"+also)
	}
	if m.GivesUp > 0 {
		parts = append(parts, "the change gives up "+words.Count(m.GivesUp, "replica")+" of the peak")
	}
	line := strings.Join(parts, "; ")
	return words.UpperFirst(line)
}

// writeStarved lists the ceilings, and the workloads without a node for some of their pods.
func writeStarved(d *doc.Doc, r *Report) {
	if len(r.Starved) == 0 {
		return
	}
	d.Section("What binds")
	d.UpTo(len(r.Ceilings), "ceiling", "ceilings", func(i int) {
		c := &r.Ceilings[i]
		d.Linef(doc.Plain, "%s: %s of %s", describeCeiling(c), words.Count(c.Pods, "pod"), d.NameFew(list.Map(c.Workloads, cluster.WorkloadRef.Qualified), len(c.Workloads)))
	})
	d.Section("Without a node")
	titles := []string{"WORKLOAD", "PRIORITY", "AT PEAK", "AFTER LOSS", "WHY", "TAKEN BY"}
	rows := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row(titles...), "TAKEN BY", "PRIORITY")}
	for i := range r.Starved {
		s := &r.Starved[i]
		var by []string
		for _, taker := range s.By {
			verb := "before it"
			if s.Preempts {
				verb = "preempted"
			}
			by = append(by, fmt.Sprintf("%s: %d %s", taker.Qualified(), taker.Pods, verb))
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(s.Qualified()), doc.Plain.Cellf("%d", s.Priority), doc.Number(s.Short, doc.Red), doc.Number(s.AfterLoss, doc.Yellow),
			doc.Plain.Cell(s.Ceiling), doc.Plain.Cell(doc.OrNone(d.NameFew(by, len(by))))})
	}
	if len(r.Losses) == 0 {
		rows = withoutColumn(rows, 3)
	}
	d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "workload", Nouns: "workloads"})
}

// withoutColumn returns the rows without one of their columns.
func withoutColumn(rows [][]doc.Cell, column int) [][]doc.Cell {
	return list.Map(rows, func(row []doc.Cell) []doc.Cell {
		return append(append([]doc.Cell{}, row[:column]...), row[column+1:]...)
	})
}

// writeWorkloads lists the workloads that grow, and the autoscalers that scale nothing.
func writeWorkloads(d *doc.Doc, r *Report) {
	rows := [][]doc.Cell{doc.Bold.Row("GROWS", "NOW", "WANTED", "RUNNING", "AFTER LOSS", "MAXIMUM")}
	for _, w := range r.Workloads {
		reached := "reached"
		if w.Wanted < w.Max {
			reached = fmt.Sprintf("%d is not asked for", w.Max)
		} else if w.Running < w.Max {
			reached = "not reached"
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(w.Qualified()), doc.Plain.Cellf("%d", w.Now), doc.Plain.Cellf("%d", w.Wanted), runningOf(w.Running, w.Wanted), runningOf(w.AfterLoss, w.Wanted), doc.Plain.Cell(reached)})
	}
	if len(r.Losses) == 0 {
		rows = withoutColumn(rows, 4)
	}
	if len(r.Workloads) > 0 {
		d.Add(doc.Table{Rows: rows, Most: doc.MaxPods, Noun: "workload", Nouns: "workloads"})
	}
	d.UpTo(len(r.Idle), "autoscaler", "autoscalers", func(i int) {
		idle := &r.Idle[i]
		d.Linef(doc.Yellow, "%s scales nothing: %s.", cluster.Qualify(idle.Namespace, "hpa/"+idle.Name), idle.Why)
	})
	if len(r.Workloads)+len(r.Idle) == 0 {
		d.Linef(doc.Yellow, "The input has no HorizontalPodAutoscaler, so nothing grows; --replicas gives the replicas at the peak.")
	}
}

func runningOf(running, wanted int) doc.Cell {
	if running < wanted {
		return doc.Red.Cellf("%d", running)
	}
	return doc.Plain.Cellf("%d", running)
}

// writeGroups lists the node groups of the autoscaler.
func writeGroups(d *doc.Doc, r *Report) {
	rows := [][]doc.Cell{doc.Bold.Row("GROUP", "NOW", "AT PEAK", "AFTER LOSS", "MAX", "NEEDED")}
	for i := range r.Groups {
		g := &r.Groups[i]
		needed := doc.None
		if g.Needed > 0 {
			needed = strconv.Itoa(g.Needed)
		}
		style := doc.Plain
		if g.Short() > 0 {
			style = doc.Red
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(g.Name), doc.Plain.Cellf("%d", g.Now), doc.Plain.Cellf("%d", g.Peak), doc.Plain.Cellf("%d", g.AfterLoss), doc.Plain.Cellf("%d", g.Max), style.Cell(needed)})
	}
	if len(r.Losses) == 0 {
		rows = withoutColumn(rows, 3)
	}
	if len(r.Groups) > 0 {
		d.Table("", rows...)
	}
}

// writeLosses lists the losses, the worst first.
func writeLosses(d *doc.Doc, r *Report) {
	rows := [][]doc.Cell{doc.Bold.Row("LOSS OF", "NO NODE", "NOT REPLACED", "LEFT")}
	for i := range r.Losses {
		l := &r.Losses[i]
		left := list.Map(l.Room, func(room peak.Room) string {
			return fmt.Sprintf("%s %s", resourceName(room.Resource), percent(float64(int(room.Free*100))/100))
		})
		rows = append(rows, []doc.Cell{doc.Plain.Cell(doc.LevelName(l.Level) + " " + l.Domain), doc.Number(l.Short, doc.Red), doc.Number(l.Unreplaced, doc.Yellow), doc.Plain.Cell(strings.Join(left, ", "))})
	}
	if len(r.Losses) > 0 {
		d.Add(doc.Table{Rows: rows, Most: doc.MaxDetails, Noun: "loss", Nouns: "losses"})
	}
}

// writeCurve lists the way to the peak.
func writeCurve(d *doc.Doc, r *Report) {
	rows := [][]doc.Cell{doc.Bold.Row("WAY", "REPLICAS", "PODS", "NO NODE", "AFTER LOSS", "OF")}
	for i := range r.Curve {
		p := &r.Curve[i]
		domain := doc.None
		if p.Domain != "" {
			domain = doc.LevelName(p.Level) + " " + p.Domain
		}
		after := doc.Number(p.AfterLoss, doc.Yellow)
		if p.Losses == 0 {
			after = doc.Plain.Cell("not tried")
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(percent(p.Share)), doc.Plain.Cellf("%d", p.Replicas), doc.Plain.Cellf("%d", p.Pods), doc.Number(p.Short, doc.Red), after, doc.Plain.Cell(domain)})
	}
	if len(r.Losses) == 0 {
		rows = list.Map(rows, func(row []doc.Cell) []doc.Cell { return row[:4] })
	}
	if len(r.Curve) > 0 {
		d.Table("", rows...)
	}
}

// describeCeiling says which limit binds.
func describeCeiling(c *peak.Ceiling) string {
	if c.Kind == "nodes" {
		return fmt.Sprintf("%s is used up, and nothing adds nodes that help", words.UpperFirst(resourceName(c.What)))
	}
	return words.UpperFirst(c.What)
}
