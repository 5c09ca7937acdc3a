package workload

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/daemon"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
)

var daemonSetKind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// daemonSets syncs every DaemonSet, as syncDaemonSet in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/daemon_controller.go does.
func (p *pass) daemonSets() error {
	for _, ds := range p.DaemonSets {
		pods, err := p.claim(ds, daemonSetKind, ds.Spec.Selector, nil)
		if err != nil {
			return fmt.Errorf("daemonset %s/%s: spec.selector: %w", ds.Namespace, ds.Name, err)
		}
		seen := []any{ds, len(p.Nodes)}
		if len(p.Nodes) > 0 {
			seen = append(seen, &p.Nodes[0]) // the list is another where a node is another
		}
		for _, pod := range pods {
			seen = append(seen, pod)
		}
		if ds.Spec.MinReadySeconds == 0 && p.asBefore(ds.UID, seen) {
			continue
		}
		before := len(p.put) + len(p.gone)
		d := p.daemonSet(ds, pods)
		created, err := d.manage()
		if err != nil {
			return fmt.Errorf("daemonset %s/%s: %w", ds.Namespace, ds.Name, err)
		}
		// Upstream updates when its expectations are met, that is, in a sync after the one that created or deleted.
		if !created && len(p.gone) == d.goneBefore && ds.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
			if err := d.rollingUpdate(); err != nil {
				return fmt.Errorf("daemonset %s/%s: %w", ds.Namespace, ds.Name, err)
			}
		}
		d.status()
		if len(p.put)+len(p.gone) == before {
			p.settle(ds.UID, seen)
		}
	}
	return nil
}

// daemons is one sync of one DaemonSet.
type daemons struct {
	*pass
	set    *appsv1.DaemonSet
	hash   string
	onNode map[string][]*v1.Pod
	// shouldRun and shouldStay tell of each node in p.Nodes whether a pod should start there, and whether one may stay.
	shouldRun, shouldStay []bool
	goneBefore            int
}

func (p *pass) daemonSet(ds *appsv1.DaemonSet, pods []*v1.Pod) *daemons {
	d := &daemons{pass: p, set: ds, hash: daemonHash(ds, pods), onNode: map[string][]*v1.Pod{}, goneBefore: len(p.gone)}
	for _, pod := range pods {
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil {
			d.onNode[node] = append(d.onNode[node], pod)
		}
	}
	for _, pods := range d.onNode {
		slices.SortStableFunc(pods, olderFirst)
	}
	for _, node := range p.Nodes {
		run, stay := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds)
		d.shouldRun, d.shouldStay = append(d.shouldRun, run), append(d.shouldStay, stay)
	}
	return d
}

