package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/devices"
	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Ties says who wins among nodes with the same top score.
type Ties struct {
	// Random chooses evenly among them, and among all other equals that a real control plane picks by chance, from Seed. Otherwise the
	// first node in upstream's own order wins, which is what a real scheduler does most often.
	Random bool
	Seed   uint64
}

// Engine is a kube-scheduler that decides in memory. It is not safe for concurrent use; parallel questions use one engine each. Building
// the first takes about 30 ms, later ones 3 ms.
type Engine struct {
	// Progress, if set, is called after each attempt with the number of pods of the queue that are done, and their total.
	Progress func(done, total int)
	// Record, if set, is called before each attempt and returns how much of the pod's cycle to keep; nil keeps nothing.
	Record func(pod *v1.Pod) *placement.Depth
	// Choose, if set, breaks every tie instead: it returns the index of a node in the tie. Place returns its error and stops. It is not
	// called if there is a single best node.
	Choose func(*Tie) (int, error)

	scheduler *scheduler.Scheduler
	memo      *memo.Memo // nil: the plugins are asked everything anew
	snapshot  *internalcache.Snapshot
	profiles  map[string]*profile
	less      fwk.LessFunc
	percent   int32 // of nodes to find, for profiles that do not say; 0: by the number of nodes
	informers informers.SharedInformerFactory
	waiting   cache.Indexer // the pods without a node that the scheduler must find: those that were tried, and those with a nominated node
	client    *fake.Clientset
	devices   *devices.Manager
	stop      context.CancelFunc
	ctx       context.Context
	ties      Ties
	random    *rand.Rand // nil: upstream's order
	source    *rand.PCG  // the source of random

	state   *cluster.State // what the cache and the listers hold
	bound   map[types.NamespacedName]*v1.Pod
	timed   map[types.NamespacedName]bool // bound pods whose start times derive from the seed
	started int                           // number of pods that were given a start time
	decided map[types.NamespacedName]bool // bound pods that the engine has placed or preempted since
	unsure  bool                          // whether the bound pods may be others than the state's and the decided ones
	changed bool                          // whether placements and preemptions have changed the state since
	changes int                           // number of changes so far: a rejection holds until the next
	plain   int                           // number of cycles without a memo
	stale   bool                          // whether the snapshot differs from the cache
	images  bool                          // whether nodes list images: how many have one is brought up to date for each node when it is updated
	domains domains                       // of the nodes, for the parts of scores

	own       bool        // whether there are plugins that kube-scheduler does not have
	extenders []*extender // in the order in which they are called

	// Of the current attempt.
	victims  []placement.Preemption
	written  []types.NamespacedName // claims, in the order in which the scheduler wrote or deleted them
	under    Tie                    // the current tie, without its nodes
	attempts map[types.UID]attempt
	moved    bool // whether a pod that was rejected moved on where the next search begins
	last     rejected
	bare     map[string]fwk.NodeInfo // nodes without pods; see orderedStatuses
	nominees map[types.UID]*entry    // pods of the queue with a nominated node
	gangs    *podGroups              // nil: pods are placed singly, whatever group they name
	cycle    *podGroupCycle          // nil: none is under way
	feasible []fwk.NodeInfo          // see search
	refused  []rejection             // see search

	current *profile // of the current pod
	stopped error    // what ends the run: an extender did not answer that must, or Choose failed
	notes   []string // what extenders did not answer since Place was called
}

// Tie is a choice among equals that the scheduler is about to make, and the state of the queue at that point.
type Tie struct {
	// Pod is the current pod. Nodes are the nodes with the top score, by name.
	Pod   *v1.Pod
	Nodes []string
	// Placed are the pods that got a node since Place was called, Preempted those that had to go, Waiting those after the current one, and
	// Refused those that will be retried after these, each in order.
	Placed           []placement.Placement
	Preempted        []placement.Preemption
	Waiting, Refused []*v1.Pod
	// StartAt is the index of the node at which the search for feasible nodes began; see Engine.StartAt.
	StartAt int
}

