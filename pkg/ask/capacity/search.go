package capacity

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// randomChecks is the number of random counts below the result that are tried, to check whether every smaller count fits.
	randomChecks = 3
	// maxCheckedPods is roughly the number of pods that may be placed for these checks. Larger counts go unchecked.
	maxCheckedPods = 5_000
)

// findLimit finds the largest number of units that fit. If not 0, end is a count known not to fit. If the context ends, it returns what is
// known by then; nil if no count that fits is known.
func (p *prober) findLimit(ctx context.Context, level string, end int) (*Limit, error) {
	if p.tries, p.fullRun, p.startRun = 0, nil, p.base; level == "" {
		p.startRun = p.baseInParallel()
	}
	search := &search{
		known:       map[int]*verdict{},
		grow:        func(units int, last bool) (*verdict, error) { return p.tryGrowing(ctx, units, level, last) },
		alone:       func(units int) (*verdict, error) { return p.tryAlone(ctx, units, level) },
		podsPerUnit: p.podsPerUnit(),
		firstStep:   1,
		budget:      p.budget,
	}
	switch {
	case level != "":
		search.movedPerCheck = len(p.state.Pods)
	case p.fitIsMonotone():
		search.budget = 0
	}
	limit, err := p.searchLimit(ctx, search, level, end)
	if err != nil && ctx.Err() != nil {
		return search.openLimit(level, p.tries), err
	}
	return limit, err
}

// openLimit returns the limit as far as an interrupted search came; nil if no count that fits is known.
func (s *search) openLimit(level string, tried int) *Limit {
	if len(s.known) == 0 || s.known[s.largestFitting()] == nil || !s.known[s.largestFitting()].fits {
		return nil
	}
	limit := &Limit{Level: level, More: s.largestFitting(), Open: true, Probes: tried}
	for units, v := range s.known {
		if !v.fits && units > limit.More && (limit.DoesNotFit == 0 || units < limit.DoesNotFit) {
			limit.DoesNotFit = units
		}
	}
	return limit
}

// searchLimit finds the limit by the search: first a count that does not fit, then bisection, then checks.
func (p *prober) searchLimit(ctx context.Context, search *search, level string, end int) (*Limit, error) {
	limit := &Limit{Level: level}
	none, err := search.verdictAt(0)
	if err != nil {
		return nil, err
	}
	if !none.fits {
		limit.Short, limit.Probes = true, p.tries
		if none.partial {
			if none, err = p.tryGrowing(ctx, 0, level, true); err != nil {
				return nil, err
			}
		}
		limit.setRefusal(none)
		return limit, nil
	}
	guess := p.ceiling()
	if end > 0 {
		guess = end - 1
	}
	if level != "" {
		// A try of a count that is too large says by how many units, but it takes longer the more pods there are. So the search starts from
		// an estimate.
		if p.skipsChecks && end == 0 {
			guess = p.maxUnits()
		} else if end == 0 || end > search.movedPerCheck {
			guess = p.estimateSurviving(guess, level)
		}
		search.firstStep = max(1, guess/256)
	}
	if end == 0 {
		if end, err = search.findUpperEnd(guess, p.maxUnits()); err != nil {
			return nil, err
		}
		guess = 0
	}
	if end > p.maxUnits() {
		limit.More, limit.Capped = search.largestFitting(), true
	} else if limit.More, err = search.bisect(0, end, guess); err != nil {
		return nil, err
	}
	if limit.Uneven, err = search.checkAround(limit, p.base.Scenario.Ties.Seed); err != nil {
		return nil, err
	}
	fits, err := search.verdictAt(limit.More)
	if err != nil {
		return nil, err
	}
	limit.Unreplaced = fits.unreplaced
	if !limit.Capped {
		not, err := search.verdictAt(limit.More + 1)
		if err != nil {
			return nil, err
		}
		limit.Probes = p.tries
		if not.partial {
			if not, err = p.tryGrowing(ctx, not.units, level, true); err != nil {
				return nil, err
			}
		}
		limit.setRefusal(not)
		return limit, nil
	}
	limit.Probes = p.tries
	return limit, nil
}

