package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Fix is a single change that places Pending pods of a workload.
type Fix struct {
	// Change describes the change.
	Change string `json:"change"`
	// Pending is the number of the step's Pending pods after the change, and OfWorkload how many of them belong to the workload.
	Pending    int `json:"pending"`
	OfWorkload int `json:"ofWorkload"`
	// Node is where the pod's counterpart goes: the node of the n-th pod of the workload's latest revision, if the pod is now its n-th. It
	// is missing if that pod is still Pending, or does not exist.
	Node string `json:"node,omitempty"`
}

// Fixes returns the single changes that help a Pending pod of the step, and descriptions of changes that it tried and that do not help. Each was
// tried by running the scenario with it up to the step. A change helps if fewer pods of the pod's workload are Pending, no fewer run, and
// fewer of the step's pods are Pending, so that it does not merely move the problem. For a StatefulSet, which creates no pod before the
// previous one runs, it also helps if more pods run and no more are Pending.
//
// Fixes are tried and sorted as follows: first the fixes that leave no pod of the workload Pending; among them the smallest intervention first.
//
//  1. Uncordon a node, once the step is over: one of each domain.
//  2. Soften a hard rule; take it away where it cannot be softened.
//  3. Tolerate a taint, but none of node.kubernetes.io, which say that a node is not well.
//  4. Request less: the most CPU, to 1m, and the most memory, to 1Mi, that the container that requests most of it can have
//     for as few Pending pods as with 1m or 1Mi. The next larger amount has been tried, and leaves more.
//  5. Run fewer replicas: as many as leave none of the workload Pending. One replica more has been tried, and does not do that.
//  6. Add a node like one that would take such pods, there from the start: one for each domain, and one for each key of a
//     hard rule in a domain of its own.
//
// A domain here is the nodes with equal values of the zone label and of the keys of the pod's hard rules, except the hostname. At most 12
// taints are tried, 12 domains to uncordon a node in and 12 to add one to, and 3 nodes per domain, or 3 that differ; amounts and replicas
// are found by bisection. So there are no more than about 150 runs.
func Fixes(ctx context.Context, result *simulation.Result, step string, pod *v1.Pod, opts Options) (fixes []Fix, tried []string, err error) {
	p, err := newPendingPod(result, step, pod)
	if err != nil {
		return nil, nil, err
	}
	attempts := slices.Concat(p.uncordon(), p.soften(), p.tolerate(), p.requestLess(), p.fewerReplicas(), p.moreNodes())
	for i, a := range attempts {
		opts.progress(i, len(attempts))
		fix, err := a.try(ctx)
		var failed *simulation.StepError
		switch {
		case errors.As(err, &failed):
			tried = append(tried, fmt.Sprintf("%s: %s", a.changes[0], failed)) // a later step depends on what is changed
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", a.changes[0], err)
		case fix == nil:
			tried = append(tried, a.changes...)
		default:
			fixes = append(fixes, *fix)
		}
	}
	opts.progress(len(attempts), len(attempts))
	slices.SortStableFunc(fixes, func(a, b Fix) int { return min(a.OfWorkload, 1) - min(b.OfWorkload, 1) })
	return fixes, tried, nil
}

// attempt is one way to help.
type attempt struct {
	// changes describes what is tried.
	changes []string
	// try returns the result, or nil if it does not help.
	try func(context.Context) (*Fix, error)
}

// pendingPod is the pod and its context.
type pendingPod struct {
	scenario *scenario.Scenario // up to the step
	step     *simulation.Step
	pod      *v1.Pod
	owner    cluster.Ref
	spec     *v1.PodSpec // the workload's
	place    int         // of the pod among those of its revision
	// running and waiting are how many of the workload's pods have a node and how many do not.
	running, waiting int

	nodes  []*v1.Node      // of the pod's scheduler
	member *cluster.Member // the pod's cluster in a federation, nil elsewhere
	made   bool            // of a custom resource, of which Karmada takes replicas and requests
}

