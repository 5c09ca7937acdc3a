// Package rebalance finds pods whose replacements land better if somebody deletes them. It deletes one pod after another, as budgets allow,
// lets controllers and the scheduler place the next pod of the workload, and takes back deletions that are no better. A scenario with the
// remaining steps gives the same result.
package rebalance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Goal is the number that moves make smaller.
type Goal string

const (
	// Skew counts the pods beyond an even spread of their workload, in all domains.
	Skew Goal = "skew"
	// Radius counts, for each workload, the pods that the worst loss of a domain takes beyond the loss with an even spread.
	Radius Goal = "radius"
	// Soft counts the pods that do not meet a rule which the scheduler only prefers.
	Soft Goal = "soft"
)

// Goals returns all goals, the default first.
func Goals() []string { return []string{string(Skew), string(Radius), string(Soft)} }

// Options select the goal, and how many pods may move.
type Options struct {
	Goal Goal
	// Level is the topology key over which pods are spread. Soft does not use it, since rules have keys of their own.
	Level string
	// Moves is the largest number of pods to delete.
	Moves int
	// Progress, if set, is called after each move with the number of moves and their largest number.
	Progress func(done, total int)
}

// Answer has the pods to delete.
type Answer struct {
	Goal  Goal   `json:"goal"`
	Level string `json:"level,omitempty"`
	// Before and After are the numbers that the goal counts before and after the moves; 0 is the best.
	Before int `json:"before"`
	After  int `json:"after"`
	// Moves are the deletions, in order.
	Moves []Move `json:"moves"`
	// Fewest means that no smaller number of deletions reaches After, because each deletion lowers the number by at most one.
	Fewest bool `json:"fewest"`
	// More means that there may be further moves, beyond the number that was asked for.
	More bool `json:"more,omitempty"`
	// Stuck are the workloads for which no further deletion helps, and why.
	Stuck []Stuck `json:"stuck,omitempty"`
	// Tried is the number of deletions that were tried.
	Tried int `json:"tried"`
	// Policy is what a decider does, if it chooses the pods; missing otherwise.
	Policy *Policy `json:"policy,omitempty"`

	// Steps are the steps of the moves.
	Steps []scenario.Step `json:"-"`
	// End is the cluster after the moves.
	End *cluster.State `json:"-"`
}

