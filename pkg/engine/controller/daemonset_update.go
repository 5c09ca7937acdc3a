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
		return d.surge(maxSurge, desired)
	}
	unavailable := 0
	var broken, candidates []*v1.Pod
	for _, node := range d.nodes {
		if node.settled {
			continue
		}
		updated, old, ok := d.split(node.pods)
		switch {
		case !ok, (updated == nil) == (old == nil):
			unavailable++ // manage deletes the excess or creates the missing pod
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

// surge starts new pods beside old ones, up to maxSurge at a time, and deletes each old pod whose new one is available.
func (d *daemonSetSync) surge(maxSurge, desired int) error {
	surging, available := 0, 0
	var allowed, candidates []string
	var unwanted []*v1.Pod
	for _, node := range d.nodes {
		if len(node.pods) == 0 && !node.run {
			continue
		}
		updated, old, ok := d.split(node.pods)
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
		case !node.run && !d.available(old):
			d.delete(old)
		case !node.run:
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

// split returns the node's pod of the new revision and its pod of an old one; upstream's findUpdatedPodsOnNode. It returns false if there
// are several of either.
func (d *daemonSetSync) split(pods []*v1.Pod) (updated, old *v1.Pod, ok bool) {
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
