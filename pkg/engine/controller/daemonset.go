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

// syncDaemonSet syncs a DaemonSet, as syncDaemonSet in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/daemon_controller.go does.
func (p *pass) syncDaemonSet(ds *appsv1.DaemonSet) error {
	seen := p.syncInputs(ds)
	if seen != nil {
		seen = append(seen, newListID(p.Nodes))
	}
	if seen != nil && ds.Spec.MinReadySeconds > 0 {
		seen = append(seen, p.Now)
	}
	return p.syncUnlessSettled(subject{inSync, ds.UID}, seen, func() error {
		pods, err := p.claimDaemonPods(ds)
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
		d := &daemonSetSync{pass: p, daemons: p.knownDaemons(ds, hash), set: ds, hash: hash}
		d.followNodesAndPods(pods)
		return d.updateDaemonSet()
	})
}

// daemonSetSync is one sync of one DaemonSet.
type daemonSetSync struct {
	*pass
	*daemons
	set *appsv1.DaemonSet
	// hash is the label of pods of the current template.
	hash string
}

// updateDaemonSet is upstream's updateDaemonSet. A sync that creates or deletes pods updates none, as upstream first waits until its expectations are
// met.
func (d *daemonSetSync) updateDaemonSet() error {
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
	d.updateStatus()
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
	for _, node := range d.nodes {
		switch exists := len(node.pods) > 0; {
		case node.settled:
		case node.run && !exists:
			lacking = append(lacking, node.Name)
		case node.stay:
			running := d.runningOrDelete(node.pods)
			switch {
			case !daemonutil.AllowsSurge(d.set):
				if len(running) > 1 {
					d.deletePods(running[1:]...)
				}
			case len(running) > 1:
				d.pruneSurge(running)
			case len(running) == 0 && node.run:
				lacking = append(lacking, node.Name)
			}
		case exists:
			d.deletePods(slices.DeleteFunc(slices.Clone(node.pods), func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })...)
		}
	}
	if d.strays > 0 { // upstream's getUnscheduledPodsWithoutNode
		for _, pod := range d.pods {
			if name, counts := targetNode(pod); counts && pod.Spec.NodeName == "" && d.byName[name].Node == nil {
				d.deletePods(pod)
			}
		}
	}
	return len(lacking) > 0, d.createDaemonPods(lacking)
}

// runningOrDelete returns the pods that run or will run, and deletes the pods that have ended.
func (d *daemonSetSync) runningOrDelete(pods []*v1.Pod) []*v1.Pod {
	var running []*v1.Pod
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case cluster.IsTerminal(pod):
			d.deletePods(pod)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// pruneSurge keeps an old and a new pod on a node only while the old one is ready and the new one is not yet available.
func (d *daemonSetSync) pruneSurge(running []*v1.Pod) {
	var newest, old *v1.Pod
	for _, pod := range running {
		switch {
		case d.isNew(pod) && newest == nil:
			newest = pod
		case !d.isNew(pod) && old == nil:
			old = pod
		default:
			d.deletePods(pod)
		}
	}
	if newest != nil && old != nil && (!podutil.IsPodReady(old) || d.isAvailable(newest)) {
		d.deletePods(old)
	}
}

func (d *daemonSetSync) isNew(pod *v1.Pod) bool {
	is, known := d.updated[pod]
	if !known {
		is = isOfTemplate(d.set, d.hash, pod)
		d.updated[pod] = is
	}
	return is
}

// isOfTemplate reports whether the pod is of the DaemonSet's current template, by hash or template generation.
func isOfTemplate(ds *appsv1.DaemonSet, hash string, pod *v1.Pod) bool {
	generation, _ := daemonutil.GetTemplateGeneration(ds) // as upstream, nil if the annotation cannot be parsed
	return daemonutil.IsPodUpdated(pod, hash, generation)
}

func (d *daemonSetSync) isAvailable(pod *v1.Pod) bool {
	return podutil.IsPodAvailable(pod, d.set.Spec.MinReadySeconds, d.Now)
}

// createDaemonPods creates a pod for each of the nodes. A node affinity ties the pod to its node, and the scheduler binds it.
func (d *daemonSetSync) createDaemonPods(nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	generation, _ := daemonutil.GetTemplateGeneration(d.set)
	template := daemonutil.CreatePodTemplate(d.set.Spec.Template, generation, d.hash)
	prototype, err := d.newPrototype(&template, d.set, daemonSetKind)
	if err != nil {
		return d.refusePods(d.set, len(nodes), err)
	}
	_, err = d.createPods(d.set, prototype, len(nodes), func(i int) *v1.Pod {
		pod := *prototype
		pod.Spec.Affinity = daemonutil.ReplaceDaemonSetPodNodeNameNodeAffinity(prototype.Spec.Affinity.DeepCopy(), nodes[i])
		return &pod
	})
	return err
}

// updateStatus is upstream's updateDaemonSetStatus.
func (d *daemonSetSync) updateStatus() {
	status := appsv1.DaemonSetStatus{ObservedGeneration: d.set.Generation, CollisionCount: d.set.Status.CollisionCount, Conditions: d.set.Status.Conditions}
	c := &d.counted
	status.NumberMisscheduled, status.DesiredNumberScheduled, status.CurrentNumberScheduled = c.misscheduled, c.desired, c.current
	status.NumberReady, status.NumberAvailable, status.UpdatedNumberScheduled = c.ready, c.available, c.updated
	status.NumberUnavailable = c.desired - c.available
	if !reflect.DeepEqual(status, d.set.Status) {
		updated := *d.set
		updated.Status = status
		d.putObject(&updated)
	}
}