// Move is a deletion with its result.
type Move struct {
	cluster.PodRef
	// From is the pod's node. Next is the pod that replaces it, and To the node of Next.
	From string `json:"from"`
	To   string `json:"to"`
	Next string `json:"next"`
	// Left is the number that the goal counts after the move.
	Left int `json:"left"`
	// Round is the round of the decider that evicts the pod, from 1, and Why its reason; missing without a decider.
	Round int    `json:"round,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Stuck is a workload for which no deletion helps.
type Stuck struct {
	cluster.WorkloadRef
	// Pods is the number of its pods that the goal counts.
	Pods int `json:"pods"`
	// Why is the result of the last tried deletion.
	Why string `json:"why"`
}

// Run finds moves after the last step of the result, in a world of its scenario. If the context ends, the answer has the moves found by
// then, and is nil if no deletion was tried; the result then says that it is partial.
func Run(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	course, err := simulation.Continue(w, result, simulation.Options{})
	if err != nil {
		return nil, err
	}
	r := &rebalancing{Options: opts, course: course, answer: &Answer{Goal: opts.Goal, Level: opts.Level, Moves: []Move{}}, failedDeletions: map[cluster.Ref]map[string]string{}, crewsAtStart: course.State().PodsByWorkload()}
	gaps := r.findGaps(course.State())
	r.answer.Before = sumGaps(gaps)
	for len(r.answer.Moves) < opts.Moves && sumGaps(gaps) > 0 {
		next, err := r.makeMove(ctx, gaps)
		if err != nil && (ctx.Err() == nil || r.answer.Tried == 0) {
			return nil, err
		} else if err != nil {
			result.Partial = fmt.Sprintf("interrupted after %s of at most %d, of %s tried", words.Count(len(r.answer.Moves), "move"), opts.Moves, words.Count(r.answer.Tried, "deletion"))
			r.fillAnswer(gaps)
			r.answer.More, r.answer.Stuck = true, nil // not all pods of these workloads were tried
			return r.answer, err
		}
		if next == nil {
			break
		}
		gaps = next
		if opts.Progress != nil {
			opts.Progress(len(r.answer.Moves), opts.Moves)
		}
	}
	r.fillAnswer(gaps)
	return r.answer, nil
}

// fillAnswer fills the answer with what is left, and why.
func (r *rebalancing) fillAnswer(gaps []gap) {
	a := r.answer
	a.After, a.Steps, a.End = sumGaps(gaps), r.course.Did, r.course.State()
	a.Fewest = len(a.Moves) == a.Before-a.After && r.Goal != Soft
	for _, gap := range gaps {
		why, tried := r.lastReason(gap.workload)
		if !tried {
			a.More = true
			continue
		}
		a.Stuck = append(a.Stuck, Stuck{gap.workload.Workload(), gap.pods, why})
	}
}

// rebalancing is the state of a search for moves.
type rebalancing struct {
	Options
	course          *simulation.Course
	answer          *Answer
	failedDeletions map[cluster.Ref]map[string]string // why a deletion did not help, by workload and node
	crewsAtStart    map[cluster.Ref]cluster.WorkloadPods
}

func sumGaps(gaps []gap) int {
	all := 0
	for _, g := range gaps {
		all += g.pods
	}
	return all
}

// makeMove makes the first move that helps, and returns the remaining gaps; nil if none helps. Deletions of pods that a volume holds in their
// domain are tried only if no other helps: in a cluster of 450 pods with a volume in a zone, they were nine of ten.
func (r *rebalancing) makeMove(ctx context.Context, gaps []gap) ([]gap, error) {
	slices.SortStableFunc(gaps, func(a, b gap) int { return cmp.Or(cmp.Compare(b.pods, a.pods), a.workload.Compare(b.workload)) })
	if r.Goal == Soft { // its rules have keys of their own
		return r.makeMoveAmong(ctx, gaps, func(*v1.Pod) bool { return false })
	}
	held := newHeldPods(r.course.State(), r.Level)
	if next, err := r.makeMoveAmong(ctx, gaps, held.holds); next != nil || err != nil {
		return next, err
	}
	return r.makeMoveAmong(ctx, gaps, func(pod *v1.Pod) bool { return !held.holds(pod) })
}

// makeMoveAmong makes the first move that helps, of a pod for which skips returns false.
func (r *rebalancing) makeMoveAmong(ctx context.Context, gaps []gap, skips func(*v1.Pod) bool) ([]gap, error) {
	left := sumGaps(gaps)
	for _, g := range gaps {
		for _, pod := range g.candidates {
			if r.failedDeletions[g.workload][pod.Spec.NodeName] != "" || skips(pod) {
				continue
			}
			next, why, err := r.tryDeletion(ctx, g.workload, pod, left)
			if err != nil {
				return nil, err
			}
			if next != nil {
				clear(r.failedDeletions) // deletions that did not help may help now
				return next, nil
			}
			if r.failedDeletions[g.workload] == nil {
				r.failedDeletions[g.workload] = map[string]string{}
			}
			r.failedDeletions[g.workload][pod.Spec.NodeName] = why
		}
	}
	return nil, nil
}

// lastReason returns why a deletion of a pod of the workload did not help, and whether any was tried.
func (r *rebalancing) lastReason(workload cluster.Ref) (string, bool) {
	nodes := r.failedDeletions[workload]
	first := ""
	for name := range nodes {
		if first == "" || name < first {
			first = name
		}
	}
	return nodes[first], len(nodes) > 0
}

// tryDeletion deletes the pod. It returns the remaining gaps, or takes the deletion back and says why it is no better.
func (r *rebalancing) tryDeletion(ctx context.Context, workload cluster.Ref, pod *v1.Pod, left int) ([]gap, string, error) {
	before := r.course.State()
	if _, err := node.Evict(before, pod); err != nil {
		return nil, err.Error(), nil
	}
	did := len(r.course.Did)
	name := fmt.Sprintf("move %d: delete %s", did+1, cluster.RefTo(pod).Qualified())
	step, err := r.course.Do(ctx, scenario.Step{Name: name, Delete: &scenario.Delete{Targets: []string{"pod/" + pod.Name}, Namespace: pod.Namespace}})
	if err != nil {
		return nil, "", errors.Join(err, r.course.Rewind(did))
	}
	r.answer.Tried++
	why, newly := "", cluster.NewlyPending(r.crewsAtStart, step.State)
	for _, p := range step.Pending {
		if newly[p.Pod.UID] && why == "" {
			why = fmt.Sprintf("the next pod would stay Pending: %s", p.Message)
		}
	}
	next := r.findGaps(step.State)
	made := world.FindReplacement(before, step.State, workload)
	switch {
	case why != "":
	case made == nil || made.Spec.NodeName == "":
		why = "no pod comes in its place"
	case sumGaps(next) >= left && made.Spec.NodeName == pod.Spec.NodeName:
		why = fmt.Sprintf("the next pod lands on %s again", pod.Spec.NodeName)
	case sumGaps(next) >= left:
		why = fmt.Sprintf("the next pod of that on %s lands on %s, which is no better", pod.Spec.NodeName, made.Spec.NodeName)
	}
	if why != "" {
		return nil, why, r.course.Rewind(did)
	}
	r.answer.Moves = append(r.answer.Moves, Move{PodRef: cluster.NewPodRef(pod, workload), From: pod.Spec.NodeName, To: made.Spec.NodeName, Next: made.Name, Left: sumGaps(next)})
	if next == nil {
		next = []gap{}
	}
	return next, "", nil
}
