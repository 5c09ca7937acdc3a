package sched

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// ruleDomains finds the nodes that rules about other pods concern, so that an explanation of the scores of a few nodes need not visit all
// nodes.
type ruleDomains struct {
	keys  sets.Set[string]            // the topology keys in the rules of all pods seen on nodes
	infos []fwk.NodeInfo              // the snapshot's list
	slots map[string]map[string][]int // indexes into infos, by topology key and value
	found []bool                      // by index; the next call of [ruleDomains.nodesAround] reuses found and near
	near  []int
}

// readKeys adds the topology keys of the pod's rules that affect scores: all but required anti-affinity.
func (d *ruleDomains) readKeys(pod *v1.Pod) {
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

func (d *ruleDomains) readWeighted(terms []v1.WeightedPodAffinityTerm) {
	for i := range terms {
		d.keys.Insert(terms[i].PodAffinityTerm.TopologyKey)
	}
}

// nodesAround returns, in order, the indexes into infos of the nodes that share a domain with an examined node. It considers the topology keys
// of existing pods' rules and of the pod's own terms.
func (d *ruleDomains) nodesAround(nodes *examined, infos []fwk.NodeInfo, own []matchingTerm) []int {
	if len(d.infos) != len(infos) || len(infos) > 0 && &d.infos[0] != &infos[0] {
		d.infos, d.slots = infos, map[string]map[string][]int{}
	}
	d.found = slices.Grow(d.found[:0], len(infos))[:len(infos)]
	clear(d.found)
	for key := range d.keys {
		d.markNodes(nodes, key)
	}
	for _, term := range own {
		if !d.keys.Has(term.key) {
			d.markNodes(nodes, term.key)
		}
	}
	d.near = d.near[:0]
	for slot, is := range d.found {
		if is {
			d.near = append(d.near, slot)
		}
	}
	return d.near
}

// markNodes marks the nodes that share a domain of the key with an examined node.
func (d *ruleDomains) markNodes(nodes *examined, key string) {
	for domain := range nodes.domainsOf(key).numbers {
		for _, slot := range d.slotsByDomain(key)[domain] {
			d.found[slot] = true
		}
	}
}

// slotsByDomain returns the indexes into infos, by the nodes' value of the key.
func (d *ruleDomains) slotsByDomain(key string) map[string][]int {
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

// examined holds the nodes whose scores are explained, and their domains by topology key.
type examined struct {
	infos   []fwk.NodeInfo
	domains map[string]*numberedDomains
}

// numberedDomains gives a number to each domain of one topology key that has an examined node.
type numberedDomains struct {
	numbers map[string]int // by domain
	byNode  []int          // by node: the number of its domain; -1 for a node without the key
}

// domainsOf returns the numbered domains of the topology key.
func (e *examined) domainsOf(key string) *numberedDomains {
	n := e.domains[key]
	if n != nil {
		return n
	}
	n = &numberedDomains{numbers: map[string]int{}, byNode: make([]int, len(e.infos))}
	e.domains[key] = n
	for i, info := range e.infos {
		n.byNode[i] = -1
		domain, found := info.Node().Labels[key]
		if !found {
			continue
		}
		number, known := n.numbers[domain]
		if !known {
			number = len(n.numbers)
			n.numbers[domain] = number
		}
		n.byNode[i] = number
	}
	return n
}
