package controller

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/cluster"
)

var daemonSetKind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// daemonSet syncs a DaemonSet, as syncDaemonSet in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/daemon_controller.go does.
func (p *pass) daemonSet(ds *appsv1.DaemonSet) error {
	seen := p.seen(ds)
	if seen != nil {
		seen = append(seen, listOf(p.Nodes))
	}
	if seen != nil && ds.Spec.MinReadySeconds > 0 {
		seen = append(seen, p.Now)
	}
	return p.unlessSettled(subject{inSync, ds.UID}, seen, func() error {
		pods, err := p.claim(ds, daemonSetKind, ds.Spec.Selector, nil)
		if err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
		revisions, err := p.claimRevisions(ds, daemonSetKind, ds.Spec.Selector)
		if err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
		hash, err := p.daemonHash(ds, revisions, pods)
		if err != nil {
			return err
		}
		return p.newDaemonSetSync(ds, hash, pods).run()
	})
}

// daemonSetSync is one sync of one DaemonSet.
type daemonSetSync struct {
	*pass
	set *appsv1.DaemonSet
	// hash labels the pods of the current template.
	hash   string
	pods   []*v1.Pod
	onNode map[string][]*v1.Pod
	// shouldRun and shouldStay say, for each node in p.Nodes, whether a pod should start there, and whether one may stay.
	shouldRun, shouldStay []bool
}

func (p *pass) newDaemonSetSync(ds *appsv1.DaemonSet, hash string, pods []*v1.Pod) *daemonSetSync {
	d := &daemonSetSync{pass: p, set: ds, hash: hash, pods: pods, onNode: map[string][]*v1.Pod{}}
	for _, pod := range pods {
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil && !(cluster.Terminal(pod) && pod.DeletionTimestamp != nil) {
			d.onNode[node] = append(d.onNode[node], pod)
		}
	}
	for _, pods := range d.onNode {
		slices.SortStableFunc(pods, olderFirst)
	}
	should := daemonNodes(ds)
	for _, node := range p.Nodes {
		run, stay := should(node)
		d.shouldRun, d.shouldStay = append(d.shouldRun, run), append(d.shouldStay, stay)
	}
	return d
}

// run is upstream's updateDaemonSet. A sync that creates or deletes pods updates none: upstream waits until its expectations are met.
func (d *daemonSetSync) run() error {
	ending := len(d.ending)
	created, err := d.manage()
	if err != nil {
		return err
	}
	if !created && len(d.ending) == ending && d.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if err := d.rollingUpdate(); err != nil {
			return err
		}
	}
	d.status()
	return nil
}

// olderFirst is upstream's podByCreationTimestampAndPhase: pods that have a node first, then by age.
func olderFirst(a, b *v1.Pod) int {
	if onNode := (a.Spec.NodeName != ""); onNode != (b.Spec.NodeName != "") {
		if onNode {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// manage creates the pods that nodes lack, and deletes pods that they should not run: upstream's manage and podsShouldBeOnNode.
func (d *daemonSetSync) manage() (created bool, err error) {
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
	for _, pod := range d.pods {
		if node, err := daemonutil.GetTargetNodeName(pod); err == nil && pod.Spec.NodeName == "" && !known[node] {
			d.delete(pod)
		}
	}
	return len(lacking) > 0, d.createOn(lacking)
}

// runningOrDelete returns the pods that run or will run, and deletes the pods that have ended.
func (d *daemonSetSync) runningOrDelete(pods []*v1.Pod) []*v1.Pod {
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
func (d *daemonSetSync) pruneSurge(running []*v1.Pod) {
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

func (d *daemonSetSync) isNew(pod *v1.Pod) bool { return isOfTemplate(d.set, d.hash, pod) }

func isOfTemplate(ds *appsv1.DaemonSet, hash string, pod *v1.Pod) bool {
	generation, _ := daemonutil.GetTemplateGeneration(ds) // as upstream, none where it cannot be read
	return daemonutil.IsPodUpdated(pod, hash, generation)
}

func (d *daemonSetSync) available(pod *v1.Pod) bool {
	return podutil.IsPodAvailable(pod, d.set.Spec.MinReadySeconds, d.Now)
}

// createOn makes a pod for each of the nodes. A node affinity holds it to the node, and the scheduler binds it.
func (d *daemonSetSync) createOn(nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	generation, _ := daemonutil.GetTemplateGeneration(d.set)
	template := daemonutil.CreatePodTemplate(d.set.Spec.Template, generation, d.hash)
	prototype, err := d.prototype(&template, d.set, daemonSetKind)
	if err != nil {
		return d.refuse(d.set, len(nodes), err)
	}
	_, err = d.createPods(d.set, prototype, len(nodes), func(i int) *v1.Pod {
		pod := *prototype
		pod.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(prototype.Spec.Affinity.DeepCopy(), nodes[i])
		return &pod
	})
	return err
}

// status is upstream's updateDaemonSetStatus.
func (d *daemonSetSync) status() {
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
	if !reflect.DeepEqual(status, d.set.Status) {
		updated := *d.set
		updated.Status = status
		d.put(&updated)
	}
}
