package controller

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// rollingUpdate is upstream's function of that name in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/update.go.
// It takes nodes in the order of the state, where upstream walks a map.
func (d *daemonSetSync) rollingUpdate() error {
	desired := int(d.counted.desired)
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
		return d.surgeUpdate(maxSurge, desired)
	}
	unavailable := 0
	var broken, candidates []*v1.Pod
	for _, node := range d.nodes {
		if node.settled {
			continue
		}
		updated, old, ok := d.findUpdatedAndOldPods(node.pods)
		switch {
		case !ok, (updated == nil) == (old == nil):
			unavailable++ // manage deletes the excess or creates the missing pod
		case updated != nil:
			if !d.isAvailable(updated) {
				unavailable++
			}
		case !d.isAvailable(old):
			broken = append(broken, old)
			unavailable++
		case unavailable < maxUnavailable:
			candidates = append(candidates, old)
		}
	}
	d.deletePods(broken...)
	d.deletePods(candidates[:min(max(0, maxUnavailable-unavailable), len(candidates))]...)
	return nil
}

// surgeUpdate starts new pods beside old ones, up to maxSurge at a time, and deletes each old pod whose new one is available.
func (d *daemonSetSync) surgeUpdate(maxSurge, desired int) error {
	surging, available := 0, 0
	var allowed, candidates []string
	var unwanted []*v1.Pod
	for _, node := range d.nodes {
		if len(node.pods) == 0 && !node.run {
			continue
		}
		updated, old, ok := d.findUpdatedAndOldPods(node.pods)
		if !ok {
			surging++
			continue
		}
		if oldest := cmp.Or(old, updated); oldest != nil && d.isAvailable(oldest) {
			available++
		}
		switch {
		case old == nil:
		case updated != nil && !d.isAvailable(updated):
			surging++
		case updated != nil:
			d.deletePods(old)
		case !node.run && !d.isAvailable(old):
			d.deletePods(old)
		case !node.run:
			unwanted = append(unwanted, old)
		case !d.isAvailable(old):
			allowed = append(allowed, node.Name)
		case surging < maxSurge:
			candidates = append(candidates, node.Name)
		}
	}
	d.deletePods(unwanted[:min(max(0, available-desired), len(unwanted))]...)
	return d.createDaemonPods(append(allowed, candidates[:min(max(0, maxSurge-surging), len(candidates))]...))
}

// findUpdatedAndOldPods returns the node's pod of the new revision and its pod of an old one; upstream's findUpdatedPodsOnNode. It returns false if there
// are several of either.
func (d *daemonSetSync) findUpdatedAndOldPods(pods []*v1.Pod) (updated, old *v1.Pod, ok bool) {
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
