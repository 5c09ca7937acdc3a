// Package review has the report for a weekly look at a cluster: room, losses, risks, cost, and what has changed since the last one.
package review

import (
	"cmp"
	"slices"

	"github.com/faultline/faultline/pkg/ask/review"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Kind is the kind of a report that reviews a cluster.
const Kind = "ReviewReport"

// Report is a review of a cluster, with the changes since an earlier one.
type Report struct {
	report.Head
	review.Review
	// Since is the file of the earlier review; like Changes, it is missing if none was given.
	Since string `json:"since,omitempty"`
	// Changes are the figures that differ from the earlier review's.
	Changes []Change `json:"changes,omitempty"`
}

// Values of Change.What.
const (
	Pods     = "pods"
	Nodes    = "nodes"
	Cost     = "cost"
	NotBack  = "notBack"
	Down     = "down"
	Risk     = "risk"
	Workload = "workload"
)

// Change is a figure that differs from the earlier review's.
type Change struct {
	// What says which figure: the running or Pending pods, the nodes of a group, the cost of the nodes in an hour, the pods that do not
	// come back after the loss of a domain, the workloads that the loss takes down, the findings of a check about an object, or the running
	// pods of a workload.
	What string `json:"what" jsonschema:"enum=pods,enum=nodes,enum=cost,enum=notBack,enum=down,enum=risk,enum=workload"`
	// Name is the group, the domain as "zone a", the check and the object, or the workload. For pods it is "running" or "pending"; for the cost it is
	// missing.
	Name   string  `json:"name,omitempty"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// New returns the report on the review of the cluster after the last step of the run. version is Faultline's version.
func New(result *simulation.Result, found *review.Review, version string) *Report {
	return &Report{Head: report.NewHead(result, Kind, version), Review: *found}
}

// Decode reads a report back from its JSON or YAML.
func Decode(file string, data []byte) (*Report, error) {
	return report.Decode[Report](file, data, Kind)
}

// CompareWith sets the changes since the earlier review, which was read from the file.
func (r *Report) CompareWith(file string, old *Report) {
	r.Since, r.Changes = file, []Change{}
	before, after := old.figures(), r.figures()
	for _, f := range slices.Concat(before.order, list.Without(after.order, func(f figure) bool { _, has := before.value[f]; return has })) {
		_, was := before.value[f]
		_, is := after.value[f]
		if domain := f.what == NotBack || f.what == Down; domain && !(was && is) { // a domain that is new or gone has no loss to compare
			continue
		}
		if b, a := before.value[f], after.value[f]; a != b {
			r.Changes = append(r.Changes, Change{f.what, f.name, b, a})
		}
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Compare(slices.Index(changeOrder, a.What), slices.Index(changeOrder, b.What))
	})
}

// changeOrder has the kinds of changes in the order in which they are listed.
var changeOrder = []string{Pods, Nodes, Cost, NotBack, Down, Risk, Workload}

// figure is the name of a figure that may change.
type figure struct{ what, name string }

// figureValues has the values of a review, and the order of their names.
type figureValues struct {
	value map[figure]float64
	order []figure
}

func (s *figureValues) addFigure(what, name string, value float64) {
	f := figure{what, name}
	if _, has := s.value[f]; !has {
		s.order = append(s.order, f)
	}
	s.value[f] += value
}

func (r *Report) figures() *figureValues {
	s := &figureValues{value: map[figure]float64{}}
	s.addFigure(Pods, "running", float64(r.Running))
	s.addFigure(Pods, "pending", float64(r.Pending))
	for i := range r.Groups {
		s.addFigure(Nodes, r.Groups[i].Group, float64(r.Groups[i].Nodes))
	}
	if r.Cost != nil {
		s.addFigure(Cost, "", *r.Cost)
	}
	for i := range r.Levels {
		level := &r.Levels[i]
		for _, loss := range level.Losses {
			name := domainNoun(level) + " " + loss.Domain
			s.addFigure(NotBack, name, float64(loss.NotBack))
			s.addFigure(Down, name, float64(loss.Down))
		}
	}
	for _, risk := range r.Risks {
		s.addFigure(Risk, risk.Check+" "+risk.Object, 1)
	}
	for _, w := range r.Workloads {
		s.addFigure(Workload, w.Workload, float64(w.Running))
	}
	return s
}
