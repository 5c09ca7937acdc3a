package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	nodetopology "k8s.io/component-helpers/node/topology"
	"k8s.io/klog/v2"

	"github.com/faultline/faultline/pkg/cluster"
)

// sync updates the scheduler's cache and listers to the next state. The listers are filled directly; no informer runs.
func (e *Engine) sync(next *cluster.State) error {
	before := *e.state
	e.state = next
	if !same(before.Nodes, next.Nodes) {
		if err := e.syncNodes(before.Nodes, next.Nodes); err != nil {
			return err
		}
	}
	if e.changed || !same(before.Pods, next.Pods) {
		if err := e.syncPods(next.Pods); err != nil {
			return err
		}
	}
	if e.memo != nil {
		if !same(before.Namespaces, next.Namespaces) {
			e.memo.NamespacesChanged()
		}
		if !same(before.Services, next.Services) || !same(before.ReplicaSets, next.ReplicaSets) || !same(before.StatefulSets, next.StatefulSets) {
			e.memo.OwnersChanged(next.Services)
		}
	}
	bindings := e.changed // the engine itself has bound volumes since
	e.changed = false
	core, apps := e.informers.Core().V1(), e.informers.Apps().V1()
	for _, replaced := range []error{
		replace(core.Namespaces().Informer(), next.Namespaces, !same(before.Namespaces, next.Namespaces)),
		replace(core.Nodes().Informer(), next.Nodes, !same(before.Nodes, next.Nodes)),
		replace(core.Services().Informer(), next.Services, !same(before.Services, next.Services)),
		replace(core.PersistentVolumes().Informer(), next.PersistentVolumes, bindings || !same(before.PersistentVolumes, next.PersistentVolumes)),
		replace(core.PersistentVolumeClaims().Informer(), next.PersistentVolumeClaims, bindings || !same(before.PersistentVolumeClaims, next.PersistentVolumeClaims)),
		replace(apps.ReplicaSets().Informer(), next.ReplicaSets, !same(before.ReplicaSets, next.ReplicaSets)),
		replace(apps.StatefulSets().Informer(), next.StatefulSets, !same(before.StatefulSets, next.StatefulSets)),
		replace(e.informers.Policy().V1().PodDisruptionBudgets().Informer(), next.PodDisruptionBudgets, !same(before.PodDisruptionBudgets, next.PodDisruptionBudgets)),
		replace(e.informers.Storage().V1().StorageClasses().Informer(), next.StorageClasses, !same(before.StorageClasses, next.StorageClasses)),
		replace(e.informers.Storage().V1().CSINodes().Informer(), next.CSINodes, !same(before.CSINodes, next.CSINodes)),
	} {
		if replaced != nil {
			return fmt.Errorf("filling the scheduler's listers: %w", replaced)
		}
	}
	return nil
}

// syncNodes updates the nodes in the cache. Upstream keeps nodes in the order in which they were added, zone by zone, and picks among equal
// nodes by it. So that the order follows from the state alone, all are added again unless the next nodes begin with those before, each in
// its zone.
func (e *Engine) syncNodes(before, next []*v1.Node) error {
	logger := klog.FromContext(e.ctx)
	e.domains.infos = nil // their labels may change
	inPlace := func(was, node *v1.Node) bool {
		return was.Name == node.Name && nodetopology.GetZoneKey(was) == nodetopology.GetZoneKey(node)
	}
	if len(next) < len(before) || !slices.EqualFunc(before, next[:len(before)], inPlace) {
		for _, node := range before {
			if err := e.scheduler.Cache.RemoveNode(logger, node); err != nil {
				return fmt.Errorf("removing node %s from the scheduler's cache: %w", node.Name, err)
			}
		}
		before = nil
		// The snapshot keeps its list as long as there are as many nodes as before.
		if err := e.scheduler.Cache.UpdateSnapshot(logger, e.snapshot); err != nil {
			return err
		}
	}
	for i, node := range next {
		switch {
		case i >= len(before):
			e.scheduler.Cache.AddNode(logger, node)
		case before[i] != node:
			e.scheduler.Cache.UpdateNode(logger, before[i], node)
			if e.memo != nil {
				e.memo.NodeUpdated(before[i], node)
			}
		}
	}
	return nil
}

