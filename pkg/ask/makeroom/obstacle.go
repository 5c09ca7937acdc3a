package makeroom

import (
	"cmp"
	"slices"
)

// maxObstacles is the number of nodes of which an answer says what is in the way.
const maxObstacles = 5

// findObstacles returns the nodes that may take a pod that waits and have the most room for it, with what is in the way there.
func (f *finder) findObstacles() []Obstacle {
	r := f.newRoom(f.start)
	type near struct {
		Obstacle
		missing float64
	}
	var all []near
	for _, n := range r.nodes {
		if !r.opens(n) {
			continue
		}
		o := near{Obstacle: Obstacle{Node: n.Name}}
		name := r.mostMissing(n, nil, 1)
		if missing := r.need[name] - n.free[name]; missing > 0 {
			o.missing = float64(missing) / float64(r.need[name])
			o.Short = &Short{string(name), quantity(name, r.need[name]), quantity(name, max(0, n.free[name])), quantity(name, n.freeWithout(name, n.movable)-n.free[name])}
		}
		o.Stays = slices.Clone(n.stays)
		for _, c := range n.movable {
			if stuck, is := f.stuck[c.key()]; is {
				o.Stays = append(o.Stays, stuck)
			}
		}
		all = append(all, o)
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(a.missing, b.missing), cmp.Compare(a.Node, b.Node)) })
	var obstacles []Obstacle
	for i := range all[:min(maxObstacles, len(all))] {
		obstacles = append(obstacles, all[i].Obstacle)
	}
	return obstacles
}
