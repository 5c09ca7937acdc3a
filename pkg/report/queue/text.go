package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/ask/queue"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format"
	"github.com/faultline/faultline/pkg/words"
)

// Formats are the formats of the report. Quiet prints only the answer, and name the jobs that wait at the end.
var Formats = format.Of[Report]{Question: func(*Report) string { return "When jobs are admitted" }, Doc: document, Brief: true, Names: pendingNames, CSV: rows}.Formats()

func pendingNames(r *Report) []string {
	var names []string
	for _, w := range r.Find(r.Asked...) {
		if w.State == "pending" {
			names = append(names, w.Job.Qualified())
		}
	}
	return names
}

// document is the answer, then the workloads in their order, the waiting times and the quotas.
func document(r *Report, opts report.Options) *doc.Doc {
	d := doc.New(r.Head, opts)
	d.Line(r.verdict())
	d.Space()
	r.place(&d)
	r.helps(&d)
	r.admissions(&d)
	r.waiting(&d)
	r.queues(&d)
	r.quotas(&d)
	d.Header()
	return &d
}

func (r *Report) verdict() doc.Cell {
	style := doc.Green
	about := r.Find(r.Asked...)
	if slices.ContainsFunc(about, func(w *queue.Workload) bool { return w.State == "pending" }) {
		style = doc.Yellow
	}
	if len(about) > 0 && !slices.ContainsFunc(about, func(w *queue.Workload) bool { return w.State != "pending" }) {
		style = doc.Red
	}
	return style.Cell(r.Verdict(r.Asked...))
}

// place says where the one job that was asked about stands, in Kueue's words.
func (r *Report) place(d *doc.Doc) {
	about := r.Find(r.Asked...)
	if len(r.Asked) == 0 || len(about) != 1 || about[0].State != "pending" {
		return
	}
	w := about[0]
	waiting := list.Count(r.Workloads, func(other queue.Workload) bool {
		return other.State == "pending" && other.ClusterQueue == w.ClusterQueue
	})
	d.Linef(doc.Plain, "It is number %d of %d that wait in ClusterQueue %s; it asks for %s.", w.Place, waiting, w.ClusterQueue, amounts(w.Asks))
	if !strings.Contains(r.Verdict(r.Asked...), w.Message) {
		d.Linef(doc.Plain, "Kueue says: %s", w.Message)
	}
	d.Space()
}

// helps lists what was tried.
func (r *Report) helps(d *doc.Doc) {
	rows := [][]doc.Cell{doc.Bold.Row("TRIED", "HELPS", "THEN")}
	for _, help := range r.Helps {
		helps := doc.Red.Cell("no")
		if help.Helps {
			helps = doc.Green.Cell("yes")
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(help.Change), helps, doc.Plain.Cell(help.Then)})
	}
	if len(rows) > 1 {
		d.Table("", rows...)
	}
	d.Space()
}

// admissions lists the workloads that got quota after the start, in that order.
func (r *Report) admissions(d *doc.Doc) {
	rows := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("AT", "JOB", "QUEUE", "WAITED", "FLAVOR", "PODS", "THEN"), "PODS", "QUEUE")}
	for _, w := range r.Workloads {
		if w.Before || len(w.Admissions) == 0 {
			continue
		}
		first := w.Admissions[0]
		rows = append(rows, []doc.Cell{doc.Plain.Cell(seconds(first.At)), doc.Plain.Cell(w.Job.Qualified()), doc.Plain.Cell(w.Queue), doc.Plain.Cell(seconds(first.Waited)),
			doc.Plain.Cell(strings.Join(flavors(first), ", ")), doc.Number(first.Pods, doc.Plain), doc.Plain.Cell(afterwards(&w))})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: most, Noun: "workload", Nouns: "workloads"})
	}
	d.Space()
	places := list.Where(r.Workloads, func(w queue.Workload) bool {
		return len(w.Admissions) > 0 && w.Admissions[len(w.Admissions)-1].Places != nil
	})
	d.UpTo(len(places), "job", "jobs", func(i int) {
		last := places[i].Admissions[len(places[i].Admissions)-1]
		var where []string
		for _, domain := range slices.Sorted(maps.Keys(last.Places)) {
			where = append(where, fmt.Sprintf("%d in %s", last.Places[domain], domain))
		}
		d.Linef(doc.Plain, "%s: Kueue means %s", places[i].Job.Name, words.Few(where))
	})
	d.Space()
}

const most = 40

func flavors(a queue.Admission) []string {
	return slices.Compact(slices.Sorted(maps.Values(a.Flavors)))
}

// afterwards says what became of an admitted workload.
func afterwards(w *queue.Workload) string {
	var then []string
	for i, e := range w.Evictions {
		word := "evicted (" + e.Reason + ")"
		if e.Reason == "Preempted" {
			word = strings.TrimSpace("preempted by " + e.By.Name)
		}
		then = append(then, fmt.Sprintf("%s at %s", word, seconds(e.At)))
		if i+1 < len(w.Admissions) {
			then = append(then, "again at "+seconds(w.Admissions[i+1].At))
		}
	}
	switch {
	case w.FinishedAt != nil:
		then = append(then, "done at "+seconds(*w.FinishedAt))
	case w.State == "pending":
		then = append(then, "waits")
	}
	return strings.Join(then, ", ")
}