// setRefusal records why a count does not fit.
func (l *Limit) setRefusal(v *verdict) {
	l.Domain, l.Stranded, l.Why = v.domain, v.stranded, v.why
	l.Missing, l.Newly = v.missing, v.newlyPending
	l.Pod, l.Message = v.firstPending.Describe()
	if v.firstPending != nil {
		l.Binds = bindings(v.firstPending, v.failedNodes)
	}
}

// search finds the largest count that fits, and records the verdict on each count that was tried.
type search struct {
	known map[int]*verdict
	// grow may continue from the run of a smaller count; alone starts from the base. If last is true, the search ends with the count if it
	// does not fit, so grow finds the worst failure.
	grow          func(units int, last bool) (*verdict, error)
	alone         func(units int) (*verdict, error)
	podsPerUnit   int // pods per unit
	firstStep     int // distance of the first two counts that are tried near a guess
	budget        int // pods that checks may place
	movedPerCheck int // further pods that each check may place, since failures move them
}

func (s *search) verdictAt(units int) (*verdict, error) {
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

// largestFitting returns the largest known count that fits.
func (s *search) largestFitting() int {
	most := 0
	for units, v := range s.known {
		if v.fits {
			most = max(most, units)
		}
	}
	return most
}

// findUpperEnd returns a count that does not fit. It tries first, the count that the resources just allow, then first + 1, and then doubles the
// count. If even the count most fits, it gives up and returns most + 1.
func (s *search) findUpperEnd(first, most int) (int, error) {
	for units, next := max(1, first), first+1; ; units, next = min(next, most), 2*next {
		units = min(units, most)
		v, err := s.verdictAt(units)
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

// bisect returns a count from low on that fits while the next count does not. low fits, and high does not.
//
// It tries the guess first; if guess is 0, it computes one from the verdict on high. That verdict has the excess: the number of units that
// were too many, which is exact if pods are placed one by one. With high = 20 and an excess of 6, the guess is 14.
//
// Later steps double as long as they lead in the same direction, but never pass the middle of the counts that are still open. So the search
// stays near the guess: counts far above the limit take longest.
func (s *search) bisect(low, high, guess int) (int, error) {
	if guess == 0 {
		v, err := s.verdictAt(high)
		if err != nil {
			return 0, err
		}
		if guess = (low + high) / 2; !v.fits {
			guess = high - v.excess
		}
	}
	above := math.MaxInt // the smallest count that was tried and does not fit
	for up, down := s.firstStep, s.firstStep; high-low > 1; {
		guess = min(max(guess, low+1), high-1)
		v, err := s.verdictAt(guess)
		if err != nil {
			return 0, err
		}
		if v.fits {
			low, guess, up, down = guess, min(guess+up, guess+max(1, (above-guess)/2)), 2*up, s.firstStep
		} else {
			above, high, guess, up, down = guess, guess, guess-max(v.excess, min(down, max(1, (guess-low)/2))), s.firstStep, 2*down
		}
	}
	return low, nil
}

// checkAround tries counts around the result, and some random ones below it, each from the base. If a count up to the result does not fit, the
// search continues below that count.
func (s *search) checkAround(limit *Limit, seed uint64) ([]Uneven, error) {
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
		for range randomChecks {
			points = append(points, random.IntN(limit.More+1))
		}
		if !limit.Capped {
			points = append(points, limit.More+1, limit.More+2)
		}
		slices.Sort(points)
		for _, units := range slices.Compact(points) {
			if budget -= units*s.podsPerUnit + s.movedPerCheck; units < 1 || budget < 0 {
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
				if limit.More, err = s.bisect(0, units, 0); err != nil {
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
