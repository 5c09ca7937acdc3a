// Package peak finds what breaks when every HorizontalPodAutoscaler stands at its maximum, and when a failure domain is lost then.
//
//	the cluster as it is ─ step peak ─────────▶ the pods without a node, and the ceiling that binds (tally.go, ceiling.go)
//	the cluster at peak ─ lose each domain ───▶ the same for each loss                              (run.go)
//	a share of the way ─ both again ──────────▶ the curve, and the share that is safe               (safe.go)
//	a change of the input ─ both again ───────▶ the changes that help                               (remedy.go)
//
// A pod has no node if it is Pending and no pod was Pending in its place before, or if it does not exist although its controller wants it:
// the API server refuses it, or its controller waits for another one first.
package peak

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/ask/plan"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Options say which peak is asked about.
type Options struct {
	// Survive are the topology keys of which any one domain may fail at the peak, one at a time. zone=b means only that domain.
	Survive []string
	// Mode says how nodes fail.
	Mode node.FailureMode
	// Peak is the step that is asked about.
	Peak scenario.Peak
	// Depth says how much is found.
	Depth Depth
	// Progress, if set, is called with a description of the current try, the number of tries done, and their total.
	Progress func(what string, done, total int)
}

// Depth says how much of an answer is found.
type Depth int

// All is the whole answer. UpToSafe leaves the remedies out, and UpToLosses also the curve and the safe share.
const (
	All Depth = iota
	UpToSafe
	UpToLosses
)

// Answer says what breaks at the peak.
type Answer struct {
	// Survive are the levels of which any one domain is lost at the peak, and Mode is how its nodes fail.
	Survive []string         `json:"survive,omitempty"`
	Mode    node.FailureMode `json:"mode"`
	// Share is how far the workloads go to their replicas at the peak, from 0 to 1.
	Share float64 `json:"share"`
	// PendingBefore is the number of pods that are Pending before the peak, and StillPending how many Pending pods stand in their place at
	// the peak. These count neither in Short nor in a loss.
	PendingBefore int `json:"pendingBefore,omitempty"`
	StillPending  int `json:"stillPending,omitempty"`
	// Pods is the number of pods that there should be at the peak, and Now the number before. Short is the number of pods that have no node
	// at the peak. NotCreated is how many of them do not exist.
	Now        int `json:"now"`
	Pods       int `json:"pods"`
	Short      int `json:"short"`
	NotCreated int `json:"notCreated,omitempty"`
	// Room is the share of each resource that is free at the peak, from 0 to 1, the scarcest first.
	Room []Room `json:"room"`
	// Losses are the losses of one domain at the peak, the worst first.
	Losses []Loss `json:"losses,omitempty"`
	// Workloads are the workloads that grow.
	Workloads []Workload `json:"workloads,omitempty"`
	// Idle are the HorizontalPodAutoscalers that scale nothing.
	Idle []Idle `json:"idle,omitempty"`
	// CronJobs are the CronJobs that run at the peak. Hour is the beginning of the busiest hour, in UTC; missing if its CronJobs were not asked
	// for, or none is ever due.
	Hour     string            `json:"hour,omitempty"`
	CronJobs []cronjob.CronJob `json:"cronJobs,omitempty"`
	// Starved are the workloads with pods that have no node at the peak or after its worst loss, those with the most such pods first.
	Starved []Starved `json:"starved,omitempty"`
	// Ceilings are what keeps the pods from a node, those that keep the most pods first.
	Ceilings []Ceiling `json:"ceilings,omitempty"`
	// Groups are the node groups of the autoscaler; none without an autoscaler.
	Groups []Group `json:"groups,omitempty"`
	// Curve has the way to the peak in steps of a tenth, the present first.
	Curve []Point `json:"curve,omitempty"`
	// Safe is the largest share of the way at which every pod has a node; missing if not even the present load is safe.
	Safe *Safe `json:"safe,omitempty"`
	// Remedies are the changes that help, each with the result of its run, the best first.
	Remedies []Remedy `json:"remedies,omitempty"`

	claims []claim.Claim
}

// Room is the share of a resource that pods leave free on the nodes that take new pods.
type Room struct {
	Resource string  `json:"resource"`
	Free     float64 `json:"free"`
}

