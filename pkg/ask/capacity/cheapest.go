package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"runtime"
	"slices"
	"sort"
)

// lowerNumbers reduces one number of nodes after another, the most expensive first, as long as the cluster still suffices; the others stay as they
// are. It bisects each number. If near is true, the numbers are close to the smallest ones that suffice: then it goes down in steps that
// double, 1, 2, 4, and bisects only the last step. With an error, it returns the numbers found so far.
func (z *sizer) lowerNumbers(ctx context.Context, found []int, near bool) ([]int, error) {
	found = slices.Clone(found)
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(z.numbers[b].cost, z.numbers[a].cost) })
	for place, i := range order {
		low, high, step := -1, found[i], 0
		if near {
			step = 1
		}
		for high-low > 1 {
			point := slices.Clone(found)
			point[i] = (low + high) / 2
			if step > 0 {
				point[i] = max(point[i], high-step)
			}
			if !z.hasResources(point) {
				low, step = point[i], 0
				continue
			}
			likely := z.likelyNextPoint(point, i, low, high)
			if step > 0 {
				likely = z.nextLowered(found, order[place+1:])
			}
			lacks, err := z.tryCluster(ctx, false, point, likely...)
			if err != nil {
				found[i] = high
				return found, err
			}
			if len(lacks) == 0 {
				high, step = point[i], 2*step
			} else {
				low, step = point[i], 0
			}
		}
		found[i] = high
	}
	return found, nil
}

// nextLowered returns the point that [sizer.lowerNumbers] tries next if the current number cannot be reduced: the first of the given numbers that can
// be reduced by one and leaves enough resources. It returns at most one point.
func (z *sizer) nextLowered(found, numbers []int) [][]int {
	for _, i := range numbers {
		next := slices.Clone(found)
		if next[i]--; next[i] >= 0 && z.hasResources(next) {
			return [][]int{next}
		}
	}
	return nil
}

// likelyNextPoint returns the point that the bisection of the i-th number tries next: the one below if it has enough resources, since the current
// point will probably suffice; otherwise the one above.
func (z *sizer) likelyNextPoint(point []int, i, low, high int) [][]int {
	next := slices.Clone(point)
	if next[i] = (low + point[i]) / 2; next[i] > low && next[i] < point[i] && z.hasResources(next) {
		return [][]int{next}
	}
	if next[i] = (point[i] + high) / 2; next[i] > point[i] {
		return [][]int{next}
	}
	return nil
}

func (z *sizer) cost(point []int) float64 {
	cost := 0.0
	for i, n := range point {
		cost += float64(n) * z.numbers[i].cost
	}
	return math.Round(cost*1e6) / 1e6 // so that equal costs compare as equal
}

// maxVisited limits how many clusters the search examines. Most of them have too few resources and need no run.
const maxVisited = 200_000

// cheapest tries the clusters that are cheaper than found, the cheapest first, and returns the first that suffices; found if none does.
// With an error, it returns found.
func (z *sizer) cheapest(ctx context.Context, found []int) ([]int, error) {
	queue := &points{z: z, all: []point{{counts: make([]int, len(z.numbers))}}, cheaperThan: point{counts: found, cost: z.cost(found)}}
	var next [][]int
	for {
		for len(next) < runtime.GOMAXPROCS(0) {
			cheaper := queue.next()
			if cheaper == nil {
				break
			}
			next = append(next, cheaper)
		}
		if len(next) == 0 {
			z.sizing.Proven = queue.visited <= maxVisited
			return found, nil
		}
		if z.sizing.Tried >= z.opts.Most {
			return found, nil
		}
		z.triedBelow = z.cost(next[0])
		lacks, err := z.tryCluster(ctx, false, next[0], next[1:]...)
		if err != nil {
			return found, err
		}
		if len(lacks) == 0 {
			z.sizing.Proven = true
			return next[0], nil
		}
		next = next[1:]
	}
}

// maxBoundVisits limits how many clusters [sizer.lowerCostBound] examines once the search is interrupted.
const maxBoundVisits = 20_000

// lowerCostBound returns a cost below which no cluster suffices: all cheaper clusters were tried, or have too few resources.
func (z *sizer) lowerCostBound() float64 {
	queue := &points{z: z, cheaperThan: point{cost: math.Inf(1)}, visited: maxVisited - maxBoundVisits}
	start := z.fewestNodes()
	queue.all = []point{{counts: start, cost: z.cost(start)}}
	bound := 0.0
	if first := queue.next(); first != nil {
		bound = z.cost(first)
	} else if queue.Len() > 0 {
		bound = queue.all[0].cost
	}
	return max(bound, z.triedBelow)
}

// fewestNodes returns, for each number, the fewest nodes that have enough resources while every other number is larger than the number of
// pods. No cluster that suffices has fewer.
func (z *sizer) fewestNodes() []int {
	most := 1 + len(z.state.Pods)
	all := make([]int, len(z.numbers))
	for i := range all {
		point := slices.Repeat([]int{most}, len(z.numbers))
		all[i] = sort.Search(most, func(n int) bool {
			point[i] = n
			return z.hasResources(point)
		})
		if all[i] == most { // no number of such nodes has what the pods request
			all[i] = 0
		}
	}
	return all
}

// point is a cluster: a number of nodes for each of the sizer's numbers. Points derived from it keep the numbers before last.
type point struct {
	counts []int
	last   int
	cost   float64
}

// points is a heap of clusters, the cheapest on top. Among clusters of equal cost, the one with fewer nodes comes first, then the one with
// more nodes of the first group.
type points struct {
	z           *sizer
	all         []point
	cheaperThan point // next returns only clusters that are cheaper
	visited     int
}

// next returns the next cluster that has enough resources; nil if there is none, or too many were examined.
func (p *points) next() []int {
	for p.Len() > 0 && p.visited <= maxVisited {
		next := heap.Pop(p).(point)
		if p.compare(next, p.cheaperThan) >= 0 {
			p.all = nil
			break
		}
		p.visited++
		for i := next.last; i < len(next.counts); i++ { // so that only one path leads to each point
			more := slices.Clone(next.counts)
			more[i]++
			heap.Push(p, point{counts: more, last: i, cost: p.z.cost(more)})
		}
		if p.z.hasResources(next.counts) {
			return next.counts
		}
	}
	return nil
}

func (p *points) compare(a, b point) int {
	nodes := func(at []int) int {
		sum := 0
		for i, n := range at {
			sum += n * len(p.z.numbers[i].zones)
		}
		return sum
	}
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(nodes(a.counts), nodes(b.counts)), slices.Compare(b.counts, a.counts))
}

func (p *points) Len() int           { return len(p.all) }
func (p *points) Less(i, j int) bool { return p.compare(p.all[i], p.all[j]) < 0 }
func (p *points) Swap(i, j int)      { p.all[i], p.all[j] = p.all[j], p.all[i] }
func (p *points) Push(x any)         { p.all = append(p.all, x.(point)) }
func (p *points) Pop() any {
	last := p.all[len(p.all)-1]
	p.all = p.all[:len(p.all)-1]
	return last
}
