package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// maxBrief is how many characters of a whole sentence stand in a brief cause, and how many two causes have at most.
const maxBrief = 120

// Brief returns the causes in a few words, for a line about many pods, such as "no node has pool=db" or "1 cpu asked and at most 500m free on 6 nodes,
// untolerated taint dedicated=gpu:NoSchedule on 3 nodes". A label that no node has says all, since no other change helps. Otherwise Brief returns
// the first two causes in the order of [Compare], or the first one if both are long. It returns "" for no causes.
func Brief(causes []Cause) string {
	if unmet := FindUnmet(causes); len(unmet) > 0 {
		return "no node has " + words.And(list.Map(unmet, func(u Unmet) string { return u.Requirement }))
	}
	refusing := list.Where(causes, func(c Cause) bool { return c.Preemption == nil && c.Rollout == nil })
	slices.SortStableFunc(refusing, Compare)
	if len(refusing) > 1 && refusing[0].HostPort != nil && refusing[1].HostPort != nil && refusing[0].Nodes == refusing[1].Nodes {
		return fmt.Sprintf("host ports %d and %d are taken on %s", refusing[0].HostPort.Port, refusing[1].HostPort.Port, words.Count(refusing[0].Nodes, "node"))
	}
	first := list.Distinct(list.Map(refusing[:min(2, len(refusing))], Cause.brief))
	if text := strings.Join(first, ", "); len(text) <= maxBrief || len(first) < 2 {
		return text
	}
	return first[0]
}

// FindUnmet returns the requirements of a node selector or a node affinity that no node meets.
func FindUnmet(causes []Cause) []Unmet {
	for _, c := range causes {
		if c.NodeAffinity != nil && len(c.NodeAffinity.Unmet) > 0 {
			return c.NodeAffinity.Unmet
		}
	}
	return nil
}

// Compare orders causes by how much they say, for slices.SortFunc: first what nodes lack that the pod may use, then taints and cordoned nodes, then the
// nodes that the pod's own selector leaves out, then what nodes would refuse if they had room; among equals, what refuses the most nodes.
func Compare(a, b Cause) int {
	return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(b.Nodes, a.Nodes))
}

func (c Cause) order() int {
	switch {
	case c.Behind:
		return 3
	case c.NodeAffinity != nil:
		return 2
	case len(c.Taints) > 0 || len(c.Cordoned) > 0:
		return 1
	}
	return 0
}

// brief returns the cause in a few words, with the number of nodes.
func (c Cause) brief() string {
	on := words.Count(c.Nodes, "node")
	if c.Resource != nil && c.Resource.Unusable > 0 {
		on = words.Count(c.Nodes-c.Resource.Unusable, "node")
	} else if c.Resource != nil && c.Resource.Without > 0 {
		on = words.Count(c.Nodes-c.Resource.Without, "node") + " of " + strconv.Itoa(c.Nodes)
	}
	switch {
	case c.Resource != nil && c.Resource.Resource == v1.ResourcePods:
		return fmt.Sprintf("%s full (%s takes %s pods)", isAre(c.Nodes), c.Resource.Node, c.Resource.Allocatable)
	case c.Resource != nil && c.Resource.allocatable.IsZero():
		return fmt.Sprintf("%s asked and none on %s", c.Resource.Resource, on)
	case c.Resource != nil:
		return fmt.Sprintf("%s %s asked and at most %s free on %s", c.Resource.Asked, c.Resource.Resource, c.Resource.Free, on)
	case len(c.Taints) > 0:
		return fmt.Sprintf("untolerated %s on %s", words.Pick(len(c.Taints), "taint "+c.Taints[0].Taint, "taints "+words.Few(list.Map(c.Taints, func(t Taint) string { return t.Taint }))), on)
	case c.NodeAffinity != nil && c.NodeAffinity.Exclusive != "":
		return fmt.Sprintf("two values of %s are wanted at once", c.NodeAffinity.Exclusive)
	case c.NodeAffinity != nil:
		return fmt.Sprintf("%s %s", on, words.Pick(c.Nodes, "lacks ", "lack ")+words.And(c.NodeAffinity.Lacks))
	case len(c.Cordoned) > 0:
		return isAre(c.Nodes) + " cordoned"
	case c.Spread != nil && len(c.Spread.Unlabelled) == c.Nodes:
		return fmt.Sprintf("%s %s the label %s", on, words.Pick(c.Nodes, "lacks", "lack"), c.Spread.TopologyKey)
	case c.Spread != nil:
		return fmt.Sprintf("the spread over %s allows none of %s", c.Spread.TopologyKey, on)
	case c.PodAffinity != nil && !c.PodAffinity.Anti:
		return fmt.Sprintf("%s %s no pod with %s", on, words.Pick(c.Nodes, "has", "have"), c.PodAffinity.Selector)
	case c.PodAffinity != nil && c.PodAffinity.Owner != "":
		return fmt.Sprintf("the anti-affinity of %s keeps it off %s", c.PodAffinity.Owner, on)
	case c.PodAffinity != nil:
		return fmt.Sprintf("anti-affinity over %s keeps it off %s", c.PodAffinity.TopologyKey, on)
	case c.Devices != nil && len(c.Devices.Options) > 0:
		return c.Devices.brief(on)
	case c.Devices != nil && len(c.Devices.Sharing) > 0:
		return fmt.Sprintf("%s cannot reach the devices of claim %s", on, c.Devices.Claim)
	case c.HostPort != nil:
		return fmt.Sprintf("host port %d is taken on %s", c.HostPort.Port, on)
	}
	if v := c.Volume; v != nil && len(v.Allowed) > 0 {
		return fmt.Sprintf("class %s of claim %s allows volumes only with %s", v.Class, v.Claim, words.Or(v.Allowed))
	} else if v != nil && v.Asked != "" {
		return fmt.Sprintf("claim %s finds no volume of %s", v.Claim, v.Asked) + onNodes(c.Nodes)
	} else if v != nil && len(v.Wants) > 0 {
		return fmt.Sprintf("%s cannot reach the volume of claim %s", on, v.Claim)
	}
	if first, _, _ := strings.Cut(c.Sentence, "; "); len(first) <= maxBrief {
		return first
	}
	return words.Shorten(c.Sentence, maxBrief)
}

// onNodes returns " on 3 nodes", and nothing if the plugin looked at no node.
func onNodes(nodes int) string {
	if nodes == 0 {
		return ""
	}
	return " on " + words.Count(nodes, "node")
}

// isAre returns "1 node is" or "3 nodes are".
func isAre(nodes int) string {
	return words.Count(nodes, "node") + words.Pick(nodes, " is", " are")
}
