package blast

import (
	"cmp"
	"slices"
)

// Harm says how bad a failure is, in the numbers by which failures are compared.
type Harm struct {
	// Budgets and Quorums are the numbers of broken disruption budgets and of lost quorums.
	Budgets, Quorums int
	// Whole is the number of workloads with two or more replicas that lose all of them.
	Whole int
	// Gone is the number of lost pods that do not come back: their replacements stay Pending, or nobody makes any. Pods that live and die
	// with their node do not count.
	Gone int
	// Down is the number of workloads, of any size, that lose all pods.
	Down int
	// Excess is the largest share of a workload that is lost beyond the loss of an even spread.
	Excess float64
	// Share is the largest share that a workload with two or more replicas loses.
	Share float64
	// Pods is the number of running pods that fail.
	Pods int
}

// Compare puts the worse failure first. The first of these numbers that differs decides: broken budgets, lost quorums, replicated workloads
// lost as a whole, pods that do not come back, the excess over an even spread, the largest share, workloads down, pods.
func (h Harm) Compare(other Harm) int {
	return cmp.Or(
		cmp.Compare(other.Budgets, h.Budgets), cmp.Compare(other.Quorums, h.Quorums), cmp.Compare(other.Whole, h.Whole),
		cmp.Compare(other.Gone, h.Gone), cmp.Compare(other.Excess, h.Excess), cmp.Compare(other.Share, h.Share),
		cmp.Compare(other.Down, h.Down), cmp.Compare(other.Pods, h.Pods),
	)
}

// AddLoss counts the loss of a workload. A workload with one replica counts only in Down and Quorums, since no placement saves it from the loss
// of its domain.
func (h *Harm) AddLoss(loss *Loss) {
	if loss.QuorumLost {
		h.Quorums++
	}
	gone := boolToInt(loss.TakesAll())
	h.Down += gone
	if loss.Replicas < 2 {
		return
	}
	h.Whole += gone
	h.Share = max(h.Share, loss.Share())
	h.Excess = max(h.Excess, loss.excessShare())
}

// Harm returns how bad the failure is. It counts the pods that do not come back if the recovery was examined.
func (l *Level) Harm(f *Failure) Harm {
	h := Harm{Budgets: len(f.BrokenBudgets), Pods: f.Pods}
	for i := range f.Workloads {
		h.AddLoss(&f.Workloads[i])
	}
	if r := l.Recovery(f); r != nil {
		h.Gone = r.CountNotBack()
	}
	return h
}

// ByHarm returns the failures, the worst first, and equally bad ones in the order of their domains' names.
func (l *Level) ByHarm() []*Failure {
	failures, harms := make([]*Failure, len(l.Failures)), make(map[*Failure]Harm, len(l.Failures))
	for i := range l.Failures {
		failures[i] = &l.Failures[i]
		harms[failures[i]] = l.Harm(failures[i])
	}
	slices.SortStableFunc(failures, func(a, b *Failure) int { return harms[a].Compare(harms[b]) })
	return failures
}
