package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// stuckWorkload is a workload that lacks pods after a step, and the course on which changes are tried from there.
type stuckWorkload struct {
	course    *simulation.Course // continues after the step
	baseSteps int                // number of steps of the course before a change
	stepNames map[string]bool    // names of steps that exist
	step      *simulation.Step

	owner              cluster.Ref
	ownerOf            func(*v1.Pod) cluster.Ref // in the step
	object             cluster.Object            // the workload as its user wrote it; nil if it is not there, or is of a kind of its own
	spec               *v1.PodSpec               // the spec of the workload's next pod; nil if there is none
	crewsBefore        map[cluster.Ref]cluster.WorkloadPods
	job                string // the pod's Job, if the workload is a CronJob
	fromCustomResource bool   // the workload belongs to a custom resource whose replicas and requests Karmada reads
	customResource     string // the custom resource from which an operator makes the workload

	// helps returns the change, which the steps have made, as a fix; nil if it is none.
	helps func(ctx context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error)
}

func newStuckWorkload(course *simulation.Course, s *simulation.Step, owner cluster.Ref) *stuckWorkload {
	w := &stuckWorkload{course: course, baseSteps: len(course.Steps), stepNames: map[string]bool{}, step: s, owner: owner,
		ownerOf: s.State.Owners(), crewsBefore: s.State.PodsByWorkload(), object: s.State.Find(owner), spec: specOf(s.State, owner)}
	for i := range course.Steps {
		w.stepNames[course.Steps[i].Name] = true
	}
	if _, made := w.object.(*cluster.UnknownOwner); made {
		w.object = nil
	}
	w.customResource = makerOf(w.object)
	return w
}

// makerOf is the custom resource of which an operator makes the workload; "" if there is none.
func makerOf(object cluster.Object) string {
	if object != nil {
		if of, made := customResourceOf(object); made {
			return of.String()
		}
	}
	return ""
}

// pendingPod is a pod without a node, and its workload.
type pendingPod struct {
	*stuckWorkload

	pending       *placement.Pending
	pod           *v1.Pod
	revisionIndex int                // the position of the pod among the pods of its revision
	pendingBefore map[types.UID]bool // the pods that were Pending after the step
	deletionHelps bool               // deleting the pod alone helps

	nodes     []*v1.Node       // the nodes that the pod is meant for, whether they take it or not
	occupancy *cause.Occupancy // what the pods of the step hold
	member    *cluster.Member  // the pod's cluster in a federation, nil elsewhere
}

func newPendingPod(course *simulation.Course, s *simulation.Step, pod *v1.Pod) (*pendingPod, error) {
	at := slices.IndexFunc(s.Pending, func(pending placement.Pending) bool { return cluster.NameOf(pending.Pod) == cluster.NameOf(pod) })
	if at < 0 {
		return nil, fmt.Errorf("pod %s/%s is not Pending after step %q; ask about one of the step's Pending pods", pod.Namespace, pod.Name, s.Name)
	}
	p := &pendingPod{pending: &s.Pending[at], pod: s.Pending[at].Pod, pendingBefore: map[types.UID]bool{}, nodes: s.State.Nodes,
		occupancy: cause.NewOccupancy(s.State.Pods)}
	p.stuckWorkload = newStuckWorkload(course, s, s.State.Owners()(p.pod))
	p.helps = p.helpsPod
	for i := range s.Pending {
		p.pendingBefore[s.Pending[i].Pod.UID] = true
	}
	if job := metav1.GetControllerOfNoCopy(p.pod); job != nil {
		p.job = job.Name
	}
	p.revisionIndex = slices.IndexFunc(podsOfSameRevision(podsOf(s.State)[p.owner], p.pod), func(other *v1.Pod) bool { return other.UID == p.pod.UID })
	if p.member = memberOf(s.State, pod); p.member != nil {
		p.nodes = p.member.State.Nodes
		control := s.State.Federation.Control
		b := control.BindingOf(p.owner)
		p.fromCustomResource = b != nil && b.Template.Kind != p.owner.Kind
		for _, template := range control.Templates {
			if obj := cluster.Find(template.Objects, p.owner); obj != nil {
				p.object, p.customResource = obj, makerOf(obj)
			}
		}
	}
	if node, lasts := cluster.Identity(p.owner, p.pod); lasts && p.owner.Kind == "DaemonSet" {
		p.nodes = list.Where(p.nodes, func(n *v1.Node) bool { return n.Name == node })
	}
	return p, nil
}

// refusalUnclear reports whether the refusal does not say what keeps the pod Pending: the scheduler looked at no node, or other pods of the pod
// group have none.
func (p *pendingPod) refusalUnclear() bool {
	return len(p.pending.Reasons) == 0 && !p.awaitsClaims() || p.pending.Group != nil
}

// awaitsClaims reports whether VolumeBinding refuses the pod before the scheduler looks at nodes, for claims that have to be bound before.
func (p *pendingPod) awaitsClaims() bool {
	return strings.Contains(p.pending.Message, "pod has unbound immediate PersistentVolumeClaims")
}

// refusedBy reports whether one of the plugins refuses the pod on a node. If the refusal is unclear, any plugin may.
func (p *pendingPod) refusedBy(plugins ...string) bool {
	if p.awaitsClaims() && slices.Contains(plugins, "VolumeBinding") {
		return true
	}
	return p.refusalUnclear() || slices.ContainsFunc(p.pending.Reasons, func(r placement.Reason) bool { return slices.Contains(plugins, r.Plugin) })
}

// lacksResource reports whether a node has too little of the resource for the pod. If the refusal is unclear, any resource may be short.
func (p *pendingPod) lacksResource(name v1.ResourceName) bool {
	return p.refusalUnclear() || slices.ContainsFunc(p.pending.Reasons, func(r placement.Reason) bool {
		return strings.HasPrefix(r.Message, "Insufficient ") && strings.TrimPrefix(r.Message, "Insufficient ") == string(name)
	})
}
