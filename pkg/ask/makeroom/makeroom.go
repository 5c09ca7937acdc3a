// Package makeroom finds the fewest moves of running pods after which pods that wait have a node.
//
//	the cluster as it is ─ who waits, and where could it go? ─▶ what must leave a node, at least   (asked.go, room.go)
//	sets of pods, the cheapest first ─ step makeRoom ─────────▶ the fewest moves, up to three      (plan.go, search.go)
//	node by node, what frees it most easily ─ step makeRoom ──▶ some moves, if there must be more  (greedy.go)
//
// A move is the eviction of a pod that its budget allows at that moment, and whose replacement gets a node before the next move. Arithmetic
// only says which sets cannot help; the scheduler, the controllers and the budgets of a world decide whether one does.
package makeroom

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Options say for what room is asked, and at which price.
type Options struct {
	// Targets are the workloads and pods for which room is asked; if empty, all pods that wait.
	Targets []cluster.Ref
	// Files are applied before the moves.
	Files []string
	// DeleteEmptyDirData also moves pods with emptyDir volumes, whose data is lost.
	DeleteEmptyDirData bool
	// Tries limits how many sequences of moves are run, and again as many without budgets or with the loss of local data if none of them makes
	// room; 0 is [DefaultTries].
	Tries int
	// Progress, if set, is called with the number of sequences that were tried.
	Progress func(what string, done, total int)
}

// DefaultTries is how many sequences of moves are run.
const DefaultTries = 300

// maxExact is the largest number of moves of which all sequences are tried.
const maxExact = 3

// Answer says which moves make room.
type Answer struct {
	// Workloads are the workloads, or pods without one, that ask for room.
	Workloads []cluster.WorkloadRef `json:"workloads"`
	// Pods is the number of their pods, and Waiting how many of these have no node before the moves.
	Pods    int `json:"pods"`
	Waiting int `json:"waiting"`
	// NotCreated is the number of their pods that the API server refuses to create, for the reason in Refusal. No move changes that.
	NotCreated int    `json:"notCreated,omitempty"`
	Refusal    string `json:"refusal,omitempty"`
	// Made reports whether all of the pods have a node after the moves.
	Made bool `json:"made"`
	// Stages are the moves, in order.
	Stages []Stage `json:"stages,omitempty"`
	// Placed are the pods that waited, with the nodes that they get.
	Placed []Placed `json:"placed,omitempty"`
	// AtLeast is a number of moves below which none make room. Fewest reports that the moves are that many.
	AtLeast int  `json:"atLeast"`
	Fewest  bool `json:"fewest,omitempty"`
	// Impossible reports that no moves make room: no nodes have enough for the pods, even without all pods that may move.
	Impossible bool `json:"impossible,omitempty"`
	// Without has the moves that make room if budgets are ignored, or local data is given up; missing if there are none, or they are not needed.
	Without *Alternative `json:"without,omitempty"`
	// Message is what the scheduler says about the first of the pods that wait.
	Message string `json:"message,omitempty"`
	// Taken are pods that waited before, ask for no room, and get room that moves free.
	Taken []Placed `json:"taken,omitempty"`
	// Obstacles are the nodes that are closest to having room, with what is in the way; only if no moves make room.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
	// Tried is the number of sequences of moves that were run.
	Tried int `json:"tried"`
	// Commands are the moves as commands.
	Commands []string `json:"commands,omitempty"`

	claims []claim.Claim
}

// Stage has moves during which nodes are cordoned, so that no replacement comes back to them.
type Stage struct {
	// Cordoned are the nodes that are cordoned before the moves and uncordoned after them.
	Cordoned []string `json:"cordoned,omitempty"`
	Moves    []Move   `json:"moves"`
}