// olderFirst is upstream's podByCreationTimestampAndPhase: pods that have a node first, then by age.
func olderFirst(a, b *v1.Pod) int {
	if bound := (a.Spec.NodeName != ""); bound != (b.Spec.NodeName != "") {
		if bound {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// daemonHashAnnotation says, for a DaemonSet that comes from a running cluster, by which hash its pods bear the template
// whose own hash stands before the "=".
const daemonHashAnnotation = "faultline.dev/controller-revision-hash"

// daemonHash names the revision of the template. Upstream takes it from a ControllerRevision, which a State does not hold. A
// DaemonSet that comes from a running cluster, its rollout complete, keeps the hash that its pods bear.
func daemonHash(ds *appsv1.DaemonSet, pods []*v1.Pod) string {
	computed := controller.ComputeHash(&ds.Spec.Template, ds.Status.CollisionCount)
	if known, ok := ds.Annotations[daemonHashAnnotation]; ok {
		if of, hash, _ := strings.Cut(known, "="); of == computed {
			return hash
		}
		return computed
	}
	if len(pods) > 0 && ds.Status.ObservedGeneration == ds.Generation && ds.Status.UpdatedNumberScheduled >= int32(len(pods)) {
		if hash := pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash != "" {
			return hash
		}
	}
	return computed
}

// manage creates the pods that nodes lack and deletes those that they should not run: upstream's manage and
// podsShouldBeOnNode.
func (d *daemons) manage() (created bool, err error) {
	var lacking []string
	for i, node := range d.Nodes {
		pods, exists := d.onNode[node.Name]
		switch {
		case d.shouldRun[i] && !exists:
			lacking = append(lacking, node.Name)
		case d.shouldStay[i]:
			running := d.runningOrDelete(pods)
			switch {
			case !daemonutil.AllowsSurge(d.set):
				if len(running) > 1 {
					d.delete(running[1:]...)
				}
			case len(running) > 1:
				d.pruneSurge(running)
			case len(running) == 0 && d.shouldRun[i]:
				lacking = append(lacking, node.Name)
			}
		case exists:
			d.delete(slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })...)
		}
	}
	// Pods that wait for a node that is no more: upstream's getUnscheduledPodsWithoutNode.
	known := make(map[string]bool, len(d.Nodes))
	for _, node := range d.Nodes {
		known[node.Name] = true
	}
	for _, pod := range d.owned.pods[d.set.UID] {
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil && pod.Spec.NodeName == "" && !known[node] {
			d.delete(pod)
		}
	}
	return len(lacking) > 0, d.createOn(lacking)
}

// runningOrDelete returns the pods that run or will, and deletes those that have ended.
func (d *daemons) runningOrDelete(pods []*v1.Pod) []*v1.Pod {
	var running []*v1.Pod
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case cluster.Terminal(pod):
			d.delete(pod)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// pruneSurge leaves an old and a new pod on a node only while the old one is ready and the new one is not yet available.
func (d *daemons) pruneSurge(running []*v1.Pod) {
	var newest, old *v1.Pod
	for _, pod := range running {
		switch {
		case d.isNew(pod) && newest == nil:
			newest = pod
		case !d.isNew(pod) && old == nil:
			old = pod
		default:
			d.delete(pod)
		}
	}
	if newest != nil && old != nil && (!podutil.IsPodReady(old) || d.available(newest)) {
		d.delete(old)
	}
}

func (d *daemons) isNew(pod *v1.Pod) bool {
	generation, err := daemonutil.GetTemplateGeneration(d.set)
	if err != nil {
		generation = nil
	}
	return daemonutil.IsPodUpdated(pod, d.hash, generation)
}

func (d *daemons) available(pod *v1.Pod) bool {
	return podutil.IsPodAvailable(pod, d.set.Spec.MinReadySeconds, d.Now)
}

// createOn makes a pod for each of the nodes: it is the scheduler that binds it, held to the node by a node affinity.
func (d *daemons) createOn(nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	generation, err := daemonutil.GetTemplateGeneration(d.set)
	if err != nil {
		generation = nil
	}
	template := daemonutil.CreatePodTemplate(d.set.Spec.Template, generation, d.hash)
	prototype, err := d.prototype(&template, d.set, daemonSetKind)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		pod := *prototype
		pod.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(prototype.Spec.Affinity.DeepCopy(), node)
		d.create(&pod)
	}
	return nil
}

// rollingUpdate is upstream's of
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/update.go, with the nodes in their own order
// where upstream walks a map.
func (d *daemons) rollingUpdate() error {
	desired := 0
	for _, run := range d.shouldRun {
		if run {
			desired++
		}
	}
	maxUnavailable, err := daemonutil.UnavailableCount(d.set, desired)
	if err != nil {
		return fmt.Errorf("invalid value for maxUnavailable: %w", err)
	}
	maxSurge, err := daemonutil.SurgeCount(d.set, desired)
	if err != nil {
		return fmt.Errorf("invalid value for maxSurge: %w", err)
	}
	if desired > 0 && maxUnavailable == 0 && maxSurge == 0 {
		maxUnavailable = 1
	}
	if maxSurge > 0 {
		return d.surge(maxSurge, desired)
	}
	unavailable := 0
	var broken, candidates []*v1.Pod
	for i, node := range d.Nodes {
		pods, exists := d.onNode[node.Name]
		if !exists && !d.shouldRun[i] {
			continue
		}
		updated, old, ok := d.split(pods)
		switch {
		case !ok, (updated == nil) == (old == nil):
			unavailable++ // for manage to settle
		case updated != nil:
			if !d.available(updated) {
				unavailable++
			}
		case !d.available(old):
			broken = append(broken, old)
			unavailable++
		case unavailable < maxUnavailable:
			candidates = append(candidates, old)
		}
	}
	d.delete(broken...)
	d.delete(candidates[:min(max(0, maxUnavailable-unavailable), len(candidates))]...)
	return nil
}

// surge starts new pods beside old ones, as many at a time as maxSurge allows, and deletes the old ones whose successor is
// available.
func (d *daemons) surge(maxSurge, desired int) error {
	surging, available := 0, 0
	var allowed, candidates []string
	var unwanted []*v1.Pod
	for i, node := range d.Nodes {
		pods, exists := d.onNode[node.Name]
		if !exists && !d.shouldRun[i] {
			continue
		}
		updated, old, ok := d.split(pods)
		if !ok {
			surging++
			continue
		}
		if oldest := cmp.Or(old, updated); oldest != nil && d.available(oldest) {
			available++
		}
		switch {
		case old == nil:
		case updated != nil && !d.available(updated):
			surging++
		case updated != nil:
			d.delete(old)
		case !d.shouldRun[i] && !d.available(old):
			d.delete(old)
		case !d.shouldRun[i]:
			unwanted = append(unwanted, old)
		case !d.available(old):
			allowed = append(allowed, node.Name)
		case surging < maxSurge:
			candidates = append(candidates, node.Name)
		}
	}
	d.delete(unwanted[:min(max(0, available-desired), len(unwanted))]...)
	return d.createOn(append(allowed, candidates[:min(max(0, maxSurge-surging), len(candidates))]...))
}

// split returns the node's pod of the new revision and that of an old one: upstream's findUpdatedPodsOnNode. It is not ok
// where there are several of a kind.
func (d *daemons) split(pods []*v1.Pod) (updated, old *v1.Pod, ok bool) {
	for _, pod := range pods {
		of := &old
		if d.isNew(pod) {
			of = &updated
		}
		if pod.DeletionTimestamp != nil {
			continue
		}
		if *of != nil {
			return nil, nil, false
		}
		*of = pod
	}
	return updated, old, true
}

// status is upstream's updateDaemonSetStatus.
func (d *daemons) status() {
	status := appsv1.DaemonSetStatus{ObservedGeneration: d.set.Generation, CollisionCount: d.set.Status.CollisionCount, Conditions: d.set.Status.Conditions}
	for i, node := range d.Nodes {
		pods := d.onNode[node.Name]
		if !d.shouldRun[i] {
			if len(pods) > 0 {
				status.NumberMisscheduled++
			}
			continue
		}
		status.DesiredNumberScheduled++
		if len(pods) == 0 {
			continue
		}
		status.CurrentNumberScheduled++
		if podutil.IsPodReady(pods[0]) {
			status.NumberReady++
			if d.available(pods[0]) {
				status.NumberAvailable++
			}
		}
		if d.isNew(pods[0]) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	ds := *d.set
	ds.Status = status
	if computed := controller.ComputeHash(&ds.Spec.Template, ds.Status.CollisionCount); d.hash != computed {
		ds.Annotations = maps.Clone(ds.Annotations)
		metav1.SetMetaDataAnnotation(&ds.ObjectMeta, daemonHashAnnotation, computed+"="+d.hash)
	}
	if !reflect.DeepEqual(ds.Status, d.set.Status) || !maps.Equal(ds.Annotations, d.set.Annotations) {
		d.pass.set(&ds)
	}
}