// silence turns off kube-scheduler's own logs, which would mix with the answer.
var silence = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// NewEngine builds an engine for the configuration, and switches the process to its feature gates: they decide how the scheduler is built,
// and what is admitted from then on.
func NewEngine(config *Config, ties Ties) (*Engine, error) {
	silence()
	if err := SetFeatureGates(config.gates); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	// NewClientset builds a managed-fields tracker that costs 0.1 s and is not needed here.
	client := fake.NewSimpleClientset()
	e := &Engine{
		snapshot:  internalcache.NewEmptySnapshot(),
		profiles:  map[string]*profile{},
		client:    client,
		informers: informers.NewSharedInformerFactory(client, 0),
		devices:   devices.NewManager(),
		ctx:       ctx,
		stop:      stop,
		ties:      ties,
		state:     &cluster.State{Now: cluster.Epoch},
		bound:     map[types.NamespacedName]*v1.Pod{},
		timed:     map[types.NamespacedName]bool{},
		decided:   map[types.NamespacedName]bool{},
		attempts:  map[types.UID]attempt{},
		bare:      map[string]fwk.NodeInfo{},
		nominees:  map[types.UID]*entry{},
		gangs:     newPodGroups(),
		own:       len(config.plugins) > 0,
	}
	e.waiting = e.informers.Core().V1().Pods().Informer().GetIndexer()
	sortVolumes(e.informers)
	sortCapacities(e.informers)
	captureWrites(e)
	captureClaims(e)
	profiles, err := e.build(config)
	if err != nil {
		stop()
		return nil, fmt.Errorf("building kube-scheduler: %w", err)
	}
	for _, profile := range config.api.Profiles {
		real := profiles[profile.SchedulerName]
		if e.memo != nil {
			real = e.memo.Framework(real, func() bool { return len(e.nominees) > 0 })
		}
		p := newProfile(real, e, profile)
		p.attach()
		e.profiles[profile.SchedulerName], e.scheduler.Profiles[profile.SchedulerName] = p, p
	}
	e.less = profiles[config.api.Profiles[0].SchedulerName].QueueSortFunc()
	e.Reset()
	return e, nil
}

// Close releases the engine's resources.
func (e *Engine) Close() { e.stop() }

// Place offers the pods to the scheduler, on the cluster in the given state, until none of the remaining ones can be placed. The state must
// contain the pods. It returns an error if the scheduler failed; a pod without a node is not an error.
//
// The order is that of the profile's QueueSort, with pods of equal priority in the order given. A rejected pod is retried after the rest of
// the queue if anything has changed since: a real scheduler requeues it when an event could help it, but behind a back-off that nearly
// always outlasts the queue. With random ties it may also be retried at once, as happens when the queue is empty at that moment.
func (e *Engine) Place(ctx context.Context, state *cluster.State, pods []*v1.Pod) (*placement.Result, error) {
	if err := e.sync(state); err != nil {
		return nil, err
	}
	e.victims, e.written, e.moved, e.notes = nil, nil, false, nil
	clear(e.attempts)
	if pending, holds := e.again(pods); holds {
		return &placement.Result{Pending: pending}, ctx.Err()
	}
	result := &placement.Result{}
	entries := e.entries(e.withMembers(pods))
	if err := e.reserve(entries); err != nil {
		return nil, err
	}
	queue := e.sorted(e.grouped(entries))
	var refused []*entry
	eager := 0.5 // chance that rejected pods are retried before the queue is empty; only with random ties
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next := queue[0]
		queue = queue[1:]
		if e.Choose != nil {
			e.under = Tie{Placed: result.Placed, Waiting: podsOf(queue), Refused: podsOf(refused), StartAt: e.startNode()}
		}
		placed, err := e.schedule(next, result)
		if e.Progress != nil {
			e.Progress(len(result.Placed)+len(refused), len(pods))
		}
		if err != nil {
			return nil, fmt.Errorf("scheduling %s: %w", next, err)
		}
		if !placed {
			refused = append(refused, next)
		} else if e.random != nil && len(refused) > 0 && e.random.Float64() < eager {
			// The chance halves each time, so that a long list of hopeless pods is not retried after every placement.
			eager /= 2
			queue = append(e.sorted(refused), queue...)
			refused = nil
		}
		if len(queue) == 0 && slices.ContainsFunc(refused, func(r *entry) bool { return r.changes != e.changes }) {
			queue, refused = e.sorted(refused), nil
		}
	}
	for _, r := range eachPod(e.sorted(refused)) {
		if r.pending.Untried != "" {
			r.pending.Message = said(r.Pod)
		}
		result.Pending = append(result.Pending, r.pending)
		if r.Pod.Status.NominatedNodeName != r.given.Status.NominatedNodeName {
			result.Nominated = append(result.Nominated, r.Pod)
		}
	}
	result.Preempted, result.PodGroups, result.Notes = e.victims, e.changedPodGroups(), e.notes
	e.takeClaims(result)
	e.last = e.rejected(pods, result.Pending)
	return result, nil
}

