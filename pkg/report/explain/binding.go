package explain

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// SetBinding sets what Karmada has decided about the workload by the step. takings are the changes with which Karmada takes a workload that it
// refuses, and tried those that do not help.
func (r *Report) SetBinding(step string, d *world.Decision, takings []explain.Taking, tried []string) {
	b := d.Binding
	r.Binding = &Binding{Step: step, Template: b.Template.String(), Policy: b.Policy, Reason: b.Reason, Message: b.Message, Takings: takings, Tried: tried}
	if b.Template.Workload {
		r.Binding.Division = divisionText(b.Placement.ReplicaScheduling)
	}
	for _, v := range b.Verdicts() {
		shown := ClusterVerdict{Verdict: v}
		for _, share := range d.Shares {
			if share.Cluster == v.Cluster {
				shown.Running, shown.Pending = share.Running, share.Pending
			}
		}
		r.Binding.Clusters = append(r.Binding.Clusters, shown)
	}
}

// divisionText says how Karmada divides the replicas.
func divisionText(r *federation.ReplicaScheduling) string {
	switch {
	case r == nil || r.ReplicaSchedulingType == federation.Duplicated:
		return federation.Duplicated
	case r.ReplicaDivisionPreference == federation.Aggregated:
		return federation.Aggregated
	case r.WeightPreference == nil:
		return "Weighted, all clusters alike"
	case r.WeightPreference.DynamicWeight != "":
		return "Weighted by " + r.WeightPreference.DynamicWeight
	}
	return "Weighted by static weights"
}

// maxUnselected is the largest number of clusters that are listed though they were not selected, the best first, except with --all.
const maxUnselected = 5

func (t *writer) binding(b *Binding) {
	t.Space()
	var got []string
	for _, v := range b.Clusters {
		switch {
		case !v.Selected:
		case v.Replicas > 0:
			got = append(got, fmt.Sprintf("%s (%d)", v.Cluster, v.Replicas))
		case b.Division == "":
			got = append(got, v.Cluster)
		}
	}
	outcome := "not scheduled"
	if b.Reason == federation.ReasonSuccess {
		outcome = "in " + strings.Join(got, ", ")
	}
	t.Linef(doc.Bold, "%s, step %s: %s", b.Template, b.Step, outcome)
	if b.Reason != federation.ReasonSuccess {
		t.Linef(doc.Yellow, "  %s: %s", b.Reason, b.Message)
	}
	claimed := "  Claimed by " + b.Policy
	if b.Division != "" {
		claimed += "; replicas: " + b.Division
	}
	t.Linef(doc.Plain, "%s", claimed)
	rows := [][]doc.Cell{doc.Bold.Row("CLUSTER", "SCORE", "ROOM", "REPLICAS", "PODS")}
	refused, reasons := map[string][]string{}, []string(nil)
	unselected := 0
	for _, v := range b.Clusters {
		if v.Filter != "" {
			reason := fmt.Sprintf("%s (%s)", v.Refusal, v.Filter)
			if refused[reason] == nil {
				reasons = append(reasons, reason)
			}
			refused[reason] = append(refused[reason], v.Cluster)
			continue
		}
		replicas, pods := "not selected", "<none>"
		if v.Selected {
			replicas = fmt.Sprint(v.Replicas)
		} else if unselected++; unselected > maxUnselected && !t.All {
			continue
		}
		if v.Running+v.Pending > 0 {
			pods = fmt.Sprintf("%d running", v.Running)
		}
		if v.Pending > 0 {
			pods += fmt.Sprintf(", %d Pending", v.Pending)
		}
		rows = append(rows, doc.Plain.Row(v.Cluster, fmt.Sprint(v.Score), fmt.Sprint(v.Room), replicas, pods))
	}
	if len(rows) > 1 {
		t.Table("  ", rows...)
	}
	if more := unselected - maxUnselected; more > 0 && !t.All {
		t.Linef(doc.Plain, "  and %s not selected%s", words.Count(more, "more cluster"), t.HowToList("them"))
	}
	for _, reason := range reasons {
		t.Line(doc.Bold.Cell("  Refused "+words.Few(refused[reason])+":"), doc.Plain.Cellf(" %s", reason))
	}
	t.takings(b)
}

// takings lists the changes with which Karmada takes the workload, and those that were tried without success.
func (t *writer) takings(b *Binding) {
	if b.Reason == federation.ReasonSuccess {
		t.Linef(doc.Plain, "  Flip points are those of the clusters' schedulers; for Karmada's choice of clusters none are searched.")
		return
	}
	t.Line(doc.Bold.Cell("  Single changes with which Karmada takes it"), doc.Plain.Cell(", each verified by having it scheduled again:"))
	if len(b.Takings) == 0 {
		t.Linef(doc.Plain, "    none of those that can be tried")
	}
	var rows [][]doc.Cell
	for _, taking := range b.Takings {
		rows = append(rows, doc.Plain.Row(taking.Change, "then in "+targetsText(taking.Clusters)))
	}
	t.Table("    ", rows...)
	if len(b.Tried) > 0 {
		t.Linef(doc.Plain, "    Tried without success: %s", t.triedText(b.Tried))
	}
}

// targetsText lists clusters with their replicas.
func targetsText(clusters []federation.Target) string {
	var all []string
	for _, target := range clusters {
		name := target.Cluster
		if target.Replicas > 0 {
			name += fmt.Sprintf(" (%d)", target.Replicas)
		}
		all = append(all, name)
	}
	return words.Few(all)
}
