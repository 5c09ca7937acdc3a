package sched

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	nodetopology "k8s.io/component-helpers/node/topology"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
)

// sync updates the scheduler's cache and listers to the next state. It fills the listers directly; no informer runs.
func (e *Engine) sync(next *cluster.State) error {
	before := *e.state
	e.state = next
	if !cluster.SameSlice(before.Nodes, next.Nodes) {
		e.snapshotStale = true
		e.nodesHaveImages = slices.ContainsFunc(next.Nodes, func(node *v1.Node) bool { return len(node.Status.Images) > 0 })
		if err := e.syncNodes(before.Nodes, next.Nodes); err != nil {
			return err
		}
	}
	e.removeGroupMembers()
	if err := e.syncPods(before.Pods, next.Pods); err != nil {
		return err
	}
	e.syncPodGroups(next.PodGroups)
	owners := !cluster.SameSlice(before.Services, next.Services) || ownersChanged(before, next)
	if e.memo != nil {
		if !cluster.SameSlice(before.Namespaces, next.Namespaces) {
			e.memo.NamespacesChanged()
		}
		if owners {
			e.memo.OwnersChanged(next.Services)
		}
	}
	if owners || !cluster.SameSlice(before.Nodes, next.Nodes) || !cluster.SameSlice(before.Namespaces, next.Namespaces) ||
		!cluster.SameSlice(before.PersistentVolumes, next.PersistentVolumes) || !cluster.SameSlice(before.PersistentVolumeClaims, next.PersistentVolumeClaims) ||
		!cluster.SameSlice(before.PodDisruptionBudgets, next.PodDisruptionBudgets) ||
		!cluster.SameSlice(before.StorageClasses, next.StorageClasses) || !cluster.SameSlice(before.CSINodes, next.CSINodes) ||
		!cluster.SameSlice(before.CSIDrivers, next.CSIDrivers) || !cluster.SameSlice(before.CSIStorageCapacities, next.CSIStorageCapacities) {
		e.changes++
	}
	if e.devices.Sync(next) {
		e.changes++
	}
	written := e.volumesWritten
	e.volumesWritten = false
	return e.fillListers(before, next, written)
}

// fillListers brings the listers of all kinds but pods up to date. If the engine has written volumes since, their listers are filled anew.
func (e *Engine) fillListers(before cluster.State, next *cluster.State, volumesWritten bool) error {
	core, apps := e.informers.Core().V1(), e.informers.Apps().V1()
	for _, replaced := range []error{
		refill(core.Namespaces(), before.Namespaces, next.Namespaces, false),
		refill(core.Nodes(), before.Nodes, next.Nodes, false),
		refill(core.Services(), before.Services, next.Services, false),
		refill(core.PersistentVolumes(), before.PersistentVolumes, next.PersistentVolumes, volumesWritten),
		refill(core.PersistentVolumeClaims(), before.PersistentVolumeClaims, next.PersistentVolumeClaims, volumesWritten),
		refill(core.ReplicationControllers(), before.ReplicationControllers, next.ReplicationControllers, false),
		refill(apps.ReplicaSets(), before.ReplicaSets, next.ReplicaSets, false),
		refill(apps.StatefulSets(), before.StatefulSets, next.StatefulSets, false),
		refill(e.informers.Policy().V1().PodDisruptionBudgets(), before.PodDisruptionBudgets, next.PodDisruptionBudgets, false),
		refill(e.informers.Storage().V1().StorageClasses(), before.StorageClasses, next.StorageClasses, false),
		refill(e.informers.Storage().V1().CSINodes(), before.CSINodes, next.CSINodes, false),
		refill(e.informers.Storage().V1().CSIDrivers(), before.CSIDrivers, next.CSIDrivers, false),
		refill(e.informers.Storage().V1().CSIStorageCapacities(), before.CSIStorageCapacities, next.CSIStorageCapacities, volumesWritten),
	} {
		if replaced != nil {
			return fmt.Errorf("filling the scheduler's listers: %w", replaced)
		}
	}
	return nil
}

// ownersChanged reports whether a ReplicaSet, a ReplicationController or a StatefulSet was added or removed, or has another selector. The
// scheduler reads nothing else of these objects.
func ownersChanged(before cluster.State, next *cluster.State) (changed bool) {
	cluster.VisitChanges(before.ReplicaSets, next.ReplicaSets, func(was, is *appsv1.ReplicaSet, _ int) {
		changed = changed || was == nil || is == nil || was.UID != is.UID || was.Spec.Selector != is.Spec.Selector
	})
	cluster.VisitChanges(before.ReplicationControllers, next.ReplicationControllers, func(was, is *v1.ReplicationController, _ int) {
		changed = changed || was == nil || is == nil || was.UID != is.UID || !maps.Equal(was.Spec.Selector, is.Spec.Selector)
	})
	cluster.VisitChanges(before.StatefulSets, next.StatefulSets, func(was, is *appsv1.StatefulSet, _ int) {
		changed = changed || was == nil || is == nil || was.UID != is.UID || was.Spec.Selector != is.Spec.Selector
	})
	return changed
}

