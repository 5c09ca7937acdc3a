package peak

import (
	"context"
	"maps"
	"slices"

	"github.com/faultline/faultline/pkg/list"
)

// Point is a share of the way to the peak.
type Point struct {
	Share float64 `json:"share"`
	// Replicas is the sum of the replicas of the workloads that grow, and Pods the number of all pods that there should be.
	Replicas int `json:"replicas"`
	Pods     int `json:"pods"`
	// Short is the number of pods that have no node, and AfterLoss the number after the loss of Domain, which is the worst of the losses that were tried there.
	Short     int    `json:"short"`
	AfterLoss int    `json:"afterLoss,omitempty"`
	Level     string `json:"level,omitempty"`
	Domain    string `json:"domain,omitempty"`
	// Losses is the number of losses that were tried there.
	Losses int `json:"losses,omitempty"`
}

// Most returns the number of pods without a node, after the worst loss that was tried if that is more.
func (p *Point) Most() int { return max(p.Short, p.AfterLoss) }

// Safe is the largest share of the way at which every pod has a node, also after each loss that was tried, as have all smaller shares that were
// tried.
type Safe struct {
	Share float64 `json:"share"`
	// Next is the smallest share above it that was tried, and is not safe; missing if the whole way is safe.
	Next *Point `json:"next,omitempty"`
	// Tried are all shares that were tried, in ascending order.
	Tried []float64 `json:"tried"`
	// Losses is the number of losses that were tried at the share, Of the number of all losses.
	Losses int `json:"losses,omitempty"`
	Of     int `json:"of,omitempty"`
	// Again are shares above Next that are safe, since one share being too much does not mean that each larger one is.
	Again []float64 `json:"again,omitempty"`
}

const (
	// curveSteps is the number of steps of the curve from the present to the peak.
	curveSteps = 10
	// triedLosses is the largest number of losses that are tried at a share below the peak: those that are the worst at the peak.
	triedLosses = 12
)

// findSafe runs each tenth of the way, up to the first one that is too much with the loss that is the worst at the peak. It looks between the
// last safe tenth and that one for the largest safe share, in whole percent, and tries all losses there. If one of them is too much, it goes
// on below with that loss, too. losses are those at the peak, the worst first.
func (f *finder) findSafe(ctx context.Context, answer *Answer, losses []lost) error {
	if len(f.targets) == 0 {
		return nil
	}
	order := list.Map(losses[:min(triedLosses, len(losses))], func(l lost) domain { return l.domain })
	s := &safeSearch{finder: f, order: order, points: map[int]*point{}}
	var grid []int
	for i := range curveSteps + 1 {
		grid = append(grid, i*100/curveSteps)
	}
	f.expect(2 * len(grid))
	low, high := -1, 101
	for front := min(1, len(order)); ; front++ {
		for some := range slices.Chunk(grid, 2) {
			if err := s.tryAll(ctx, list.Where(some, func(percent int) bool { return percent < high }), front); err != nil {
				return err
			}
			if _, first := s.bracket(some); first <= 100 {
				break
			}
		}
		if low, high = s.bracket(grid); low < 0 {
			break
		}
		for high-low > 1 && high <= 100 {
			middle := (low + high) / 2
			if err := s.tryAll(ctx, []int{middle}, front); err != nil {
				return err
			}
			if s.points[middle].Most() > 0 {
				high = middle
			} else {
				low = middle
			}
		}
		if err := s.tryAll(ctx, []int{low}, len(order)); err != nil {
			return err
		}
		if s.points[low].Most() == 0 {
			break
		}
		bad := slices.IndexFunc(s.order, func(d domain) bool { return d.name == s.points[low].Domain && d.level == s.points[low].Level })
		found := s.order[bad]
		s.order = slices.Insert(slices.Delete(slices.Clone(s.order), bad, bad+1), front, found)
	}
	if err := s.tryAll(ctx, grid, 0); err != nil { // those above the first one that is too much, with no loss
		return err
	}
	for _, percent := range grid {
		if at := s.points[percent]; at.Losses == 0 && at.Share == answer.Share && len(losses) > 0 { // the losses at the peak are known
			at.Losses, at.AfterLoss = len(losses), losses[0].short
			if at.AfterLoss > 0 {
				at.Level, at.Domain = losses[0].level, losses[0].name
			}
		}
		answer.Curve = append(answer.Curve, s.points[percent].Point)
	}
	if low < 0 {
		return nil
	}
	safe := &Safe{Share: share(low), Losses: s.points[low].Losses, Of: len(losses)}
	for _, percent := range slices.Sorted(maps.Keys(s.points)) {
		at := s.points[percent]
		safe.Tried = append(safe.Tried, share(percent))
		switch {
		case percent <= low:
		case safe.Next == nil && at.Most() > 0:
			safe.Next = &at.Point
		case safe.Next != nil && at.Most() == 0 && (at.Losses > 0 || len(losses) == 0):
			safe.Again = append(safe.Again, share(percent))
		}
	}
	answer.Safe = safe
	answer.claims = append(answer.claims, s.claimSafe(low, safe.Next)...)
	return nil
}

