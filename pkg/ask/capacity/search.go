package capacity

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// seeded is how many counts below the result are tried, to check whether fewer always fit.
	seeded = 3
	// checked is roughly how many pods are placed for these checks. Larger counts go unchecked.
	checked = 5_000
)

// limit searches the largest number of units that fit. If not 0, end is a count known not to fit. If the context ends, the limit is what is known by
// then, and nil if no count that fits is.
func (p *prober) limit(ctx context.Context, level string, end int) (*Limit, error) {
	if p.tried, p.full, p.from = 0, nil, p.base; level == "" {
		p.from = p.baseInParallel()
	}
	search := &search{
		known:  map[int]*verdict{},
		grow:   func(units int, last bool) (*verdict, error) { return p.grow(ctx, units, level, last) },
		alone:  func(units int) (*verdict, error) { return p.alone(ctx, units, level) },
		size:   p.size(),
		step:   1,
		budget: p.budget,
	}
	switch {
	case level != "":
		search.moved = len(p.state.Pods)
	case p.steady():
		search.budget = 0
	}
	limit, err := p.find(ctx, search, level, end)
	if err != nil && ctx.Err() != nil {
		return search.open(level, p.tried), err
	}
	return limit, err
}

// open is the limit of a search that was interrupted; nil if no count that fits is known.
func (s *search) open(level string, tried int) *Limit {
	if len(s.known) == 0 || s.known[s.largest()] == nil || !s.known[s.largest()].fits {
		return nil
	}
	limit := &Limit{Level: level, More: s.largest(), Open: true, Probes: tried}
	for units, v := range s.known {
		if !v.fits && units > limit.More && (limit.DoesNotFit == 0 || units < limit.DoesNotFit) {
			limit.DoesNotFit = units
		}
	}
	return limit
}

// find finds the limit by the search.
func (p *prober) find(ctx context.Context, search *search, level string, end int) (*Limit, error) {
	limit := &Limit{Level: level}
	none, err := search.at(0)
	if err != nil {
		return nil, err
	}
	if !none.fits {
		limit.Short, limit.Probes = true, p.tried
		if none.part {
			if none, err = p.grow(ctx, 0, level, true); err != nil {
				return nil, err
			}
		}
		limit.refuse(none)
		return limit, nil
	}
	guess := p.ceiling()
	if end > 0 {
		guess = end - 1
	}
	if level != "" {
		// A count that is too large says by how many, but the more pods there are, the longer it takes.
		if p.hurried && end == 0 {
			guess = p.most()
		} else if end == 0 || end > search.moved {
			guess = p.surviving(guess, level)
		}
		search.step = max(1, guess/256)
	}
	if end == 0 {
		if end, err = search.end(guess, p.most()); err != nil {
			return nil, err
		}
		guess = 0
	}
	if end > p.most() {
		limit.More, limit.Capped = search.largest(), true
	} else if limit.More, err = search.between(0, end, guess); err != nil {
		return nil, err
	}
	if limit.Uneven, err = search.check(limit, p.base.Scenario.Ties.Seed); err != nil {
		return nil, err
	}
	fits, err := search.at(limit.More)
	if err != nil {
		return nil, err
	}
	limit.Unreplaced = fits.unreplaced
	if !limit.Capped {
		not, err := search.at(limit.More + 1)
		if err != nil {
			return nil, err
		}
		limit.Probes = p.tried
		if not.part {
			if not, err = p.grow(ctx, not.units, level, true); err != nil {
				return nil, err
			}
		}
		limit.refuse(not)
		return limit, nil
	}
	limit.Probes = p.tried
	return limit, nil
}

// refuse records why a count does not fit.
func (l *Limit) refuse(v *verdict) {
	l.Domain, l.Stranded, l.Why = v.domain, v.stranded, v.words
	l.Missing, l.Newly = v.missing, v.newly
	l.Pod, l.Message = v.refused.Said()
	if v.refused != nil {
		l.Binds = bindings(v.refused, v.lost)
	}
}

