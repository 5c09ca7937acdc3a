package makeroom

import (
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/world"
)

// search looks for the fewest moves.
type search struct {
	*finder
	room *room
	// limit is the number of tries of the finder at which the search ends.
	limit int
	ties  *ties
	// failed are the plans with a pod that found no place, and helpless the sets that moved although the pods that ask still wait.
	failed   []failure
	helpless [][]*candidate
	// stuck says why pods could not move.
	stuck map[string]world.BlockedPod
}

// failure is a plan with a pod that found no place on another node.
type failure struct {
	plan  plan
	stuck *candidate
}

// findFewest tries all plans with this number of moves, then those with one more, up to maxExact. It returns the first that makes room, and a
// number of moves below which none do.
func (s *search) findFewest(ctx context.Context, moves int) (*found, int, error) {
	s.ties, s.stuck, s.helpless = newTies(s.room.waiting), map[string]world.BlockedPod{}, [][]*candidate{nil}
	for ; moves <= maxExact; moves++ {
		plans, all := s.makePlans(moves)
		for _, p := range plans {
			if s.tried >= s.limit {
				return nil, moves, nil
			}
			o, err := s.tryPlan(ctx, p)
			if err != nil || o != nil {
				return o, moves, err
			}
		}
		if !all {
			return nil, moves, nil
		}
	}
	return nil, moves, nil
}

// tryPlan tries the plan, in every order of its pods if one of them finds no place. It returns the moves if they make room.
func (s *search) tryPlan(ctx context.Context, p plan) (*found, error) {
	first := p[0]
	on := nodesOf(first)
	for _, c := range first {
		if !s.room.fitsElsewhere(c, on) {
			s.failed = append(s.failed, failure{p, c})
			s.keepStuck(c, "no other node has room for it")
			return nil, nil
		}
	}
	for i, order := range s.orders(p) {
		o, err := s.try(ctx, order)
		if err != nil || o.makesRoom() {
			return &o.found, err
		}
		if o.stuck == nil && o.worse == "" && len(p) == 1 {
			s.helpless = append(s.helpless, p[0])
		}
		if i == 0 && o.unplaced {
			s.failed = append(s.failed, failure{p, o.stuck})
		}
		if o.stuck != nil {
			s.keepStuck(o.stuck, o.why)
		}
		if !o.unplaced || s.tried >= s.limit {
			return nil, nil
		}
	}
	return nil, nil
}

func (s *search) keepStuck(c *candidate, why string) {
	if _, known := s.stuck[c.key()]; !known {
		s.stuck[c.key()] = blockedPod(c, why)
	}
}

// orders returns the plan with the largest pods first, then the other orders of a set: all in one stage, and each pod in a stage of its own.
func (s *search) orders(p plan) []plan {
	if len(p) > 1 {
		return []plan{p}
	}
	set := slices.Clone(p[0])
	slices.SortStableFunc(set, compareSize)
	all := []plan{{set}}
	several := len(nodesOf(set)) > 1
	for order := range permutations(set) {
		if len(all) == 1 || !slices.Equal(order, set) {
			if !slices.Equal(order, set) {
				all = append(all, plan{order})
			}
		}
	}
	if several {
		for order := range permutations(set) {
			stages := plan{}
			for _, c := range order {
				stages = append(stages, []*candidate{c})
			}
			all = append(all, stages)
		}
	}
	return all
}

// permutations calls yield with each order of the set, the given one first.
func permutations(set []*candidate) func(yield func([]*candidate) bool) {
	return func(yield func([]*candidate) bool) {
		var permute func(done, rest []*candidate) bool
		permute = func(done, rest []*candidate) bool {
			if len(rest) == 0 {
				return yield(done)
			}
			for i := range rest {
				if !permute(append(slices.Clone(done), rest[i]), without(rest, i)) {
					return false
				}
			}
			return true
		}
		permute(nil, set)
	}
}