// Move is a pod that leaves its node, the pod that replaces it, and what makes the move cheap or expensive.
type Move struct {
	world.Move
	Priority int32 `json:"priority"`
	// Age is how long the pod has been there, in seconds.
	Age int64 `json:"age"`
	// Replicas is the number of running pods of its workload.
	Replicas int `json:"replicas"`
	// LosesData reports that the pod has an emptyDir volume, whose data is lost.
	LosesData bool `json:"losesData,omitempty"`
}

// Placed is a pod that waited, and its node.
type Placed struct {
	cluster.PodRef
	Node string `json:"node"`
}

// Alternative are moves that make room at a price that was not allowed.
type Alternative struct {
	// Budgets are the PodDisruptionBudgets that the moves violate, as namespace/name. Data are the pods whose local data is lost.
	Budgets []string `json:"budgets,omitempty"`
	Data    []string `json:"data,omitempty"`
	Stages  []Stage  `json:"stages"`
}

// Obstacle is a node, and why no move makes room there.
type Obstacle struct {
	Node string `json:"node"`
	// Short is what is missing, for the resource of which most is missing; empty if resources are not the reason.
	Short *Short `json:"short,omitempty"`
	// Stays are pods that cannot leave, with the reason.
	Stays []world.BlockedPod `json:"stays,omitempty"`
}

// Short is a resource of which a node has too little.
type Short struct {
	Resource string `json:"resource"`
	// Asked is what one pod asks for, Free what is free, and Movable what pods hold that may move. All are quantities.
	Asked   string `json:"asked"`
	Free    string `json:"free"`
	Movable string `json:"movable"`
}

// Count returns the number of moves in the stages.
func Count(stages []Stage) int {
	n := 0
	for i := range stages {
		n += len(stages[i].Moves)
	}
	return n
}

// Find returns the moves after the last step of the result, in a world of its scenario. If the context ends, Find returns its error and what
// is known by then; the result's Partial then says so.
func Find(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	f := &finder{Options: opts, result: result}
	f.Tries = cmp.Or(opts.Tries, DefaultTries)
	if err := f.begin(ctx, w); err != nil {
		return nil, err
	}
	answer := f.newAnswer()
	if answer.Waiting == 0 || answer.NotCreated > 0 {
		answer.Made = answer.NotCreated == 0
		answer.Fewest = answer.Made
		f.conclude(answer, nil, nil)
		return answer, nil
	}
	made, err := f.search(ctx, answer, f.Tries)
	var with *found
	if err == nil && made == nil {
		answer.Without, with, err = f.searchAlternatives(ctx)
		answer.Obstacles, answer.Taken = f.findObstacles(), f.taken
	}
	if err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		result.Partial = fmt.Sprintf("interrupted after %s of moves", words.Count(f.tried, "sequence"))
		answer.Impossible = false
	}
	f.conclude(answer, made, with)
	return answer, err
}

// newAnswer returns the answer with what is known before any move.
func (f *finder) newAnswer() *Answer {
	answer := &Answer{Waiting: len(f.waiting), Message: f.message}
	seen := map[cluster.WorkloadRef]bool{}
	owner := f.start.Owners()
	for _, pod := range f.start.Pods {
		if !f.asks(pod) || cluster.IsTerminal(pod) {
			continue
		}
		answer.Pods++
		if ref := owner(pod).Workload(); !seen[ref] {
			seen[ref] = true
			answer.Workloads = append(answer.Workloads, ref)
		}
	}
	for _, r := range f.start.Refused {
		if r.OfWorkload() && f.refusedBefore[r.Ref] > 0 && slices.Contains(f.Targets, r.Ref) {
			answer.NotCreated, answer.Refusal = answer.NotCreated+r.Pods, r.Message
			answer.Pods += r.Pods
			if !seen[r.Ref.Workload()] {
				answer.Workloads = append(answer.Workloads, r.Ref.Workload())
			}
		}
	}
	slices.SortFunc(answer.Workloads, cluster.WorkloadRef.Compare)
	return answer
}