func share(percent int) float64 { return float64(percent) / 100 }

// point is a share of the way with what was tried there.
type point struct {
	Point
	peak *outcome
	// tried has the losses that were tried there, lost their results, and worst the worst of them; nil if none leaves a pod without a node.
	tried map[string]bool
	lost  []*lost
	worst *lost
}

// safeSearch has the shares that were tried, by whole percent.
type safeSearch struct {
	*finder
	// order are the losses to try, those that took the most first.
	order  []domain
	points map[int]*point
}

// bracket returns the last share of the grid before the first one that is too much, and that one: -1 if the first is too much, 101 if none
// is.
func (s *safeSearch) bracket(grid []int) (low, high int) {
	low = -1
	for _, percent := range grid {
		if at := s.points[percent]; at == nil || at.Most() > 0 {
			return low, percent
		}
		low = percent
	}
	return low, 101
}

// tryAll runs the peaks of these shares, each with the first losses of the order that were not tried there. A share that was too much already is
// not tried again, but for its first loss.
func (s *safeSearch) tryAll(ctx context.Context, percents []int, losses int) error {
	if err := s.runPeaks(ctx, list.Map(percents, share)); err != nil {
		return err
	}
	var from []*outcome
	var domains []domain
	var of []*point
	for _, percent := range percents {
		at := s.points[percent]
		if at == nil {
			o := s.peaks[s.key(share(percent))]
			at = &point{Point: Point{Share: share(percent), Pods: o.pods, Short: o.short, Replicas: s.sumReplicas(share(percent))}, peak: o, tried: map[string]bool{}}
			s.points[percent] = at
		}
		for _, d := range s.order[:losses] {
			if at.tried[d.level+"="+d.name] || at.Most() > 0 && at.Losses > 0 {
				continue
			}
			at.tried[d.level+"="+d.name] = true
			at.Losses++
			for _, d := range s.present(at.peak, d) {
				from, domains, of = append(from, at.peak), append(domains, d), append(of, at)
			}
		}
	}
	found, err := s.lose(ctx, s.worlds, from, domains)
	if err != nil {
		return err
	}
	for i := range found {
		at := of[i]
		if at.lost = append(at.lost, &found[i]); found[i].short > at.AfterLoss {
			at.AfterLoss, at.Level, at.Domain, at.worst = found[i].short, found[i].level, found[i].name, &found[i]
		}
	}
	return nil
}

// sumReplicas returns the sum of the replicas at the share.
func (f *finder) sumReplicas(share float64) int {
	sum := 0
	for _, t := range f.targetsAt(share) {
		sum += int(t.Replicas)
	}
	return sum
}

// present returns the domain as the nodes of the outcome make it; none if it has no node there.
func (f *finder) present(o *outcome, d domain) []domain {
	return list.Where(f.domains(o.result), func(other domain) bool { return other.level == d.level && other.name == d.name })
}
