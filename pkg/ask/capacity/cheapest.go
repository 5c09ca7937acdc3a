package capacity

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
)

// lower bisects one number after another, the most expensive first, while the others stay. Those found so far come with an error, too, as they
// do from cheapest.
func (z *sizer) lower(ctx context.Context, found []int) ([]int, error) {
	found = slices.Clone(found)
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(z.numbers[b].cost, z.numbers[a].cost) })
	for _, i := range order {
		for low, high := -1, found[i]; ; {
			if high-low <= 1 {
				found[i] = high
				break
			}
			point := slices.Clone(found)
			point[i] = (low + high) / 2
			if !z.enough(point) {
				low = point[i]
				continue
			}
			lacks, err := z.try(ctx, point, false)
			if err != nil {
				found[i] = high
				return found, err
			}
			if len(lacks) == 0 {
				high = point[i]
			} else {
				low = point[i]
			}
		}
	}
	return found, nil
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
	queue := &points{z: z, all: []point{{at: make([]int, len(z.numbers))}}}
	for n := 0; queue.Len() > 0; n++ {
		next := heap.Pop(queue).(point)
		if queue.compare(next, point{at: found, cost: z.cost(found)}) >= 0 {
			break
		}
		if z.enough(next.at) {
			if z.sizing.Tried >= z.opts.Most {
				return found, nil
			}
			lacks, err := z.try(ctx, next.at, false)
			if err != nil {
				return found, err
			}
			if len(lacks) == 0 {
				z.sizing.Proven = true
				return next.at, nil
			}
		}
		if n >= visited {
			return found, nil
		}
		for i := next.last; i < len(next.at); i++ { // reach each point in one way
			more := slices.Clone(next.at)
			more[i]++
			heap.Push(queue, point{at: more, last: i, cost: z.cost(more)})
		}
	}
	z.sizing.Proven = true
	return found, nil
}

// point is a number of nodes for each of the sizer's numbers. In points derived from it, those before last stay the same.
type point struct {
	at   []int
	last int
	cost float64
}

// points is a heap with the cheapest on top; ties go to fewer nodes, then to the first.
type points struct {
	z   *sizer
	all []point
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