func newPendingPod(result *simulation.Result, step string, pod *v1.Pod) (*pendingPod, error) {
	s, err := stepOf(result, step)
	if err != nil {
		return nil, err
	}
	for _, pending := range s.Pending {
		if pending.Pod.Namespace != pod.Namespace || pending.Pod.Name != pod.Name {
			continue
		}
		p := &pendingPod{scenario: result.Scenario.Until(step), step: s, pod: pending.Pod, owner: s.State.Owners()(pending.Pod)}
		p.spec = specOf(s.State, p.owner)
		pods := podsOf(s.State)[p.owner]
		p.place = slices.IndexFunc(revision(pods, p.pod), func(other *v1.Pod) bool { return other.UID == p.pod.UID })
		p.running, p.waiting = count(pods)
		p.nodes = s.State.Nodes
		if p.member = memberOf(s.State, pod); p.member != nil {
			p.nodes = p.member.State.Nodes
			b := s.State.Federation.Control.BindingOf(p.owner)
			p.made = b != nil && b.Template.Kind != p.owner.Kind
		}
		return p, nil
	}
	return nil, fmt.Errorf("pod %s/%s is not Pending after step %q; ask about one of the step's Pending pods", pod.Namespace, pod.Name, step)
}

// count returns how many pods have a node and how many do not.
func count(pods []*v1.Pod) (running, waiting int) {
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			waiting++
		} else {
			running++
		}
	}
	return running, waiting
}

// run returns the result of the scenario, or nil if it does not help. At least that many pods of the workload must run, and never none: a
// pod without a controller that is placed first and preempted later is not created again.
func (p *pendingPod) run(ctx context.Context, change string, s *scenario.Scenario, least int) (*Fix, error) {
	step, err := last(ctx, s)
	if err != nil {
		return nil, err
	}
	pods := podsOf(step.State)[p.owner]
	running, waiting := count(pods)
	fewer := waiting < p.waiting && len(step.Pending) < len(p.step.Pending) && running >= max(least, 1)
	next := waiting == p.waiting && len(step.Pending) <= len(p.step.Pending) && running > p.running
	if !fewer && !next {
		return nil, nil
	}
	fix := &Fix{Change: change, Pending: len(step.Pending), OfWorkload: waiting}
	if p.member != nil {
		pods = slices.DeleteFunc(pods, func(pod *v1.Pod) bool { return pod.Labels[cluster.MemberLabel] != p.member.Name })
	}
	if len(pods) > 0 {
		if latest := revision(pods, pods[len(pods)-1]); p.place < len(latest) {
			fix.Node = latest[p.place].Spec.NodeName
		}
	}
	return fix, nil
}

// revision returns the pods with the pod's controller: of a Deployment those of one ReplicaSet, otherwise all.
func revision(pods []*v1.Pod, pod *v1.Pod) []*v1.Pod {
	controller := func(pod *v1.Pod) types.UID {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			return ref.UID
		}
		return pod.UID
	}
	return list.Where(pods, func(other *v1.Pod) bool { return controller(other) == controller(pod) })
}

// once returns the attempt that runs a scenario.
func (p *pendingPod) once(change string, s *scenario.Scenario) attempt {
	return attempt{[]string{change}, func(ctx context.Context) (*Fix, error) { return p.run(ctx, change, s, p.running) }}
}

// first returns the attempt that takes the first of several that helps.
func first(attempts []attempt) attempt {
	var changes []string
	for _, a := range attempts {
		changes = append(changes, a.changes...)
	}
	return attempt{changes, func(ctx context.Context) (*Fix, error) {
		for _, a := range attempts {
			if fix, err := a.try(ctx); fix != nil || err != nil {
				return fix, err
			}
		}
		return nil, nil
	}}
}

// halve bisects between an amount that helps and one that does not, and returns the result of the former. An amount helps if it leaves no
// more pods of the workload Pending than the first did.
func halve(helps, fails int64, fix *Fix, try func(amount int64) (*Fix, error)) (*Fix, error) {
	for helps-fails > 1 || fails-helps > 1 {
		middle := (helps + fails) / 2
		found, err := try(middle)
		if err != nil {
			return nil, err
		}
		if found != nil && found.OfWorkload <= fix.OfWorkload {
			helps, fix = middle, found
		} else {
			fails = middle
		}
	}
	return fix, nil
}
