package workload

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
)

// Controllers act as kube-controller-manager does. The zero value is ready to use. It serves one simulation at a time.
type Controllers struct {
	// Rand chooses among equals, such as the pods of equal rank of which a ReplicaSet must delete one, and makes the UIDs of
	// new pods, by which upstream breaks ties of age. Nil keeps a fixed order: the newest pod goes first.
	Rand *rand.Rand

	// settled holds, by UID, what a controller looked at when it last found nothing to do. States are immutable, so the same
	// pointers again mean nothing to do again.
	settled map[types.UID][]any
}

// Reconcile does one sync of every controller and returns the next state: the same pointer when there was nothing to do.
// The objects must have come through Admit, which defaults them. An error says that an object cannot be created as it is,
// for instance because its PriorityClass is gone.
func (c *Controllers) Reconcile(s *cluster.State) (*cluster.State, error) {
	next := evictTainted(s)
	owned := ownership(next)
	// ReplicaSets count their pods before Deployments look at the counts, and create and delete pods after the Deployments
	// have spoken. In a real cluster the status arrives by an event in between.
	syncs := []func(*pass) error{
		(*pass).autoscalers,
		(*pass).replicaSetStatuses,
		(*pass).deployments,
		(*pass).replicaSets,
		(*pass).statefulSets,
		(*pass).daemonSets,
		(*pass).jobs,
		(*pass).volumes,
		(*pass).budgets,
	}
	var problems []error
	for _, run := range syncs {
		this := &pass{Controllers: c, State: next, created: next.Created, owned: owned}
		if err := run(this); err != nil {
			problems = append(problems, err)
			continue
		}
		next = this.done()
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return next, nil
}

// Next tells the earliest moment after s.Now at which a controller acts although nothing else changes: a toleration of a
// NoExecute taint runs out, or a pod has been ready for minReadySeconds.
func Next(s *cluster.State) (metav1.Time, bool) {
	var next metav1.Time
	consider := func(at time.Time) {
		if at.After(s.Now.Time) && (next.IsZero() || at.Before(next.Time)) {
			next = metav1.NewTime(at)
		}
	}
	tainted := noExecuteTaints(s)
	for _, pod := range s.Pods {
		if at, ok := evictionTime(pod, tainted[pod.Spec.NodeName]); ok && pod.DeletionTimestamp == nil {
			consider(at)
		}
	}
	minReady := map[types.UID]int32{}
	for _, rs := range s.ReplicaSets {
		minReady[rs.UID] = rs.Spec.MinReadySeconds
	}
	for _, set := range s.StatefulSets {
		minReady[set.UID] = set.Spec.MinReadySeconds
	}
	for _, ds := range s.DaemonSets {
		minReady[ds.UID] = ds.Spec.MinReadySeconds
	}
	for _, pod := range s.Pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if ref == nil || minReady[ref.UID] == 0 || !podutil.IsPodReady(pod) {
			continue
		}
		ready := podutil.GetPodReadyCondition(pod.Status).LastTransitionTime
		consider(ready.Add(time.Duration(minReady[ref.UID]) * time.Second))
	}
	return next, !next.IsZero()
}

// pass is one controller's sync of all its objects: what it sees, and what it does to the cluster. The next state is derived
// once, when it is done.
type pass struct {
	*Controllers
	*cluster.State
	owned     owners
	created   int
	put, gone []cluster.Object
	names     map[types.NamespacedName]bool
	admission *admission
}

func (p *pass) set(obj cluster.Object) { p.put = append(p.put, obj) }

func (p *pass) delete(pods ...*v1.Pod) {
	for _, pod := range pods {
		p.gone = append(p.gone, pod)
	}
}

func (p *pass) done() *cluster.State {
	if len(p.put) == 0 && len(p.gone) == 0 {
		return p.State
	}
	next := *p.State.With(p.put...).Without(p.gone...)
	next.Created = p.created
	return &next
}

// asBefore tells whether the object's last sync saw the very same things and had nothing to do.
func (p *pass) asBefore(uid types.UID, seen []any) bool {
	return slices.Equal(p.settled[uid], seen) && seen != nil
}

// settle remembers that there is nothing to do for an object while it and what it depends on stay the same.
func (p *pass) settle(uid types.UID, seen []any) {
	if p.settled == nil {
		p.Controllers.settled = map[types.UID][]any{}
	}
	p.Controllers.settled[uid] = seen
}

// owners finds the pods of a controller by its UID, and those that have none; each list is in order of arrival.
type owners struct {
	pods    map[types.UID][]*v1.Pod
	orphans *lookup
}

func ownership(s *cluster.State) owners {
	o := owners{pods: map[types.UID][]*v1.Pod{}}
	var orphans []*v1.Pod
	for _, pod := range s.Pods {
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			o.pods[ref.UID] = append(o.pods[ref.UID], pod)
		} else {
			orphans = append(orphans, pod)
		}
	}
	var selectors []scopedSelector
	if len(orphans) > 0 {
		for _, rs := range s.ReplicaSets {
			selectors = append(selectors, scopedSelector{rs.Namespace, rs.Spec.Selector})
		}
		for _, set := range s.StatefulSets {
			selectors = append(selectors, scopedSelector{set.Namespace, set.Spec.Selector})
		}
		for _, ds := range s.DaemonSets {
			selectors = append(selectors, scopedSelector{ds.Namespace, ds.Spec.Selector})
		}
	}
	o.orphans = newLookup(orphans, selectors)
	return o
}
