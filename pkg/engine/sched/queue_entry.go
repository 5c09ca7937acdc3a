package sched

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// queueEntry is a pod in the queue, or a pod group.
type queueEntry struct {
	*framework.QueuedPodInfo         // nil: the entry is a pod group
	original                 *v1.Pod // the pod as it was passed to Place
	changes                  int     // the engine's number of changes when the pod was last rejected
	pending                  placement.Pending
	group                    *queuedGroup // nil: the entry is a pod
}

// entity returns the entity that the profile's QueueSort compares.
func (e *queueEntry) entity() fwk.QueuedEntityInfo {
	if e.group != nil {
		return e.group.info
	}
	return e.QueuedPodInfo
}

func (e *queueEntry) String() string {
	if e.group != nil {
		return fmt.Sprintf("pod group %s/%s", e.group.info.Namespace, e.group.info.Name)
	}
	return fmt.Sprintf("pod %s/%s", e.Pod.Namespace, e.Pod.Name)
}

// newEntries returns a queue entry for each pod, or as many as there are when the caller of Place cancels.
func (e *Engine) newEntries(pods []*v1.Pod) []*queueEntry {
	entries := make([]*queueEntry, 0, len(pods))
	for i, pod := range pods {
		if e.placeContext.Err() != nil {
			break
		}
		queued := &framework.QueuedPodInfo{PodInfo: e.podInfos.parse(pod)}
		queued.Timestamp = cluster.Epoch.Add(time.Duration(i))
		entries = append(entries, &queueEntry{QueuedPodInfo: queued, original: pod})
	}
	return entries
}

// podInfos has the parsed affinity terms of waiting pods.
type podInfos map[*v1.Pod]framework.PodInfo

// maxPodInfos bounds the number of pods in podInfos.
const maxPodInfos = 4096

// parse returns the pod with its affinity terms, which are parsed only once.
func (p *podInfos) parse(pod *v1.Pod) *framework.PodInfo {
	info, known := (*p)[pod]
	if known {
		return &info
	}
	// An error means that affinity terms do not parse. Upstream ignores it here, too, since validation has passed.
	parsed, _ := framework.NewPodInfo(pod)
	if pod.Spec.Affinity != nil {
		if *p == nil || len(*p) >= maxPodInfos {
			*p = podInfos{}
		}
		(*p)[pod] = *parsed
	}
	return parsed
}

// podsOf returns the pods of the entries, with those of pod groups.
func podsOf(entries []*queueEntry) []*v1.Pod {
	pods := make([]*v1.Pod, 0, len(entries))
	for _, entry := range expandGroups(entries) {
		pods = append(pods, entry.Pod)
	}
	return pods
}

// sortEntries sorts the entries as the profile's QueueSort does, in place.
func (e *Engine) sortEntries(entries []*queueEntry) []*queueEntry {
	slices.SortStableFunc(entries, func(a, b *queueEntry) int {
		switch {
		case e.less(a.entity(), b.entity()):
			return -1
		case e.less(b.entity(), a.entity()):
			return 1
		}
		return 0
	})
	return entries
}

// expandGroups returns the entries, with the entries of its pods in place of each pod group's entry.
func expandGroups(entries []*queueEntry) []*queueEntry {
	var pods []*queueEntry
	for _, entry := range entries {
		if entry.group != nil {
			pods = append(pods, entry.group.members...)
		} else {
			pods = append(pods, entry)
		}
	}
	return pods
}
