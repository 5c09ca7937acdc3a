package risk

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/faultline/faultline/pkg/ask/stats"
)

// exposure holds the nodes of some pods and the domains of these nodes, whose failure takes the pods down.
type exposure struct {
	// pods is the number of the pods on each node.
	pods []int
	// levels are the levels that fail.
	levels []exposedLevel
	// alwaysDown is the number of pods that are always down.
	alwaysDown int
}

// exposedLevel holds the domains of one level that contain pods, each as the indices of its nodes in exposure.pods.
type exposedLevel struct {
	unavailability float64
	domains        [][]int
}

func (e *exposure) countPods() int {
	n := e.alwaysDown
	for _, pods := range e.pods {
		n += pods
	}
	return n
}

// expectedDown returns the expected number of pods down. The pods of a node are up if every domain that contains the node is up: with one
// pod on a node of unavailability 0.1 in a zone of unavailability 0.5, it is 1 - 0.9*0.5 = 0.55.
func (e *exposure) expectedDown() float64 {
	up := make([]float64, len(e.pods))
	for node := range up {
		up[node] = 1
	}
	for _, level := range e.levels {
		for _, domain := range level.domains {
			for _, node := range domain {
				up[node] *= 1 - level.unavailability
			}
		}
	}
	expected := float64(e.alwaysDown)
	for node, pods := range e.pods {
		expected += float64(pods) * (1 - up[node])
	}
	return expected
}

// exactDistribution returns the probability of each number of pods down, or false if domains cross.
func (e *exposure) exactDistribution() ([]float64, bool) {
	type domain struct {
		unavailability float64
		nodes          []int
		parent         int
		down           []float64 // the distribution of the number of the domain's pods that are down
	}
	// The first domain is the whole cluster, which does not fail; the others follow, larger ones first.
	domains := []domain{{down: []float64{1}}}
	for _, level := range e.levels {
		for _, nodes := range level.domains {
			domains = append(domains, domain{unavailability: level.unavailability, nodes: nodes, down: []float64{1}})
		}
	}
	slices.SortStableFunc(domains[1:], func(a, b domain) int { return cmp.Compare(len(b.nodes), len(a.nodes)) })

	// A domain nests in the innermost one around it, which must be the same for all its nodes.
	innermost := make([]int, len(e.pods))
	for d := 1; d < len(domains); d++ {
		domains[d].parent = innermost[domains[d].nodes[0]]
		for _, node := range domains[d].nodes {
			if innermost[node] != domains[d].parent {
				return nil, false
			}
			innermost[node] = d
		}
	}

	// While nothing fails, all pods are up: each pod only extends the distribution by one.
	for node, pods := range e.pods {
		within := &domains[innermost[node]]
		within.down = append(within.down, make([]float64, pods)...)
	}
	for d := len(domains) - 1; d > 0; d-- {
		inner, outer := domains[d], &domains[domains[d].parent]
		for i := range inner.down {
			inner.down[i] *= 1 - inner.unavailability
		}
		inner.down[len(inner.down)-1] += inner.unavailability
		outer.down = stats.Convolve(outer.down, inner.down)
	}
	return append(make([]float64, e.alwaysDown), domains[0].down...), true
}

// countTrials returns the number of trials, out of n, for each number of pods down.
func (e *exposure) countTrials(ctx context.Context, n int, seed uint64, workers int) ([]int, error) {
	downs, err := stats.Trials(ctx, n, seed, workers, func() func(*rand.Rand) int {
		failed := make([]bool, len(e.pods))
		var nodes []int // the nodes that are true in failed
		return func(r *rand.Rand) int {
			down := e.alwaysDown
			for _, level := range e.levels {
				next := func() int { return stats.Geometric(r, level.unavailability) }
				for domain := next(); domain < len(level.domains); domain += 1 + next() {
					for _, node := range level.domains[domain] {
						if !failed[node] {
							failed[node] = true
							nodes = append(nodes, node)
							down += e.pods[node]
						}
					}
				}
			}
			for _, node := range nodes {
				failed[node] = false
			}
			nodes = nodes[:0]
			return down
		}
	})
	if err != nil {
		return nil, err
	}
	counts := make([]int, e.countPods()+1)
	for _, down := range downs {
		counts[down]++
	}
	return counts, nil
}
