// Package scale has the report on what the Cluster Autoscaler does for new pods: how many nodes it adds, what they cost, and which pods get
// none.
package scale

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Kind is the kind of a report on the nodes that an autoscaler adds.
const Kind = "ScaleReport"

// Report says what the autoscaler did in the last step.
type Report struct {
	report.Head
	// Answer says in a sentence whether every pod gets a node, and how many nodes come for that.
	Answer string `json:"answer"`
	// Fits says whether every new pod, and every pod that ran before, has a node. If there are no such pods, it says whether no pod is
	// Pending.
	Fits bool `json:"fits"`
	// Groups are the node groups, in their order.
	Groups []Group `json:"groups"`
	// More is the increase of the cost of all nodes in an hour; missing if a price is unknown.
	More *float64 `json:"more,omitempty"`
	// Seconds is the time until the autoscaler, the controllers and the scheduler have nothing more to do.
	Seconds float64 `json:"seconds"`
	// Slow are the workloads for which the autoscaler added nodes in many small steps.
	Slow []world.Slow `json:"slow,omitempty"`
	// Waiting are the pods that stay Pending.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Fixes are the larger limits of the autoscaler with which Pending pods get nodes, each tried in the cluster as it is after the last step.
	Fixes []explain.Fix `json:"fixes,omitempty"`
	// Moments are the states of the cluster whenever nothing moved.
	Moments []world.Moment `json:"moments,omitempty"`

	status string // the autoscaler's status as YAML, at the time at
	at     metav1.Time
}

// Group is a node group before and after the step.
type Group struct {
	Name   string `json:"name"`
	Before int    `json:"before"`
	After  int    `json:"after"`
	Min    int    `json:"min"`
	Max    int    `json:"max"`
	// Price is the price of a node in an hour; missing if it is unknown.
	Price float64 `json:"price,omitempty"`
	// New are the nodes that the autoscaler added to the group.
	New []string `json:"new,omitempty"`
}

// Waiting are pods that stay Pending for the same reasons.
type Waiting struct {
	Pods []cluster.PodRef `json:"pods"`
	// Message is the scheduler's message. Autoscaler is the autoscaler's; missing if it has none about these pods.
	Message    string `json:"message"`
	Autoscaler string `json:"autoscaler,omitempty"`
}

// New returns the report on a run with an autoscaler. ran is the report on the run, from which it takes what changed for the pods. version
// is Faultline's version.
func New(result *simulation.Result, ran *run.Report, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version), Groups: []Group{}}
	step := result.Last()
	last := ran.Last()
	// If there were no pods before, all pods are new.
	change := ptr.Deref(last.Change, run.Change{New: last.Summary.Pods + last.Summary.NotCreated, NewPending: last.Summary.Pending, Refused: last.Summary.NotCreated})
	did := ptr.Deref(step.Autoscaling, world.Autoscaling{})
	with := doc.WithNodes(&did)
	for _, by := range step.Decided(step.State) {
		with += by.DescribeNodes()
		if cost := by.ExtraCost; cost != nil && *cost != 0 {
			r.More = ptr.To(ptr.Deref(r.More, 0) + *cost)
		}
	}
	r.Answer, r.Fits = answer(ran.Answer, &change, with)
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
	if more, known := did.ExtraCost(); known && did.Changed() {
		r.More = ptr.To(ptr.Deref(r.More, 0) + more)
	}
	if r.Moments = did.Moments; len(r.Moments) == 0 {
		r.Moments = step.Moments
	}
	if len(r.Moments) > 0 {
		r.Seconds = r.Moments[len(r.Moments)-1].At.Sub(r.Moments[0].At.Time).Seconds()
	}
	r.Slow = did.Slow
	r.addWaiting(step, &did)
	r.status, r.at = did.Status, step.State.Now
	return r
}

// answer returns the first line, and whether it is a yes.
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

// addWaiting adds the pods that stay Pending, with the messages about them.
func (r *Report) addWaiting(step *simulation.Step, did *world.Autoscaling) {
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
