package plan

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/list"
)

// Autoscaled is the number of nodes that an autoscaler adds to one of its groups by itself.
type Autoscaled struct {
	Group string `json:"group"`
	// Nodes is the largest number of nodes that it adds after one loss, To the size that the group has then, and Max the maximum of the
	// group.
	Nodes int `json:"nodes"`
	To    int `json:"to"`
	Max   int `json:"max"`
}

// Raise is a group whose maximum, Max, the plan exceeds: it has To nodes after some loss.
type Raise struct {
	Group string `json:"group"`
	Max   int    `json:"max"`
	To    int    `json:"to"`
}

// autoscaledAfter returns, for each group, the most nodes that the autoscaler added after one of the losses.
func autoscaledAfter(losses []loss) []Autoscaled {
	var all []Autoscaled
	for i := range losses {
		if losses[i].autoscaling == nil {
			continue
		}
		for _, size := range losses[i].autoscaling.Groups {
			added := Autoscaled{size.Name, size.To - size.From, size.To, size.Max}
			at := slices.IndexFunc(all, func(a Autoscaled) bool { return a.Group == size.Name })
			switch {
			case added.Nodes <= 0:
			case at < 0:
				all = append(all, added)
			case added.Nodes > all[at].Nodes:
				all[at] = added
			}
		}
	}
	return all
}

// exceededMaxima returns the autoscaler's groups that after some loss have more nodes than their maximum. A node that does not answer belongs to
// its group until somebody deletes it.
func (p *planner) exceededMaxima(losses []loss) []Raise {
	if p.base.Scenario.Autoscaler == nil {
		return nil
	}
	var all []Raise
	for i := range p.base.Scenario.Autoscaler.NodeGroups {
		group := &p.base.Scenario.Autoscaler.NodeGroups[i]
		most := 0
		for j := range losses {
			most = max(most, list.Count(losses[j].state.Nodes, func(node *v1.Node) bool { return group.Has(node) }))
		}
		if most > group.Max {
			all = append(all, Raise{group.Name, group.Max, most})
		}
	}
	return all
}