// search returns the moves that make room, or nil. It sets the bounds of the answer.
func (f *finder) search(ctx context.Context, answer *Answer, tries int) (*found, error) {
	r := f.newRoom(f.start)
	least, possible := r.leastMoves()
	if !possible {
		answer.Impossible = true
		return nil, nil
	}
	s := &search{finder: f, room: r, limit: f.tried + tries*3/4}
	exact, atLeast, err := s.findFewest(ctx, max(1, least))
	f.stuck = s.stuck
	answer.AtLeast = atLeast
	if err != nil || exact != nil {
		answer.Fewest = exact != nil
		return exact, err
	}
	some, err := f.findSome(ctx, f.tried+tries/4)
	if some != nil {
		answer.Fewest = some.moves() == atLeast
	}
	return some, err
}

// searchAlternatives looks for moves at a price that was not allowed: without budgets, then with local data given up, then both.
func (f *finder) searchAlternatives(ctx context.Context) (*Alternative, *found, error) {
	data := f.DeleteEmptyDirData
	defer func() { f.ignoreBudgets, f.DeleteEmptyDirData = false, data }()
	for _, relaxed := range []struct{ budgets, data bool }{{true, data}, {false, true}, {true, true}} {
		if relaxed.data == data && !relaxed.budgets || relaxed.data && data && relaxed.budgets && f.ignoreBudgets {
			continue
		}
		f.ignoreBudgets, f.DeleteEmptyDirData = relaxed.budgets, relaxed.data
		if !f.relaxes() {
			continue
		}
		stuck := f.stuck
		found, err := f.search(ctx, &Answer{}, f.Tries/3)
		f.stuck = stuck
		if err != nil {
			return nil, nil, err
		}
		if found == nil {
			continue
		}
		a := &Alternative{Stages: f.newStages(found)}
		for _, stage := range a.Stages {
			for _, m := range stage.Moves {
				for _, budget := range m.Budgets {
					if !slices.Contains(a.Budgets, budget) {
						a.Budgets = append(a.Budgets, budget)
					}
				}
				if m.LosesData && !data {
					a.Data = append(a.Data, cluster.Qualify(m.Namespace, m.Name))
				}
			}
		}
		return a, found, nil
	}
	return nil, nil, nil
}

// relaxes reports whether there are pods that may move now, and might not with the options as given.
func (f *finder) relaxes() bool {
	if f.ignoreBudgets {
		return len(f.start.PodDisruptionBudgets) > 0
	}
	return slices.ContainsFunc(f.start.Pods, losesData)
}

func losesData(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil })
}

// newStages returns the moves with what makes them cheap or expensive.
func (f *finder) newStages(found *found) []Stage {
	counts := f.start.PodCounts()
	return list.Map(found.stages, func(did stageDone) Stage {
		stage := Stage{Cordoned: did.cordoned}
		for i, m := range did.moves {
			c := did.pods[i]
			stage.Moves = append(stage.Moves, Move{m, c.priority, int64(c.age / time.Second), counts[c.owner].Running, losesData(c.Pod)})
		}
		return stage
	})
}

// conclude adds the moves, the commands and the claims to the answer; with has the moves of the alternative.
func (f *finder) conclude(answer *Answer, found, with *found) {
	answer.Tried = f.tried
	if found != nil {
		answer.Made = true
		answer.Stages, answer.Placed = f.newStages(found), found.placed
		answer.Commands = f.commands(found)
	}
	answer.claims = f.newClaims(answer, found, with)
}

// step returns the step that moves the pods.
func (f *finder) step(number int, pods []*candidate) scenario.Step {
	return scenario.Step{Name: fmt.Sprintf("make room %d", number), MakeRoom: &scenario.MakeRoom{
		Pods:               list.Map(pods, func(c *candidate) string { return c.Namespace + "/" + c.Name }),
		DeleteEmptyDirData: f.DeleteEmptyDirData, IgnoreBudgets: f.ignoreBudgets,
	}}
}