// schedule is scheduleOne: it tries to place one pod, if necessary by preemption, and reports whether it did. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go
func (e *Engine) schedule(next *entry, result *placement.Result) (bool, error) {
	if next.group != nil {
		return e.schedulePodGroup(next, result)
	}
	profile, found := e.profiles[next.Pod.Spec.SchedulerName]
	if !found {
		// A real scheduler ignores the pod silently.
		e.refuse(next, placement.Pending{Pod: next.Pod, Untried: placement.LeftTo + strconv.Quote(next.Pod.Spec.SchedulerName)})
		return false, nil
	}
	if pending, found := e.refusedAlike(next.Pod); found {
		next.pending, next.changes = pending, e.changes
		return false, nil
	}
	if held := e.held(profile, next.Pod); held != nil {
		e.refuse(next, *held)
		return false, nil
	}
	for {
		start := e.startNode()
		placed, fit, err := e.attempt(profile, next, result)
		if err != nil || placed {
			return placed, err
		}
		e.moved = e.moved || e.startNode() != start
		victims, written, changes := len(e.victims), len(e.written), e.changes
		pending, err := e.preempt(profile, next, fit)
		if err != nil {
			return false, err
		}
		if len(e.victims) == victims {
			e.refuse(next, pending)
			if len(e.written) > written {
				next.changes = changes // the claim that was taken back for this pod lets it try again
			}
			return false, nil
		}
		e.change()
		if e.state.TerminationSeconds > 0 { // the room is reserved for the pod, which is retried once the victims have ended
			e.refuse(next, pending)
			return false, nil
		}
	}
}

// held returns why the first PreEnqueue plugin keeps the pod out of the queue, or nil if none does. Only of scheduling gates does the pod's
// status tell; what another plugin says goes to the scheduler's log.
func (e *Engine) held(profile *profile, pod *v1.Pod) *placement.Pending {
	for _, plugin := range profile.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(e.ctx, pod); !status.IsSuccess() {
			if plugin.Name() == names.SchedulingGates {
				return &placement.Pending{Pod: pod, Message: placement.Gated}
			}
			return &placement.Pending{Pod: pod, Untried: status.Message()}
		}
	}
	return nil
}

