package makeroom

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/world"
)

// findSome frees one node after another, the one with the fewest moves first, until no pod that asks waits. It returns nil if it gets stuck.
func (f *finder) findSome(ctx context.Context, limit int) (_ *found, err error) {
	did := len(f.course.Did)
	defer func() { err = cmp.Or(err, f.course.Rewind(did)) }()
	if slices.ContainsFunc(f.waiting, func(pod *v1.Pod) bool { return pod.Spec.SchedulingGroup != nil }) {
		return f.freeTogether(ctx, limit)
	}
	all := &found{}
	for f.tried < limit {
		o, err := f.freeOne(ctx, limit)
		if err != nil || o == nil {
			return nil, err
		}
		all.stages, all.steps, all.placed, all.end = append(all.stages, o.stages...), append(all.steps, o.steps...), o.placed, o.end
		if o.waiting == 0 {
			return all, nil
		}
	}
	return nil, nil
}

// freeOne makes room for at least one more of the pods that wait, and leaves the course there. It returns nil if it finds none.
func (f *finder) freeOne(ctx context.Context, limit int) (*outcome, error) {
	r := f.newRoom(f.course.State())
	waiting := len(r.waiting)
	immobile := map[string]bool{}
	for f.tried < limit {
		set := r.cheapestSet(immobile, nil)
		if set == nil {
			return nil, nil
		}
		did := len(f.course.Did)
		o, err := f.run(ctx, plan{set})
		if err != nil || o.stuck == nil && o.worse == "" && o.waiting < waiting {
			return o, err
		}
		if err := f.course.Rewind(did); err != nil {
			return nil, err
		}
		if o.stuck != nil {
			immobile[o.stuck.key()] = true
			f.keepStuck(o)
		} else {
			immobile[set[0].key()] = true
		}
	}
	return nil, nil
}

func (f *finder) keepStuck(o *outcome) {
	if f.stuck == nil {
		f.stuck = map[string]world.BlockedPod{}
	}
	if _, known := f.stuck[o.stuck.key()]; !known {
		f.stuck[o.stuck.key()] = blockedPod(o.stuck, o.why)
	}
}

func blockedPod(c *candidate, why string) world.BlockedPod {
	return world.BlockedPod{PodRef: cluster.NewPodRef(c.Pod, c.owner), Reason: why}
}

// freeTogether makes room for all pods of a gang in one stage, since none of them gets a node before the others.
func (f *finder) freeTogether(ctx context.Context, limit int) (*found, error) {
	r := f.newRoom(f.course.State())
	immobile := map[string]bool{}
	for f.tried < limit {
		var set []*candidate
		for r.countSlots(set) < len(r.waiting) {
			more := r.cheapestSet(immobile, set)
			if more == nil {
				return nil, nil
			}
			set = append(set, more...)
		}
		slices.SortStableFunc(set, compareSize)
		o, err := f.try(ctx, plan{set})
		if err != nil || o.makesRoom() {
			return &o.found, err
		}
		switch {
		case o.stuck != nil:
			immobile[o.stuck.key()] = true
			f.keepStuck(o)
		case len(set) > 0:
			immobile[set[0].key()] = true
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// countSlots returns for how many pods that wait the nodes have resources when the pods in left have left.
func (r *room) countSlots(left []*candidate) int {
	sum := 0
	for _, n := range r.nodes {
		if r.opens(n) {
			sum += r.slotsFor(n, onNode(left, n.Name))
		}
	}
	return sum
}

func onNode(set []*candidate, name string) []*candidate {
	return slices.DeleteFunc(slices.Clone(set), func(c *candidate) bool { return c.Spec.NodeName != name })
}

// cheapestSet returns the fewest pods of one node that have to leave, after those in left, so that the node has resources for one more pod; nil
// if there are none. Immobile pods do not count.
func (r *room) cheapestSet(immobile map[string]bool, left []*candidate) []*candidate {
	var best []*candidate
	busy := nodesOf(left)
	for _, n := range r.nodes {
		if !r.opens(n) {
			continue
		}
		of := onNode(left, n.Name)
		var among []*candidate
		for _, c := range n.movable {
			if !immobile[c.key()] && !slices.Contains(of, c) && r.fitsElsewhere(c, append(slices.Clone(busy), n.Name)) {
				among = append(among, c)
			}
		}
		wanted := r.slotsFor(n, of) + 1
		if set := r.smallestSet(n, of, among, wanted, len(best)); set != nil && (best == nil || cmp.Or(len(set)-len(best), compareCost(set, best)) < 0) {
			best = set
		}
	}
	return best
}

// smallestSet returns few of the pods without which the node has so many slots; nil if there are none, or no fewer than atMost. Up to two pods
// are the cheapest; more are chosen by size.
func (r *room) smallestSet(n *nodeRoom, left, among []*candidate, slots, atMost int) []*candidate {
	enough := func(set []*candidate) bool { return r.slotsFor(n, append(slices.Clone(left), set...)) >= slots }
	for size := 1; size <= 2 && (atMost == 0 || size <= atMost); size++ {
		var best []*candidate
		for set := range subsets(among, size) {
			if enough(set) && (best == nil || compareCost(set, best) < 0) {
				best = set
			}
		}
		if best != nil {
			return best
		}
	}
	if atMost > 0 && atMost <= 2 {
		return nil
	}
	var set []*candidate
	rest := slices.Clone(among)
	for !enough(set) {
		if len(rest) == 0 || atMost > 0 && len(set) >= atMost {
			return nil
		}
		short := r.mostMissing(n, append(slices.Clone(left), set...), slots)
		at := 0
		for i := range rest {
			if rest[i].requests[short] > rest[at].requests[short] {
				at = i
			}
		}
		set, rest = append(set, rest[at]), slices.Delete(rest, at, at+1)
	}
	for i := 0; i < len(set); { // an earlier pod may not be needed any more
		if less := without(set, i); enough(less) {
			set = less
		} else {
			i++
		}
	}
	slices.SortStableFunc(set, compareSize)
	return set
}

// mostMissing returns the resource of which the node lacks the largest share of what one pod asks for.
func (r *room) mostMissing(n *nodeRoom, left []*candidate, slots int) v1.ResourceName {
	var most v1.ResourceName
	share := -1.0
	for name, asked := range r.need {
		missing := float64(int64(slots)*asked-n.freeWithout(name, left)) / float64(max(1, asked))
		if missing > share || missing == share && name < most {
			most, share = name, missing
		}
	}
	return most
}

// compareSize orders pods by what they ask for, the largest first.
func compareSize(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.requests[v1.ResourceCPU], a.requests[v1.ResourceCPU]), cmp.Compare(b.requests[v1.ResourceMemory], a.requests[v1.ResourceMemory]), compareCost([]*candidate{a}, []*candidate{b}))
}