// syncPods updates the bound pods in the cache.
func (e *Engine) syncPods(pods []*v1.Pod) error {
	present := make(map[types.NamespacedName]bool, len(pods))
	for i, pod := range pods {
		if pod.Spec.NodeName == "" || cluster.Terminal(pod) {
			continue
		}
		name := cluster.NameOf(pod)
		present[name] = true
		was, found := e.bound[name]
		if found && (was == pod || sameToScheduler(was, pod)) {
			continue
		}
		if found {
			if err := e.removePod(was); err != nil {
				return fmt.Errorf("replacing pod %s in the scheduler's cache: %w", name, err)
			}
		}
		given := pod
		if pod = e.withStartTime(pod, i); pod != given {
			e.timed[name] = true
		}
		if err := e.addPod(pod); err != nil {
			return fmt.Errorf("adding pod %s to the scheduler's cache: %w", name, err)
		}
		e.bound[name] = pod
	}
	for name, pod := range e.bound {
		if present[name] {
			continue
		}
		if err := e.removePod(pod); err != nil {
			return fmt.Errorf("removing pod %s from the scheduler's cache: %w", name, err)
		}
		delete(e.bound, name)
		delete(e.timed, name)
	}
	return nil
}

// addPod adds a pod on a node to the scheduler's cache.
func (e *Engine) addPod(pod *v1.Pod) error {
	if err := e.scheduler.Cache.AddPod(klog.FromContext(e.ctx), pod); err != nil {
		return err
	}
	e.domains.readKeys(pod)
	if e.memo != nil {
		e.memo.PodAdded(pod)
	}
	return nil
}

// removePod removes a pod from the scheduler's cache.
func (e *Engine) removePod(pod *v1.Pod) error {
	if err := e.scheduler.Cache.RemovePod(klog.FromContext(e.ctx), pod); err != nil {
		return err
	}
	if e.memo != nil {
		e.memo.PodRemoved(pod)
	}
	return nil
}

// sameToScheduler reports whether the scheduler would see no difference between two versions of a bound pod. What can change are labels,
// resources and deletion. Of the status it only reads the start time, which stays.
func sameToScheduler(a, b *v1.Pod) bool {
	return a.UID == b.UID && a.Spec.NodeName == b.Spec.NodeName && a.DeletionTimestamp.Equal(b.DeletionTimestamp) && maps.Equal(a.Labels, b.Labels) &&
		(a.Spec.Affinity == b.Spec.Affinity || equality.Semantic.DeepEqual(a.Spec.Affinity, b.Spec.Affinity)) &&
		(same(a.Spec.Containers, b.Spec.Containers) || equality.Semantic.DeepEqual(a.Spec.Containers, b.Spec.Containers)) &&
		(a.Spec.Resources == b.Spec.Resources || equality.Semantic.DeepEqual(a.Spec.Resources, b.Spec.Resources))
}

// withStartTime returns the i-th pod of a state with a unique start time; see startTime. It depends only on the state and the seed, so that
// a reused engine gives the same.
func (e *Engine) withStartTime(pod *v1.Pod, i int) *v1.Pod {
	second := cluster.Epoch
	if pod.Status.StartTime != nil {
		second = *pod.Status.StartTime
	}
	if second.Nanosecond() != 0 {
		return pod
	}
	offset := time.Duration(i + 1)
	if e.ties.Random {
		offset = time.Duration(1 + rand.New(rand.NewPCG(e.ties.Seed, uint64(i))).Int64N(int64(time.Second)-1))
	}
	timed := *pod
	start := metav1.NewTime(second.Add(offset))
	timed.Status.StartTime = &start
	return &timed
}

// same reports whether the two lists are identical, which is how states share what did not change.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// replace refills a lister if it is out of date.
func replace[T any](informer cache.SharedIndexInformer, next []T, stale bool) error {
	if !stale {
		return nil
	}
	objs := make([]any, len(next))
	for i, obj := range next {
		objs[i] = obj
	}
	return informer.GetIndexer().Replace(objs, "")
}

// sortVolumes gives the factory a PersistentVolume lister that lists by name. Upstream takes the smallest volume that fits a claim and,
// among equal ones, the first listed, but its own lister uses random map order.
func sortVolumes(factory informers.SharedInformerFactory) {
	factory.InformerFor(&v1.PersistentVolume{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		informer := cache.NewSharedIndexInformer(nil, &v1.PersistentVolume{}, 0, cache.Indexers{})
		return volumeInformer{informer}
	})
}

type volumeInformer struct{ cache.SharedIndexInformer }

func (i volumeInformer) GetIndexer() cache.Indexer {
	return volumeIndexer{i.SharedIndexInformer.GetIndexer()}
}

type volumeIndexer struct{ cache.Indexer }

func (i volumeIndexer) ByIndex(index, value string) ([]any, error) {
	objs, err := i.Indexer.ByIndex(index, value)
	slices.SortFunc(objs, func(a, b any) int {
		return strings.Compare(a.(*v1.PersistentVolume).Name, b.(*v1.PersistentVolume).Name)
	})
	return objs, err
}
