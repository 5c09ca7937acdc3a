package plan

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	quota "k8s.io/apiserver/pkg/quota/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// placeNodes returns how many nodes of each group to add in each of its zones, so that every loss leaves as many of them as it needs. It adds
// one node after another, each in the zone where it serves the most losses, and among such zones in the one with the fewest. If the loss of
// any of three zones needs 10 nodes, that is 5 in each, since any two zones have 10.
func (p *planner) placeNodes(losses []loss) [][]int {
	placed := make([][]int, len(p.groups))
	for g := range p.groups {
		placed[g] = make([]int, len(p.groups[g].Zones))
		for {
			serves := make([]int, len(placed[g]))
			for i := range losses {
				if l := &losses[i]; l.needs[g] > p.countOutside(placed[g], g, l) {
					for z := range serves {
						if p.serves(g, z, l) {
							serves[z]++
						}
					}
				}
			}
			best := 0
			for z := range serves {
				if serves[z] > serves[best] || serves[z] == serves[best] && placed[g][z] < placed[g][best] {
					best = z
				}
			}
			if len(serves) == 0 || serves[best] == 0 {
				break
			}
			placed[g][best]++
		}
	}
	return placed
}

// countOutside returns the number of the group's new nodes that the loss leaves.
func (p *planner) countOutside(zones []int, g int, l *loss) int {
	n := 0
	for z, count := range zones {
		if p.serves(g, z, l) {
			n += count
		}
	}
	return n
}

// serves reports whether the loss leaves new nodes of the group in the zone. If nodes fail one at a time, a new node is a domain of its
// own, so every loss leaves it.
func (p *planner) serves(g, z int, l *loss) bool {
	if levelKey(l.level) == v1.LabelHostname {
		return p.templateNode(g, z, "", "") != nil
	}
	return p.templateNode(g, z, l.level, l.domain) != nil
}

// templateNode returns the node of the group in the zone that new nodes copy: the first that answers and, if a level is given, is not in the lost
// domain. It returns nil if there is none.
func (p *planner) templateNode(g, z int, level, domain string) *v1.Node {
	for _, node := range p.groups[g].Zones[z].Nodes {
		if !cluster.KubeletResponds(node) {
			continue
		}
		if value, _ := topology.Value(node.Labels, levelKey(level)); level == "" || value != domain {
			return node
		}
	}
	return nil
}

func levelKey(level string) string {
	if key, _, chosen := topology.SplitValue(level); chosen {
		return key
	}
	return level
}

// runPlan runs the steps that add the nodes and then make the changes; pods that are Pending today may get a node. A change whose rollout does
// not end here, where nothing is lost yet, is given up for the next one of its workload.
func (p *planner) runPlan(ctx context.Context, placed [][]int) (*simulation.Result, error) {
	course, err := p.startCourse()
	if err != nil {
		return nil, err
	}
	for _, a := range p.additions(placed) {
		if _, err := course.Do(ctx, a.Step()); err != nil {
			return nil, err
		}
	}
	added := len(course.Did)
	for {
		for _, c := range p.currentPatches() {
			for _, step := range c.steps {
				if _, err := course.Do(ctx, step); err != nil {
					return nil, err
				}
			}
		}
		if !p.giveUpStuckPatches(course.State()) {
			return &course.Result, nil
		}
		if err := course.Rewind(added); err != nil {
			return nil, err
		}
	}
}

// startCourse starts a course of steps after the last step of the scenario, in the first of the worlds.
func (p *planner) startCourse() (*simulation.Course, error) {
	w, err := p.worlds.First()
	if err != nil {
		return nil, err
	}
	return simulation.Continue(w, p.base, simulation.Options{})
}

// addNodesLike returns the state with that many copies of a node added.
func addNodesLike(ctx context.Context, w world.World, state *cluster.State, like *v1.Node, count int) (*cluster.State, error) {
	step := scenario.LoadedStep{Step: scenario.Step{AddNodes: &scenario.AddNodes{Count: count, Like: like.Name}}}
	next, _, err := w.Do(ctx, state, &step, &world.Record{})
	return next, err
}

func sumRequests(pods []strandedPod) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, pod := range pods {
		sum = quota.Add(sum, podRequests(pod.Pod))
	}
	return sum
}

// podRequests returns what the pod requests, including one place for a pod.
func podRequests(pod *v1.Pod) v1.ResourceList {
	all := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	all[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return all
}

func ceil(x float64) int { return int(math.Ceil(x)) }

// divideEvenly divides that many nodes evenly among the zones.
func divideEvenly(n int, zones []int) []int {
	counts := make([]int, len(zones))
	for i := range counts {
		counts[i] = n / len(zones)
		if i < n%len(zones) {
			counts[i]++
		}
	}
	return slices.Clip(counts)
}