// Loss is the loss of a domain at the peak.
type Loss struct {
	Level  string `json:"level"`
	Domain string `json:"domain"`
	// Short is the number of pods that have no node then, those that have none at the peak among them. NotCreated is how many of them do not
	// exist.
	Short      int `json:"short"`
	NotCreated int `json:"notCreated,omitempty"`
	// Unreplaced is the number of pods that nothing replaces, such as a StatefulSet's on unreachable nodes. They come back with their nodes.
	Unreplaced int    `json:"unreplaced,omitempty"`
	Room       []Room `json:"room"`
}

// Workload is a workload that grows.
type Workload struct {
	cluster.WorkloadRef
	// Autoscaler is the name of its HorizontalPodAutoscaler; missing if only the user gave its replicas.
	Autoscaler string `json:"autoscaler,omitempty"`
	Now        int    `json:"now"`
	// Max is the number of replicas at the end of the way, and Wanted the number at its share.
	Max    int `json:"max"`
	Wanted int `json:"wanted"`
	// Running is the number of pods that run at the peak, and AfterLoss the number after the worst loss.
	Running   int `json:"running"`
	AfterLoss int `json:"afterLoss,omitempty"`
}

// Idle is a HorizontalPodAutoscaler that scales nothing, and why.
type Idle struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Why       string `json:"why"`
}

// Starved is a workload with pods that have no node.
type Starved struct {
	cluster.WorkloadRef
	Priority int32 `json:"priority"`
	// Grows says whether the peak asks for more of its pods.
	Grows bool `json:"grows,omitempty"`
	// Short is the number of its pods that have no node at the peak, and AfterLoss the number after the worst loss. Lost is how many of the
	// pods that run before the peak have no successor at the peak.
	Short     int `json:"short"`
	AfterLoss int `json:"afterLoss,omitempty"`
	Lost      int `json:"lost,omitempty"`
	// Ceiling is what keeps the first of these pods from a node.
	Ceiling string `json:"ceiling"`
	// By are the workloads that preempted its pods, each with the number of pods that it preempted, or, if none did, the growing workloads of
	// a higher priority, each with the number of new pods that got a node first.
	By       []By `json:"by,omitempty"`
	Preempts bool `json:"preempts,omitempty"`

	ref cluster.Ref
}

// By is a workload that took room, with a number of pods.
type By struct {
	cluster.WorkloadRef
	Pods     int   `json:"pods"`
	Priority int32 `json:"priority"`
}

// Group is a node group of the autoscaler.
type Group struct {
	Name string `json:"name"`
	// Now is its number of nodes before the peak, Peak at the peak, and AfterLoss after the worst loss, with the lost nodes.
	Now       int `json:"now"`
	Peak      int `json:"peak"`
	AfterLoss int `json:"afterLoss,omitempty"`
	Max       int `json:"max"`
	// Needed is the number of nodes that the autoscaler gives it if no maximum holds it back; missing if nothing is short.
	Needed int `json:"needed,omitempty"`
}

// Short returns by how many nodes the group ends short.
func (g *Group) Short() int { return max(0, g.Needed-g.Max) }

// Worst returns the loss that leaves the most pods without a node, or nil if none leaves more than the peak itself.
func (a *Answer) Worst() *Loss {
	if len(a.Losses) == 0 || a.Losses[0].Short <= a.Short {
		return nil
	}
	return &a.Losses[0]
}

// Most returns the largest number of pods without a node, at the peak or after one loss.
func (a *Answer) Most() int {
	if worst := a.Worst(); worst != nil {
		return worst.Short
	}
	return a.Short
}

// Tightest returns the scarcest resource at the peak or after the loss that leaves the least of a resource, and that loss; nil for the peak
// itself.
func (a *Answer) Tightest() (Room, *Loss) {
	var room Room
	var at *Loss
	if len(a.Room) > 0 {
		room = a.Room[0]
	}
	for i := range a.Losses {
		if l := &a.Losses[i]; len(l.Room) > 0 && (at == nil && len(a.Room) == 0 || l.Room[0].Free < room.Free) {
			room, at = l.Room[0], l
		}
	}
	return room, at
}

