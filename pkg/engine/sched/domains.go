package sched

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// domains finds the nodes at which rules about other pods look, so that explaining the score of a few nodes does not visit all.
type domains struct {
	keys  sets.Set[string]            // the topology keys in the rules of all pods that have been on nodes
	infos []fwk.NodeInfo              // the snapshot's list
	slots map[string]map[string][]int // places in infos, by topology key and value
}

// readKeys adds the topology keys of the pod's rules that score. Required anti-affinity does not.
func (d *domains) readKeys(pod *v1.Pod) {
	if d.keys == nil {
		d.keys = sets.New[string]()
	}
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return
	}
	if affinity.PodAffinity != nil {
		for i := range affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			d.keys.Insert(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i].TopologyKey)
		}
		d.readWeighted(affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity.PodAntiAffinity != nil {
		d.readWeighted(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (d *domains) readWeighted(terms []v1.WeightedPodAffinityTerm) {
	for i := range terms {
		d.keys.Insert(terms[i].PodAffinityTerm.TopologyKey)
	}
}

// around returns the nodes of the list that are in a domain with one of the given nodes, by the keys of existing pods' rules and by the
// given ones, in the list's order.
func (d *domains) around(nodes, infos []fwk.NodeInfo, own []matchingTerm) []fwk.NodeInfo {
	if len(d.infos) != len(infos) || len(infos) > 0 && &d.infos[0] != &infos[0] {
		d.infos, d.slots = infos, map[string]map[string][]int{}
	}
	keys := d.keys.Clone()
	for _, term := range own {
		keys.Insert(term.key)
	}
	found := make([]bool, len(infos))
	count := 0
	for key := range keys {
		visited := sets.New[string]()
		for _, node := range nodes {
			domain, has := node.Node().Labels[key]
			if !has || visited.Has(domain) {
				continue
			}
			visited.Insert(domain)
			for _, slot := range d.of(key)[domain] {
				if !found[slot] {
					found[slot] = true
					count++
				}
			}
		}
	}
	near := make([]fwk.NodeInfo, 0, count)
	for slot, is := range found {
		if is {
			near = append(near, infos[slot])
		}
	}
	return near
}

// of returns the places of nodes by their value of the key.
func (d *domains) of(key string) map[string][]int {
	slots := d.slots[key]
	if slots == nil {
		slots = map[string][]int{}
		for slot, info := range d.infos {
			if domain, found := info.Node().Labels[key]; found {
				slots[domain] = append(slots[domain], slot)
			}
		}
		d.slots[key] = slots
	}
	return slots
}