// said returns the message of the pod's PodScheduled condition, as a cluster dump may have it; "" if there is none.
func said(pod *v1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

// change counts an event that can make room for a rejected pod: a placement, a preemption, a cleared nomination.
func (e *Engine) change() {
	e.changed = true
	e.changes++
}

// attempt is one scheduling cycle. It returns the rejection, if any.
func (e *Engine) attempt(profile *profile, next *entry, result *placement.Result) (bool, *refusal, error) {
	if err := e.waiting.Update(next.Pod); err != nil {
		return false, nil, err
	}
	if err := e.update(); err != nil {
		return false, nil, err
	}
	if e.memo == nil {
		e.plain++
	}
	profile.begin()
	e.record(profile, next.Pod, result)
	state := framework.NewCycleState()
	chosen, err := e.schedulePod(profile, state, next.QueuedPodInfo)
	var fit *framework.FitError
	switch {
	case errors.As(err, &fit):
		return false, &refusal{state: state, fit: fit}, nil
	case errors.Is(err, scheduler.ErrNoNodesAvailable):
		return false, &refusal{state: state, message: err.Error()}, nil
	case e.stopped != nil:
		return false, nil, e.stopped
	case err != nil:
		return false, &refusal{state: state, message: err.Error(), failed: true}, nil
	}
	bound := cluster.Bind(next.Pod, chosen.SuggestedHost, e.startTime())
	placed := profile.placement(bound, chosen, profile.cycle(next.PodInfo, chosen.SuggestedHost)) // before the scheduler sees the pod on its node
	refused, err := e.bind(profile, next, state, placed, result)
	return refused == nil && err == nil, refused, err
}

// bind reserves the pod's node, and binds the pod, its claims and its volumes. It returns why the node was refused after all, if it was.
func (e *Engine) bind(profile *profile, next *entry, state fwk.CycleState, placed placement.Placement, result *placement.Result) (*refusal, error) {
	bound := placed.Pod
	if err := e.addPod(bound); err != nil {
		return nil, err
	}
	if status := profile.RunReservePluginsReserve(e.ctx, state, bound, placed.Node); !status.IsSuccess() {
		profile.RunReservePluginsUnreserve(e.ctx, state, bound, placed.Node)
		return reserveRefused(state, bound, status), e.removePod(bound)
	}
	changes := e.changes
	if status := e.bindClaims(profile, state, bound); !status.IsSuccess() {
		profile.RunReservePluginsUnreserve(e.ctx, state, bound, placed.Node)
		err := e.removePod(bound)
		e.changes = changes // what is left written helps no other pod
		return &refusal{state: state, message: status.Message(), failed: !status.IsRejected()}, err
	}
	if err := e.bindVolumes(profile, bound, &result.Volumes); err != nil {
		return nil, err
	}
	if err := e.forget(next.Pod); err != nil {
		return nil, err
	}
	e.bound[cluster.NameOf(bound)], e.decided[cluster.NameOf(bound)] = bound, true
	if err := e.assume(next.PodInfo, bound); err != nil {
		return nil, err
	}
	e.change()
	placed.Cycle.Choose(placed.Node)
	result.Placed = append(result.Placed, placed)
	return nil, nil
}

// reserveRefused returns the refusal of a pod for which a Reserve plugin did not succeed.
func reserveRefused(state fwk.CycleState, bound *v1.Pod, status *fwk.Status) *refusal {
	if !status.IsRejected() {
		return &refusal{state: state, message: status.Message(), failed: true}
	}
	fit := framework.FitError{Pod: bound, NumAllNodes: 1, Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}}
	fit.Diagnosis.NodeToStatus.Set(bound.Spec.NodeName, status)
	return &refusal{state: state, message: fit.Error()}
}

// startTime returns the next start time. Within one second of logical time each pod gets its own, so that preemption, which spares the pods
// that started first, never meets equals: they come after those that a state gives only this second of. In a real cluster start times have whole seconds and chance picks among equals; with random ties
// it does so here, too.
func (e *Engine) startTime() time.Time {
	e.started++
	offset := time.Duration(len(e.state.Pods) + e.started)
	if e.random != nil {
		offset = time.Duration(1 + e.random.Int64N(int64(time.Second)-1))
	}
	return e.state.Now.Add(offset)
}