// Find returns what breaks at the peak after the last step of the result, as far as the depth asks. If the context ends, Find returns its error
// and what is known by then, or nil if not even the peak was run; the result's Partial then says so.
func Find(ctx context.Context, base *simulation.Result, opts Options) (*Answer, error) {
	f := newFinder(base, opts)
	defer f.close()
	answer := &Answer{Survive: opts.Survive, Mode: opts.Mode, Share: opts.Peak.Way(), PendingBefore: f.before.pending, Now: f.before.pods}
	targets, idle, err := world.FindPeak(f.before.state, &opts.Peak)
	if err != nil {
		return nil, err
	}
	f.targets = targets
	answer.Idle = list.Map(idle, func(i world.IdleAutoscaler) Idle { return Idle{i.Namespace, i.Name, i.Why} })
	runs, hour, err := world.FindCronJobs(f.before.state, &opts.Peak)
	if err != nil {
		return nil, err
	}
	answer.CronJobs = list.Map(runs, cronjob.Describe)
	if !hour.IsZero() {
		answer.Hour = hour.Format("2006-01-02T15:04Z07:00")
	}
	f.expect(1)
	top, err := f.runPeak(ctx, opts.Peak.Way())
	if err != nil {
		return nil, err
	}
	f.describePeak(answer, top)
	losses, err := f.loseEach(ctx, f.worlds, top, f.domains(top.result))
	losses = list.Where(losses, func(l lost) bool { return l.state != nil })
	f.describeLosses(answer, losses)
	var worst *outcome
	if len(losses) > 0 {
		worst = &losses[0].outcome
	}
	err = cmp.Or(f.describeStarved(context.WithoutCancel(ctx), answer, top, worst), err)
	if err == nil && opts.Depth <= UpToSafe {
		err = f.findSafe(ctx, answer, losses)
	}
	if err == nil && opts.Depth == All && answer.Most() > 0 {
		err = f.findRemedies(ctx, answer, losses)
	}
	if err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		base.Partial = fmt.Sprintf("interrupted after the peak and %s of it were run", words.Count(len(answer.Losses), "loss"))
	}
	return answer, err
}

// describePeak adds what the run of the peak shows.
func (f *finder) describePeak(answer *Answer, top *outcome) {
	answer.Pods, answer.Short, answer.NotCreated, answer.StillPending, answer.Room = top.pods, top.short, top.notCreated, top.stillPending, top.room
	counts := top.state.PodCounts()
	for _, t := range f.targets {
		w := Workload{WorkloadRef: t.Workload(), Now: int(t.Now), Max: int(t.Most), Wanted: int(t.Replicas), Running: f.countRunning(counts, t.Ref)}
		if t.Autoscaler != nil {
			w.Autoscaler = t.Autoscaler.Name
		}
		answer.Workloads = append(answer.Workloads, w)
	}
	if a := f.base.Scenario.Autoscaler; a != nil {
		for i := range a.NodeGroups {
			g := &a.NodeGroups[i]
			answer.Groups = append(answer.Groups, Group{Name: g.Name, Now: countNodes(f.before.state, g), Peak: countNodes(top.state, g), Max: g.Max})
		}
	}
	answer.claims = append(answer.claims, f.claimOutcome(answer.Share, top, nil))
}

// describeLosses adds what the losses show, and sorts them, the worst first.
func (f *finder) describeLosses(answer *Answer, losses []lost) {
	slices.SortStableFunc(losses, func(a, b lost) int { return b.short - a.short })
	for i := range losses {
		l := &losses[i]
		answer.Losses = append(answer.Losses, Loss{Level: l.level, Domain: l.name, Short: l.short, NotCreated: l.notCreated, Unreplaced: l.unreplaced, Room: l.room})
		answer.claims = append(answer.claims, f.claimOutcome(answer.Share, &l.outcome, &l.domain))
	}
	if len(losses) == 0 {
		return
	}
	counts := losses[0].state.PodCounts()
	for i := range answer.Workloads {
		answer.Workloads[i].AfterLoss = f.countRunning(counts, f.targets[i].Ref)
	}
	for i := range answer.Groups {
		answer.Groups[i].AfterLoss = countNodes(losses[0].state, &f.base.Scenario.Autoscaler.NodeGroups[i])
	}
}

// Addition is a number of nodes of a group to add.
type Addition = plan.Addition
