package blast

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/faultline/faultline/pkg/list"
)

// All sets of domains that can fail at once are examined if there are at most maxSets of them and together they contain at most [maxContained]
// pods and nodes. Each failure lists what it takes, and nobody would read more.
const (
	maxSets      = 20_000
	maxContained = 2_000_000
)

// selectSets returns the sets of k domains whose failures are examined, each as sorted indexes of domains. If these are not all sets, it also
// returns a text that says so and what is true of the others.
//
// The worst sets need no search. Domains of a level share no node, so a set takes of a workload the sum of what its domains contain. The k
// domains with the most pods of a workload are therefore the worst set for it, and the worst of these sets over all workloads is the blast
// radius. The same is true for a quorum, and for the healthy pods that a budget covers. With 5, 3 and 2 pods in zones a, b and c, and k =
// 2, the worst set is {a, b}, which takes 8.
func (c *contents) selectSets(domains []domain, k int) (sets [][]int, search string) {
	n := len(domains)
	count := new(big.Int).Binomial(int64(n), int64(k))
	// Each domain is in as many sets as there are ways to choose the k-1 other domains.
	held := new(big.Int).Binomial(int64(n-1), int64(k-1))
	held.Mul(held, big.NewInt(int64(c.podCount+c.nodeCount)))
	if k == 1 || count.Cmp(big.NewInt(maxSets)) <= 0 && held.Cmp(big.NewInt(maxContained)) <= 0 {
		return combinations(n, k), ""
	}
	sets = c.worstSets(domains, k)
	return sets, fmt.Sprintf("looked at %d of %s sets of %d domains: for each workload the %[3]d that hold most of its pods, for each budget the "+
		"%[3]d that hold most of the healthy pods that it covers, and the %[3]d that hold most pods. No other set takes more of any workload: "+
		"the radius is exact, and a quorum or a budget that none of these breaks is broken by none. The mean and the shares of all sets are not known.",
		len(sets), new(big.Float).SetInt(count).Text('g', 12), k)
}

// combinations returns all sets of k of the numbers below n, in order.
func combinations(n, k int) [][]int {
	var sets [][]int
	set := make([]int, k)
	for i := range set {
		set[i] = i
	}
	for {
		sets = append(sets, slices.Clone(set))
		// Increment the last number that can grow, and let the numbers after it follow closely.
		i := k - 1
		for i >= 0 && set[i] == n-k+i {
			i--
		}
		if i < 0 {
			return sets
		}
		set[i]++
		for j := i + 1; j < k; j++ {
			set[j] = set[j-1] + 1
		}
	}
}

// weight is the number of pods of some kind in one domain.
type weight struct{ domain, pods int }

// worstSets returns sets of k domains: for each workload the domains with the most of its pods, for each budget the domains with the most
// healthy pods that it covers, and the domains with the most pods of any kind.
func (c *contents) worstSets(domains []domain, k int) [][]int {
	workloads, budgets, pods := make([][]weight, len(c.workloads)), make([][]weight, len(c.budgets)), make([][]weight, 1)
	for i, d := range domains {
		for _, part := range d.workloads {
			workloads[part.workload] = append(workloads[part.workload], weight{i, len(part.pods)})
		}
		for b, healthy := range d.healthy {
			budgets[b] = append(budgets[b], weight{i, healthy})
		}
		if d.pods > 0 {
			pods[0] = append(pods[0], weight{i, d.pods})
		}
	}
	sets := list.Map(slices.Concat(workloads, budgets, pods), func(weights []weight) []int { return heaviest(weights, len(domains), k) })
	slices.SortFunc(sets, slices.Compare)
	return slices.CompactFunc(sets, slices.Equal)
}

// heaviest returns the k of n domains with the largest weights, as sorted indexes. A domain without a weight counts as 0. Among equal
// domains it takes the first, so the result is the first of all sets with that total weight.
func heaviest(weights []weight, n, k int) []int {
	slices.SortFunc(weights, func(a, b weight) int {
		return cmp.Or(cmp.Compare(b.pods, a.pods), cmp.Compare(a.domain, b.domain))
	})
	taken := make([]bool, n)
	set := make([]int, 0, k)
	for _, w := range weights[:min(k, len(weights))] {
		taken[w.domain] = true
		set = append(set, w.domain)
	}
	for i := 0; len(set) < k; i++ {
		if !taken[i] {
			set = append(set, i)
		}
	}
	slices.Sort(set)
	return set
}