// syncNodes updates the nodes in the cache. Upstream keeps nodes in the order in which they were added, zone by zone, and chooses among
// equal nodes by this order. To make the order depend on the state alone, syncNodes adds all nodes again unless the next list begins with
// the nodes of the last one, each in the same zone.
func (e *Engine) syncNodes(before, next []*v1.Node) error {
	logger := klog.FromContext(e.ctx)
	e.domains.infos = nil // the nodes' labels may change
	inPlace := func(was, node *v1.Node) bool {
		return was == node || was.Name == node.Name && nodetopology.GetZoneKey(was) == nodetopology.GetZoneKey(node)
	}
	if len(next) < len(before) || !slices.EqualFunc(before, next[:len(before)], inPlace) {
		for _, node := range before {
			if err := e.scheduler.Cache.RemoveNode(logger, node); err != nil {
				return fmt.Errorf("removing node %s from the scheduler's cache: %w", node.Name, err)
			}
		}
		before = nil
		// The snapshot keeps its list as long as the number of nodes stays the same.
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

// syncPods updates the bound pods in the cache that the next state does not share with the state before, and those about which the engine has
// decided since, whether the next state adopted the decisions or not: a question that places one pod again and again adopts none.
func (e *Engine) syncPods(before, next []*v1.Pod) error {
	changed, gone := e.changedPods(before, next)
	if !e.boundUnsure {
		changed = e.undecided(changed, gone, next)
	}
	clear(e.decided)
	if e.boundUnsure {
		changed, _ = e.changedPods(nil, next)
		for name := range e.bound {
			gone[name] = true
		}
	}
	e.boundUnsure = true // until this call succeeds
	for _, c := range changed {
		delete(gone, cluster.NameOf(c.pod))
	}
	if err := e.freePorts(changed, gone); err != nil {
		return err
	}
	for _, c := range changed {
		name := cluster.NameOf(c.pod)
		was, found := e.bound[name]
		if found && (was == c.pod || sameToScheduler(was, c.pod)) {
			continue
		}
		e.changes++
		if found {
			if err := e.removePod(was); err != nil {
				return fmt.Errorf("replacing pod %s in the scheduler's cache: %w", name, err)
			}
		}
		pod := e.withStartTime(c.pod, c.position)
		if pod != c.pod {
			e.timed[name] = true
		}
		if err := e.addPod(pod); err != nil {
			return fmt.Errorf("adding pod %s to the scheduler's cache: %w", name, err)
		}
		e.bound[name] = pod
	}
	// The order in which pods leave a node determines the order of the pods that stay on it.
	for _, name := range slices.SortedFunc(maps.Keys(gone), byName) {
		pod, found := e.bound[name]
		if !found {
			continue
		}
		e.changes++
		if err := e.removePod(pod); err != nil {
			return fmt.Errorf("removing pod %s from the scheduler's cache: %w", name, err)
		}
		delete(e.bound, name)
		delete(e.timed, name)
	}
	e.boundUnsure = false
	return nil
}

// freePorts removes the pods with ports of the host that leave their nodes, before others come. Upstream's node knows only whether a port is used, so that a
// pod that left after another had come with the same port would take the port with it.
func (e *Engine) freePorts(changed []changedPod, gone map[types.NamespacedName]bool) error {
	var leave []types.NamespacedName
	for _, c := range changed {
		name := cluster.NameOf(c.pod)
		if was, found := e.bound[name]; found && was != c.pod && usesHostPort(was) && !sameToScheduler(was, c.pod) {
			leave = append(leave, name)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(gone), byName) {
		if was, found := e.bound[name]; found && usesHostPort(was) {
			leave = append(leave, name)
		}
	}
	for _, name := range leave {
		e.changes++
		if err := e.removePod(e.bound[name]); err != nil {
			return fmt.Errorf("removing pod %s from the scheduler's cache: %w", name, err)
		}
		delete(e.bound, name)
		delete(e.timed, name)
	}
	return nil
}

// usesHostPort reports whether a container of the pod has a port of the host.
func usesHostPort(pod *v1.Pod) bool {
	has := func(c v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool { return p.HostPort > 0 })
	}
	return slices.ContainsFunc(pod.Spec.Containers, has) || slices.ContainsFunc(pod.Spec.InitContainers, has)
}

// undecided adds the pods of decisions that the next state did not adopt to what has changed, in order, and to what is gone.
func (e *Engine) undecided(changed []changedPod, gone map[types.NamespacedName]bool, next []*v1.Pod) []changedPod {
	left := map[types.NamespacedName]bool{}
	for name := range e.decided {
		if !gone[name] {
			left[name], gone[name] = true, true
		}
	}
	if len(left) == 0 {
		return changed
	}
	for i, pod := range next {
		if pod.Spec.NodeName != "" && !cluster.IsTerminal(pod) && left[cluster.NameOf(pod)] {
			changed = append(changed, changedPod{pod, i})
		}
	}
	slices.SortStableFunc(changed, func(a, b changedPod) int { return cmp.Compare(a.position, b.position) })
	return changed
}

// changedPod is a pod of the next state, with its index there, that the cache may not have yet.
type changedPod struct {
	pod      *v1.Pod
	position int
}

// changedPods returns the pods on nodes that are new or changed in the next state, and the names of the pods that are changed or removed in
// it.
func (e *Engine) changedPods(before, next []*v1.Pod) (changed []changedPod, gone map[types.NamespacedName]bool) {
	gone = map[types.NamespacedName]bool{}
	cluster.VisitChanges(before, next, func(was, is *v1.Pod, position int) {
		if was != nil {
			gone[cluster.NameOf(was)] = true
		}
		if is != nil && is.Spec.NodeName != "" && !cluster.IsTerminal(is) {
			changed = append(changed, changedPod{is, position})
		}
	})
	return changed, gone
}

// updateSnapshot updates the snapshot from the cache.
func (e *Engine) updateSnapshot() error {
	if !e.snapshotStale && e.memo != nil && !e.nodesHaveImages {
		return nil
	}
	e.snapshotStale = false
	return e.scheduler.Cache.UpdateSnapshot(klog.FromContext(e.ctx), e.snapshot)
}

// assumeInSnapshot adds a pod that was just placed to the snapshot. The cache already has the pod, and nothing else has changed since the last
// update. A full update would rebuild the list of all nodes with affinity whenever a node gets its first pod with affinity.
func (e *Engine) assumeInSnapshot(info *framework.PodInfo, bound *v1.Pod) error {
	if e.memo == nil || e.nodesHaveImages {
		return nil
	}
	e.snapshotStale = false
	assumed := *info
	assumed.Pod = bound
	return e.snapshot.AssumePod(&assumed)
}

// addPod adds a pod on a node to the scheduler's cache.
func (e *Engine) addPod(pod *v1.Pod) error {
	e.snapshotStale = true
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
	e.snapshotStale = true
	if err := e.scheduler.Cache.RemovePod(klog.FromContext(e.ctx), pod); err != nil {
		return err
	}
	if e.memo != nil {
		e.memo.PodRemoved(pod)
	}
	return nil
}

func byName(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sameToScheduler reports whether the scheduler would see no difference between two versions of a bound pod. Only labels, resources and the
// deletion of a bound pod can change. Of its status, the scheduler reads only the start time. The start time differs if the pod was placed
// in another run of the scenario, where the names and UIDs of pods repeat.
func sameToScheduler(a, b *v1.Pod) bool {
	return a.UID == b.UID && sameStart(a.Status.StartTime, b.Status.StartTime) && a.Spec.NodeName == b.Spec.NodeName && a.DeletionTimestamp.Equal(b.DeletionTimestamp) && maps.Equal(a.Labels, b.Labels) &&
		cluster.PodGroupOf(a) == cluster.PodGroupOf(b) &&
		(a.Spec.Affinity == b.Spec.Affinity || equality.Semantic.DeepEqual(a.Spec.Affinity, b.Spec.Affinity)) &&
		(cluster.SameSlice(a.Spec.Containers, b.Spec.Containers) || equality.Semantic.DeepEqual(a.Spec.Containers, b.Spec.Containers)) &&
		(a.Spec.Resources == b.Spec.Resources || equality.Semantic.DeepEqual(a.Spec.Resources, b.Spec.Resources))
}

// sameStart reports whether the times are equal. If the second time is a whole second, or missing, sameStart compares only seconds, since
// withStartTime has added nanoseconds to the first.
func sameStart(a, b *metav1.Time) bool {
	a, b = cmp.Or(a, &cluster.Epoch), cmp.Or(b, &cluster.Epoch)
	if b.Nanosecond() != 0 {
		return a.Equal(b)
	}
	return a.Time.Truncate(time.Second).Equal(b.Time)
}

// withStartTime returns the i-th pod of a state with a unique start time; see startTime. The time depends only on the state and the seed,
// so that a reused engine gives the same answer.
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

// refill updates a lister from the state before to the next state. With anew, the lister may differ from the state before, so refill
// replaces its content.
func refill[T interface {
	cluster.Object
	comparable
}](of interface {
	Informer() cache.SharedIndexInformer
}, before, next []T, anew bool) (err error) {
	if !anew && cluster.SameSlice(before, next) {
		return nil
	}
	indexer := of.Informer().GetIndexer()
	if anew {
		objs := make([]any, len(next))
		for i, obj := range next {
			objs[i] = obj
		}
		return indexer.Replace(objs, "")
	}
	var none T
	cluster.VisitChanges(before, next, func(was, is T, _ int) {
		if is == none {
			err = errors.Join(err, indexer.Delete(was))
		} else {
			err = errors.Join(err, indexer.Update(is))
		}
	})
	return err
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
