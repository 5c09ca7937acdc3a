// Package scale is the report on what the Cluster Autoscaler makes of a change: how many nodes come, what they cost, and which pods get none.
package scale

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Kind is the kind of the report.
const Kind = "ScaleReport"

// Report is what the autoscaler made of the last step.
type Report struct {
	report.Head
	// Answer says in a sentence whether every pod gets a node, and how many nodes come for that.
	Answer string `json:"answer"`
	// Fits is whether no pod is Pending that is new or ran before; without such pods, whether none is Pending.
	Fits bool `json:"fits"`
	// Groups are the node groups, in their order.
	Groups []Group `json:"groups"`
	// More is what all nodes cost in an hour more than before; missing if a price is not known.
	More *float64 `json:"more,omitempty"`
	// Seconds is the time until nothing moves any more.
	Seconds float64 `json:"seconds"`
	// Slow are the workloads for which nodes came little by little.
	Slow []world.Slow `json:"slow,omitempty"`
	// Waiting are the pods that stay Pending.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Moments are the cluster whenever nothing moved.
	Moments []world.Moment `json:"moments,omitempty"`

	status string // of the autoscaler, as YAML, and since when
	at     metav1.Time
}

// Group is a node group before and after.
type Group struct {
	Name   string `json:"name"`
	Before int    `json:"before"`
	After  int    `json:"after"`
	Min    int    `json:"min"`
	Max    int    `json:"max"`
	// Price is what a node costs in an hour; missing if that is not known.
	Price float64 `json:"price,omitempty"`
	// New are its nodes that came.
	New []string `json:"new,omitempty"`
}

// Waiting are pods that stay Pending for the same reasons.
type Waiting struct {
	Pods []cluster.PodRef `json:"pods"`
	// Message is the scheduler's, and Autoscaler the autoscaler's; missing if it said nothing of the pods.
	Message    string `json:"message"`
	Autoscaler string `json:"autoscaler,omitempty"`
}

// New puts what a run with an autoscaler found into the model. The report on the run is what its pods were before and after.
func New(result *simulation.Result, ran *run.Report, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version), Groups: []Group{}}
	step := &result.Steps[len(result.Steps)-1]
	last := &ran.Steps[len(ran.Steps)-1]
	// Without pods before, all are new.
	change := ptr.Deref(last.Change, run.Change{New: last.Summary.Pods + last.Summary.NotCreated, NewPending: last.Summary.Pending, Refused: last.Summary.NotCreated})
	did := ptr.Deref(step.Autoscaling, world.Autoscaling{})
	r.Answer, r.Fits = answer(ran.Answer, &change, did.With())
	for i, size := range did.Groups {
		of := &result.Scenario.Autoscaler.NodeGroups[i]
		group := Group{Name: size.Name, Before: size.From, After: size.To, Min: of.Min, Max: of.Max, Price: size.Price}
		for _, node := range step.State.Nodes {
			if slices.Contains(did.Added, node.Name) && of.Has(node) {
				group.New = append(group.New, node.Name)
			}
		}
		r.Groups = append(r.Groups, group)
	}
	if more, known := did.Costs(); known && did.Changed() {
		r.More = &more
	}
	if r.Moments = did.Moments; len(r.Moments) > 0 {
		r.Seconds = r.Moments[len(r.Moments)-1].At.Sub(r.Moments[0].At.Time).Seconds()
	}
	r.Slow = did.Slow
	r.wait(step, &did)
	r.status, r.at = did.Status, step.State.Now
	return r
}

// answer is the first line, and whether it is a yes.
func answer(asked string, c *run.Change, with string) (string, bool) {
	fits := c.Short() == 0
	if asked == "" && c.New+c.Short() == 0 {
		fits = c.StillPending+c.ReplacementsPending == 0
	}
	line := asked
	switch {
	case asked != "":
	case c.New+c.Short()+c.ReplacementsPending > 0:
		line = c.Text(with)
	case c.WasPending == 0:
		line = "No pod is Pending, so no node is needed"
	case fits:
		line = "Yes: " + words.Pick(c.WasPending, "the pod that was Pending gets a node", fmt.Sprintf("%d pods that were Pending get a node", c.WasPending)) + with
	case with != "":
		line = fmt.Sprintf("No: %d of %s %s Pending, even%s", c.StillPending, words.Count(c.WasPending, "pod"), words.Pick(c.StillPending, "stays", "stay"), with)
	default:
		line = fmt.Sprintf("No: %s %s Pending", words.Count(c.StillPending, "pod"), words.Pick(c.StillPending, "stays", "stay"))
	}
	switch {
	case with != "":
	case !fits:
		line += ", and no node group helps"
	case c.StillPending > 0:
		line += "; no node group helps " + words.Pick(c.StillPending, "the other", "those")
	}
	return line, fits
}

// wait adds the pods that stay Pending, with the reasons.
func (r *Report) wait(step *simulation.Step, did *world.Autoscaling) {
	said := map[types.NamespacedName]string{}
	for _, e := range did.Events {
		if e.Reason == "NotTriggerScaleUp" || e.Reason == "MaxNodesTotalReached" {
			for _, pod := range e.Pods {
				said[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = e.Reason + ": " + e.Message
			}
		}
	}
	owner := step.State.Owners()
	for _, p := range step.Pending {
		one := Waiting{Message: p.Message, Autoscaler: said[cluster.NameOf(p.Pod)]}
		at := slices.IndexFunc(r.Waiting, func(w Waiting) bool { return w.Message == one.Message && w.Autoscaler == one.Autoscaler })
		if at < 0 {
			at = len(r.Waiting)
			r.Waiting = append(r.Waiting, one)
		}
		r.Waiting[at].Pods = append(r.Waiting[at].Pods, cluster.NewPodRef(p.Pod, owner(p.Pod)))
	}
}
