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

// lower lowers one number after another, the most expensive first, as long as that suffices, while the others stay: it bisects or, where the
// numbers are near the lowest, goes down from what was found in steps that double, and bisects the last. Those found so far come with an
// error, too, as they do from cheapest.
func (z *sizer) lower(ctx context.Context, found []int, near bool) ([]int, error) {
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
			if !z.enough(point) {
				low, step = point[i], 0
				continue
			}
			likely := z.likely(point, i, low, high)
			if step > 0 {
				likely = z.lowered(found, order[place+1:])
			}
			lacks, err := z.try(ctx, false, point, likely...)
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

// lowered returns the point with the first of the numbers lowered by one, if that has enough resources: which lower tries next if the number
// before cannot be lowered.
func (z *sizer) lowered(found, numbers []int) [][]int {
	for _, i := range numbers {
		next := slices.Clone(found)
		if next[i]--; next[i] >= 0 && z.enough(next) {
			return [][]int{next}
		}
	}
	return nil
}

// likely returns which point the bisection of the i-th number tries next, if that one suffices and the next has enough resources, or else if it
// does not suffice.
func (z *sizer) likely(point []int, i, low, high int) [][]int {
	next := slices.Clone(point)
	if next[i] = (low + point[i]) / 2; next[i] > low && next[i] < point[i] && z.enough(next) {
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

// visited limits how many clusters are examined, most of which have too few resources to be tried.
const visited = 200_000

// cheapest tries the clusters that are cheaper than found, the cheapest first.
func (z *sizer) cheapest(ctx context.Context, found []int) ([]int, error) {
	queue := &points{z: z, all: []point{{at: make([]int, len(z.numbers))}}, below: point{at: found, cost: z.cost(found)}}
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
			z.sizing.Proven = queue.visited <= visited
			return found, nil
		}
		if z.sizing.Tried >= z.opts.Most {
			return found, nil
		}
		z.reached = z.cost(next[0])
		lacks, err := z.try(ctx, false, next[0], next[1:]...)
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

// lookedAt limits how many clusters are examined for a bound once the time is over.
const lookedAt = 20_000

// least is a cost below which no cluster suffices: all that are cheaper were tried or have too few resources.
func (z *sizer) least() float64 {
	queue := &points{z: z, below: point{cost: math.Inf(1)}, visited: visited - lookedAt}
	start := z.smallest()
	queue.all = []point{{at: start, cost: z.cost(start)}}
	bound := 0.0
	if first := queue.next(); first != nil {
		bound = z.cost(first)
	} else if queue.Len() > 0 {
		bound = queue.all[0].cost
	}
	return max(bound, z.reached)
}

// smallest are for each of the numbers how many nodes it takes where the others have a node for each pod: no cluster that suffices has fewer.
func (z *sizer) smallest() []int {
	most := 1 + len(z.state.Pods)
	all := make([]int, len(z.numbers))
	for i := range all {
		point := slices.Repeat([]int{most}, len(z.numbers))
		all[i] = sort.Search(most, func(n int) bool {
			point[i] = n
			return z.enough(point)
		})
		if all[i] == most { // what the pods request fits on no such nodes
			all[i] = 0
		}
	}
	return all
}

// point is a number of nodes for each of the sizer's numbers. In points derived from it, those before last stay the same.
type point struct {
	at   []int
	last int
	cost float64
}

// points is a heap with the cheapest on top; ties go to fewer nodes, then to the first.
type points struct {
	z       *sizer
	all     []point
	below   point // the clusters looked for are cheaper
	visited int
}

// next returns the next cluster that has enough resources; nil if there is none, or too many were examined.
func (p *points) next() []int {
	for p.Len() > 0 && p.visited <= visited {
		next := heap.Pop(p).(point)
		if p.compare(next, p.below) >= 0 {
			p.all = nil
			break
		}
		p.visited++
		for i := next.last; i < len(next.at); i++ { // reach each point in one way
			more := slices.Clone(next.at)
			more[i]++
			heap.Push(p, point{at: more, last: i, cost: p.z.cost(more)})
		}
		if p.z.enough(next.at) {
			return next.at
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
	return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(nodes(a.at), nodes(b.at)), slices.Compare(b.at, a.at))
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