// search records which counts fit, as far as they have been tried.
type search struct {
	known map[int]*verdict
	// grow may continue from a smaller count, alone does not. If last, the search ends with a count that does not fit.
	grow   func(units int, last bool) (*verdict, error)
	alone  func(units int) (*verdict, error)
	size   int // pods per unit
	step   int // between the first two counts that are tried near a guess
	budget int // pods to place for checks
	moved  int // pods that each check may move besides, as failures do
}

func (s *search) at(units int) (*verdict, error) {
	if v := s.known[units]; v != nil {
		return v, nil
	}
	below := s.known[units-1]
	v, err := s.grow(units, below != nil && below.fits)
	if err == nil {
		s.known[units] = v
	}
	return v, err
}

// largest returns the largest known count that fits.
func (s *search) largest() int {
	most := 0
	for units, v := range s.known {
		if v.fits {
			most = max(most, units)
		}
	}
	return most
}

// end tries one more than the resources allow, and then doubles that until it does not fit. Beyond most it gives up, and returns a larger
// number.
func (s *search) end(first, most int) (int, error) {
	for units, next := max(1, first), first+1; ; units, next = min(next, most), 2*next {
		units = min(units, most)
		v, err := s.at(units)
		if err != nil {
			return 0, err
		}
		if !v.fits {
			return units, nil
		}
		if units == most {
			return most + 1, nil
		}
	}
}

// between returns a count that fits while the next does not. It starts from the guess, or if that is 0, from what high says. A count that
// does not fit says by how many it was too many, and is exact if pods are placed one by one. Otherwise the steps double as long as they lead
// the same way, so that the search stays near the guess: counts far above it are the ones that take long. They never pass the middle of what
// was tried.
func (s *search) between(low, high, guess int) (int, error) {
	if guess == 0 {
		v, err := s.at(high)
		if err != nil {
			return 0, err
		}
		if guess = (low + high) / 2; !v.fits {
			guess = high - v.excess
		}
	}
	above := math.MaxInt // the smallest count that was tried and does not fit
	for up, down := s.step, s.step; high-low > 1; {
		guess = min(max(guess, low+1), high-1)
		v, err := s.at(guess)
		if err != nil {
			return 0, err
		}
		if v.fits {
			low, guess, up, down = guess, min(guess+up, guess+max(1, (above-guess)/2)), 2*up, s.step
		} else {
			above, high, guess, up, down = guess, guess, guess-max(v.excess, min(down, max(1, (guess-low)/2))), s.step, 2*down
		}
	}
	return low, nil
}

// check tries counts around the result, and some below, each on its own. If one that is not larger does not fit, the search continues below
// it.
func (s *search) check(limit *Limit, seed uint64) ([]Uneven, error) {
	var uneven []Uneven
	report := func(u Uneven) {
		if !slices.Contains(uneven, u) {
			uneven = append(uneven, u)
		}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	budget := s.budget
	for again := true; again; {
		again = false
		points := []int{limit.More, limit.More - 1}
		for range seeded {
			points = append(points, random.IntN(limit.More+1))
		}
		if !limit.Capped {
			points = append(points, limit.More+1, limit.More+2)
		}
		slices.Sort(points)
		for _, units := range slices.Compact(points) {
			if budget -= units*s.size + s.moved; units < 1 || budget < 0 {
				continue
			}
			v, err := s.alone(units)
			if err != nil {
				return nil, err
			}
			s.known[units] = v
			if units <= limit.More && !v.fits {
				if units < limit.More {
					report(Uneven{Fits: limit.More, DoesNot: units})
				}
				limit.Capped = false
				if limit.More, err = s.between(0, units, 0); err != nil {
					return nil, err
				}
				again = true
				break
			}
			if units == limit.More+1 && v.fits && !limit.Capped {
				limit.More, again = units, true
			} else if units > limit.More+1 && v.fits {
				report(Uneven{Fits: units, DoesNot: limit.More + 1})
			}
		}
	}
	return uneven, nil
}