// waiting lists the workloads that wait at the end, with Kueue's words.
func (r *Report) waiting(d *doc.Doc) {
	rows := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("WAITS", "QUEUE", "ASKS", "WHY"), "ASKS", "QUEUE")}
	for _, w := range r.Workloads {
		if w.State != "pending" {
			continue
		}
		why := cmp.Or(w.Message, "not tried: others are before it in its queue")
		if w.ClusterQueue == "" {
			why = fmt.Sprintf("there is no LocalQueue %s in namespace %s", w.Queue, w.Namespace)
		}
		rows = append(rows, []doc.Cell{doc.Plain.Cell(w.Job.Qualified()), doc.Plain.Cell(w.Queue), doc.Plain.Cell(amounts(w.Asks)), doc.Plain.Cell(why)})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: most, Noun: "workload", Nouns: "workloads"})
	}
	d.Space()
}

func amounts(asks map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(asks)) {
		all = append(all, asks[name]+" "+name)
	}
	return strings.Join(all, ", ")
}

// queues lists the waiting times.
func (r *Report) queues(d *doc.Doc) {
	rows := [][]doc.Cell{doc.Bold.Row("LOCALQUEUE", "CLUSTERQUEUE", "ADMITTED", "MEDIAN WAIT", "95 %", "PENDING")}
	for _, q := range r.Queues {
		row := []doc.Cell{doc.Plain.Cell(cluster.Qualify(q.Namespace, q.Name)), doc.Plain.Cell(doc.OrNone(q.ClusterQueue)), doc.Number(q.Admitted, doc.Plain)}
		if q.Admitted > 0 {
			row = append(row, doc.Plain.Cell(seconds(q.Median)), doc.Plain.Cell(seconds(q.Most95)))
		} else {
			row = append(row, doc.Plain.Cell("-"), doc.Plain.Cell("-"))
		}
		rows = append(rows, append(row, doc.Number(q.Pending, doc.Plain)))
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: most, Noun: "queue", Nouns: "queues"})
	}
	d.Space()
}

// quotas lists what was used of the quotas.
func (r *Report) quotas(d *doc.Doc) {
	rows := [][]doc.Cell{doc.SetDropOrder(doc.Bold.Row("CLUSTERQUEUE", "FLAVOR", "RESOURCE", "QUOTA", "USED", "BORROWED", "PEAK", "MEAN"), "BORROWED", "PEAK")}
	for _, q := range r.Quotas {
		rows = append(rows, []doc.Cell{doc.Plain.Cell(q.ClusterQueue), doc.Plain.Cell(q.Flavor), doc.Plain.Cell(q.Resource), amount(q.Resource, q.Nominal), amount(q.Resource, q.Used),
			amount(q.Resource, q.Borrowed), amount(q.Resource, q.Peak), doc.Plain.Cell(share(q.Mean, q.Nominal))})
	}
	if len(rows) > 1 {
		d.Add(doc.Table{Rows: rows, Most: most, Noun: "quota", Nouns: "quotas"})
	}
}

// amount is an amount of a resource, with a unit if the resource is counted in bytes.
func amount(name string, value float64) doc.Cell {
	if name == "memory" || name == "ephemeral-storage" {
		return doc.Plain.Cell(resource.NewQuantity(int64(value), resource.BinarySI).String())
	}
	return doc.Plain.Cell(doc.Amount(value))
}

func share(value, of float64) string {
	if of == 0 {
		return doc.Amount(value)
	}
	return fmt.Sprintf("%.0f %%", 100*value/of)
}

func seconds(of float64) string {
	return words.FormatDuration(time.Duration(of * float64(time.Second)))
}

// rows are a row for each workload, for a spreadsheet.
func rows(r *Report) [][]string {
	all := [][]string{{"job", "queue", "clusterQueue", "createdAt", "admittedAt", "waited", "flavors", "pods", "evictions", "finishedAt", "state", "message"}}
	for _, w := range r.Workloads {
		admittedAt, waited, on, pods, finishedAt := "", "", "", "", ""
		if n := len(w.Admissions); n > 0 {
			first := w.Admissions[0]
			admittedAt, waited, on, pods = fmt.Sprint(first.At), fmt.Sprint(first.Waited), strings.Join(flavors(first), " "), fmt.Sprint(first.Pods)
		}
		if w.FinishedAt != nil {
			finishedAt = fmt.Sprint(*w.FinishedAt)
		}
		all = append(all, []string{w.Job.Qualified(), w.Queue, w.ClusterQueue, fmt.Sprint(w.CreatedAt), admittedAt, waited, on, pods, fmt.Sprint(len(w.Evictions)), finishedAt, w.State, w.Message})
	}
	return all
}
