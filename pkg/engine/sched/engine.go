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
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/devices"
	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// Ties determines which node wins among nodes with the same top score, and in which order things happen that happen at the same time.
type Ties struct {
	// Random chooses among the nodes with equal probability, from Seed. It also makes all other choices that a real control plane leaves to
	// chance, except those of Arrivals. Without Random, the first node in upstream's own order wins, as it does most often in a real
	// scheduler.
	Random bool
	// Arrivals draws some orders from Seed: of the workloads of an apply, of the evictions of a drain, of controllers that act at the same
	// time, and of waiting pods that move to the queue together.
	Arrivals bool
	// Seed starts the random sequences.
	Seed uint64
}

// Engine is a kube-scheduler that decides in memory. It is not safe for concurrent use; each goroutine needs its own. Building the first
// engine takes about 30 ms, a later one 3 ms.
type Engine struct {
	// Progress, if set, is called after each attempt with the number of pods in the queue that are done, and the total.
	Progress func(done, total int)
	// Record, if set, is called before each attempt and returns how much of the pod's cycle to record; nil means nothing.
	Record func(pod *v1.Pod) *placement.Depth
	// Choose, if set, breaks every tie: it returns the index of a node in the tie. It is not called if there is a single best node. If it
	// returns an error, Place stops and returns the error.
	Choose func(*Tie) (int, error)

	scheduler         *scheduler.Scheduler
	memo              *memo.Memo // nil: no answers of plugins are cached
	snapshot          *internalcache.Snapshot
	lister            fwk.SharedLister // through which the plugins see nodes and pods: snapshot, or another
	profiles          map[string]*profile
	less              fwk.LessFunc
	percentageToScore int32 // of nodes to score, for profiles that set no percentage; 0: it depends on the number of nodes
	informers         informers.SharedInformerFactory
	waiting           cache.Indexer // the pods without a node that upstream looks up: pods that were tried, and pods with a nominated node
	client            *fake.Clientset
	devices           *devices.Manager
	allocationSteps   int64 // on one node; see maxAllocationSteps
	stop              context.CancelFunc
	ctx               context.Context
	ties              Ties
	random            *rand.Rand // nil: upstream's order
	source            *rand.PCG  // of random

	state       *cluster.State // in the cache and the listers
	bound       map[types.NamespacedName]*v1.Pod
	timed       map[types.NamespacedName]bool // bound pods with start times from the seed
	started     int                           // number of start times given to pods
	decided     map[types.NamespacedName]bool // bound pods that the engine has placed or preempted since the last sync
	boundUnsure bool                          // whether bound may differ from the state's pods in more than the decided ones
	// volumesWritten reports whether the engine has written volumes, claims or capacities into the listers since the last sync.
	volumesWritten   bool
	changes          int         // number of changes so far; a rejection holds until the next change
	plainCycles      int         // number of cycles without a memo
	snapshotStale    bool        // whether the snapshot differs from the cache
	nodesHaveImages  bool        // whether nodes list images; the cache then updates the number of nodes with an image whenever a node changes
	domains          ruleDomains // for the parts of scores
	budgets          budgetIndex // of the state's pods
	lowestPriorities byNode[int64]
	domainVictims    byNode[[]*preemption.DomainVictim] // the pods on each node, as preemption sees them
	podInfos         podInfos

	release       Release
	hasOwnPlugins bool        // whether there are additional plugins
	extenders     []*extender // in the order in which they are called

	// State of the current call of Place.
	victims             []placement.Preemption
	preemptible         map[string]*extenderv1.Victims // the nodes on which preemption helps the current pod; see [preemptionInterface]
	dryRuns             dryRuns
	writtenClaims       []types.NamespacedName // claims, in the order in which the scheduler wrote or deleted them
	tie                 Tie                    // the current tie, without its nodes
	pendingByController map[types.UID]pendingAttempt
	equalPods           equalPods
	startMoved          bool // whether the attempt for a rejected pod changed where the next search begins
	lastUnplaced        unplacedPods
	bareNodes           map[string]fwk.NodeInfo   // nodes without pods; see orderedStatuses
	nominees            map[types.UID]*queueEntry // pods of the queue with a nominated node
	reservedVersions    map[string]uint32         // the version of each nominated node's reservation; nil: to be computed; see [Engine.reservationVersion]
	reservations        map[string]reservation    // by node: its last reservation
	lastReservation     uint32                    // of reservations
	podGroups           *podGroups                // nil: the scheduler ignores pod groups
	groupCycle          *podGroupCycle            // nil outside of a pod group's cycle
	feasibleBuffer      []fwk.NodeInfo            // see search
	rejectedBuffer      []rejection               // see search

	current      *profile        // the current pod's profile
	placeContext context.Context // the context of Place
	stopError    error           // why Place must stop: its caller canceled, an extender that is not ignorable did not answer, or Choose failed
	notes        []string        // on ignorable extenders that did not answer
}

// Tie is a choice among equal nodes that the scheduler is about to make, and the state of the queue at that point.
type Tie struct {
	// Pod is the current pod. Nodes are the nodes with the top score, by name.
	Pod   *v1.Pod
	Nodes []string
	// Placed are the pods that got a node since Place was called, and Preempted the pods that it preempted. Waiting are the pods after the
	// current one in the queue; Refused are the pods to be retried after them. Each list is in order.
	Placed           []placement.Placement
	Preempted        []placement.Preemption
	Waiting, Refused []*v1.Pod
	// Start is the index of the node at which the search for feasible nodes began; see Engine.StartAt.
	Start int
}

// silence turns off kube-scheduler's own logs, which would mix with the answer.
var silence = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// NewEngine builds an engine for the configuration. It also sets the process's release to that of the configuration, which affects how the
// scheduler is built, and what admission accepts from then on.
func NewEngine(config *Config, ties Ties) (*Engine, error) { return engineFor(config, ties, nil) }

// engineFor is [NewEngine], except that the plugins see nodes and pods through the snapshot, if there is one.
func engineFor(config *Config, ties Ties, through *Snapshot) (*Engine, error) {
	silence()
	if err := SetRelease(config.release); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	// NewClientset builds a managed-fields tracker that costs 0.1 s and is not needed here.
	client := fake.NewSimpleClientset()
	e := &Engine{
		snapshot:            internalcache.NewEmptySnapshot(),
		profiles:            map[string]*profile{},
		client:              client,
		informers:           informers.NewSharedInformerFactory(client, 0),
		devices:             devices.NewManager(),
		allocationSteps:     maxAllocationSteps,
		ctx:                 ctx,
		placeContext:        ctx,
		stop:                stop,
		ties:                ties,
		state:               &cluster.State{Now: cluster.Epoch},
		bound:               map[types.NamespacedName]*v1.Pod{},
		timed:               map[types.NamespacedName]bool{},
		decided:             map[types.NamespacedName]bool{},
		pendingByController: map[types.UID]pendingAttempt{},
		bareNodes:           map[string]fwk.NodeInfo{},
		nominees:            map[types.UID]*queueEntry{},
		reservations:        map[string]reservation{},
		podGroups:           newPodGroups(),
		release:             config.release,
		hasOwnPlugins:       len(config.plugins) > 0,
	}
	e.lister = e.snapshot
	if through != nil {
		through.SharedLister, e.lister = e.snapshot, through // plugins ask for pod groups as soon as they are made
	}
	e.waiting = e.informers.Core().V1().Pods().Informer().GetIndexer()
	sortVolumes(e.informers)
	sortCapacities(e.informers)
	captureWrites(e)
	captureClaims(e)
	profiles, err := e.buildProfiles(config)
	if err != nil {
		stop()
		return nil, fmt.Errorf("building kube-scheduler: %w", err)
	}
	for _, profile := range config.api.Profiles {
		real := profiles[profile.SchedulerName]
		if e.memo != nil {
			real = e.memo.Framework(real, e.reservationVersion)
		}
		p := newProfile(real, e, profile)
		p.attachPlugins()
		e.profiles[profile.SchedulerName], e.scheduler.Profiles[profile.SchedulerName] = p, p
	}
	e.less = profiles[config.api.Profiles[0].SchedulerName].QueueSortFunc()
	e.Reset()
	return e, nil
}

// Close releases the engine's resources.
func (e *Engine) Close() { e.stop() }

// Place schedules the pods on the cluster in the given state, until none of the remaining pods can be placed. The state must contain the
// pods. It returns an error if the scheduler failed; a pod without a node is not an error.
//
// The profile's QueueSort orders the pods; pods of equal priority keep their order. If anything has changed since, a rejected pod is
// retried after the rest of the queue. A real scheduler requeues it when an event could help it, but after a back-off that nearly always
// outlasts the queue. With random ties it may also be retried at once, as happens when the queue is empty at that moment.
func (e *Engine) Place(ctx context.Context, state *cluster.State, pods []*v1.Pod) (*placement.Result, error) {
	e.placeContext = ctx
	if len(state.Pods) == 0 { // as before the first step; the cache keeps the pods of an earlier run, which the next step is likely to add again
		return &placement.Result{}, ctx.Err()
	}
	if err := e.sync(state); err != nil {
		return nil, err
	}
	e.victims, e.writtenClaims, e.startMoved, e.notes = nil, nil, false, nil
	clear(e.pendingByController)
	if pending, holds := e.repeatUnplaced(pods); holds {
		return &placement.Result{Pending: pending}, ctx.Err()
	}
	result := &placement.Result{}
	entries := e.newEntries(e.withMembers(pods))
	if err := e.enqueueNominated(entries); err != nil {
		return nil, err
	}
	queue := e.sortEntries(append(e.groupEntries(entries), e.newEntries(e.resizingPods())...))
	var refused []*queueEntry
	eager := 0.5 // the chance that rejected pods are retried before the queue is empty; only with random ties
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next := queue[0]
		queue = queue[1:]
		if e.Choose != nil {
			e.tie = Tie{Placed: result.Placed, Waiting: podsOf(queue), Refused: podsOf(refused), Start: e.startNode()}
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
			queue = append(e.sortEntries(refused), queue...)
			refused = nil
		}
		if len(queue) == 0 && slices.ContainsFunc(refused, func(r *queueEntry) bool { return r.changes != e.changes }) {
			queue, refused = e.sortEntries(refused), nil
		}
	}
	if err := ctx.Err(); err != nil { // the last search for devices may have ended early
		return nil, err
	}
	for _, r := range expandGroups(e.sortEntries(refused)) {
		if r.pending.Untried != "" {
			r.pending.Message = scheduledMessage(r.Pod)
		}
		result.Pending = append(result.Pending, r.pending)
		if r.Pod.Status.NominatedNodeName != r.original.Status.NominatedNodeName {
			result.Nominated = append(result.Nominated, r.Pod)
		}
	}
	result.Preempted, result.PodGroups, result.Notes = e.victims, e.changedPodGroups(), e.notes
	e.takeClaims(result)
	e.lastUnplaced = e.collectUnplaced(pods, result.Pending)
	return result, nil
}

// schedule does what scheduleOne does: it tries to place one pod, if necessary by preemption, and reports whether it did. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go
func (e *Engine) schedule(next *queueEntry, result *placement.Result) (bool, error) {
	if next.group != nil {
		return e.schedulePodGroup(next, result)
	}
	profile, found := e.profiles[next.Pod.Spec.SchedulerName]
	if !found {
		// A real scheduler ignores the pod silently.
		e.recordPending(next, placement.Pending{Pod: next.Pod, Untried: placement.LeftTo + strconv.Quote(next.Pod.Spec.SchedulerName)})
		return false, nil
	}
	if waitsForResize(next.Pod) {
		return true, e.preemptForResize(next, result)
	}
	if pending, found := e.pendingOfEqualPod(next.Pod); found {
		next.pending, next.changes = pending, e.changes
		return false, nil
	}
	if held := e.checkGates(profile, next.Pod); held != nil {
		e.recordPending(next, *held)
		return false, nil
	}
	pending, still, err := e.pendingOfTemplate(profile, next)
	if err != nil {
		return false, err
	}
	if still {
		e.recordPending(next, pending)
		return false, nil
	}
	for {
		start := e.startNode()
		placed, fit, err := e.runCycle(profile, next, result)
		if err != nil || placed {
			return placed, err
		}
		e.startMoved = e.startMoved || e.startNode() != start
		victims, written, changes := len(e.victims), len(e.writtenClaims), e.changes
		pending, err := e.preempt(profile, next, fit)
		if err != nil {
			return false, err
		}
		if len(e.victims) == victims {
			e.recordPending(next, pending)
			if fit.mayRetry {
				next.changes = -1
			}
			if len(e.writtenClaims) > written {
				next.changes = changes // a claim was deallocated for this pod, so it may try again
			}
			return false, nil
		}
		e.countChange()
		if e.state.TerminationSeconds > 0 { // the node is nominated for the pod, which is retried after the victims have ended
			e.recordPending(next, pending)
			return false, nil
		}
	}
}

// interrupted returns an error status once the caller of Place has canceled. It is called before each node, since a single pod may take
// minutes: a filter that allocates devices is slow, and there are thousands of nodes.
func (e *Engine) interrupted() *fwk.Status {
	select {
	case <-e.placeContext.Done():
		e.stopError = e.placeContext.Err()
		return fwk.AsStatus(e.stopError)
	default:
		return nil
	}
}

// checkGates returns why the first PreEnqueue plugin that rejects the pod keeps it out of the queue, or nil if none does. The pod's status shows
// only scheduling gates; the messages of other plugins go to the scheduler's log.
func (e *Engine) checkGates(profile *profile, pod *v1.Pod) *placement.Pending {
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

// scheduledMessage returns the message of the pod's PodScheduled condition, or "" if there is none. A pod from a dump may have one.
func scheduledMessage(pod *v1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}

// countChange counts an event that can make room for a rejected pod: a placement, a preemption, or a cleared nomination.
func (e *Engine) countChange() {
	e.changes++
}

// runCycle runs one scheduling cycle for one pod. It reports whether the pod got a node, and otherwise returns the rejection.
func (e *Engine) runCycle(profile *profile, next *queueEntry, result *placement.Result) (bool, *failedCycle, error) {
	found, failed, err := e.findNode(profile, next, result)
	if failed != nil || err != nil {
		return false, failed, err
	}
	bound := cluster.BindPod(next.Pod, found.chosen.SuggestedHost, e.startTime())
	placed := profile.newPlacement(bound, found.chosen, profile.finishCycle(next.PodInfo, found.chosen.SuggestedHost)) // before the scheduler sees the pod on its node
	refused, err := e.bindPod(profile, next, found.state, placed, result)
	return refused == nil && err == nil, refused, err
}

// foundNode is the node that the plugins choose for a pod, and the state of the cycle.
type foundNode struct {
	chosen scheduler.ScheduleResult
	state  fwk.CycleState
}

// findNode runs the plugins up to the choice of a node.
func (e *Engine) findNode(profile *profile, next *queueEntry, result *placement.Result) (*foundNode, *failedCycle, error) {
	if err := e.waiting.Update(next.Pod); err != nil {
		return nil, nil, err
	}
	if err := e.updateSnapshot(); err != nil {
		return nil, nil, err
	}
	if e.memo == nil {
		e.plainCycles++
	}
	profile.beginCycle()
	e.startRecorder(profile, next.Pod, result)
	state := framework.NewCycleState()
	chosen, err := e.schedulePod(profile, state, next.QueuedPodInfo)
	var fit *framework.FitError
	switch {
	case errors.As(err, &fit):
		return nil, &failedCycle{state: state, fit: fit}, nil
	case errors.Is(err, scheduler.ErrNoNodesAvailable):
		return nil, &failedCycle{state: state, message: err.Error()}, nil
	case e.stopError != nil:
		return nil, nil, e.stopError
	case err != nil:
		return nil, &failedCycle{state: state, message: err.Error(), failed: true}, nil
	}
	return &foundNode{chosen, state}, nil, nil
}

// bindPod reserves the pod's node, and binds the pod, its claims and its volumes. If a plugin rejects the node at this point, bind returns the
// refusal.
func (e *Engine) bindPod(profile *profile, next *queueEntry, state fwk.CycleState, placed placement.Placement, result *placement.Result) (*failedCycle, error) {
	bound := placed.Pod
	if on, err := e.snapshot.NodeInfos().Get(placed.Node); err == nil {
		cluster.CopyTopologyLabels(bound, on.Node())
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRANodeAllocatableResources) { // as assume in schedule_one.go, and PreBind, which patches the pod
		bound.Status.NodeAllocatableResourceClaimStatuses = dynamicresources.ExtractPodNodeAllocatableResourceClaimStatus(klog.FromContext(e.ctx), state, placed.Node)
	}
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
		e.changes = changes // the remaining writes help no other pod
		return &failedCycle{state: state, message: status.Message(), failed: !status.IsRejected()}, err
	}
	if refused, err := e.bindVolumes(profile, bound, &result.Volumes); refused != nil || err != nil {
		profile.RunReservePluginsUnreserve(e.ctx, state, bound, placed.Node)
		return refused, errors.Join(err, e.removePod(bound))
	}
	if err := e.dequeue(next.Pod); err != nil {
		return nil, err
	}
	e.bound[cluster.NameOf(bound)], e.decided[cluster.NameOf(bound)] = bound, true
	if err := e.assumeInSnapshot(next.PodInfo, bound); err != nil {
		return nil, err
	}
	e.countChange()
	placed.Cycle.MarkChosen(placed.Node)
	result.Placed = append(result.Placed, placed)
	return nil, nil
}

// reserveRefused returns the refusal of a pod that a Reserve plugin rejected or failed on.
func reserveRefused(state fwk.CycleState, bound *v1.Pod, status *fwk.Status) *failedCycle {
	if !status.IsRejected() {
		return &failedCycle{state: state, message: status.Message(), failed: true}
	}
	fit := framework.FitError{Pod: bound, NumAllNodes: 1, Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}}
	fit.Diagnosis.NodeToStatus.Set(bound.Spec.NodeName, status)
	return &failedCycle{state: state, message: fit.Error()}
}

// startTime returns the start time of the next pod. Preemption spares the pods that started first, so two pods should never have equal
// times: each pod gets its own nanosecond within the second of logical time, after the pods that a state starts in this second. In a real
// cluster, start times are whole seconds, and chance decides among equal ones; with random ties, it does so here.
func (e *Engine) startTime() time.Time {
	e.started++
	offset := time.Duration(len(e.state.Pods) + e.started)
	if e.random != nil {
		offset = time.Duration(1 + e.random.Int64N(int64(time.Second)-1))
	}
	return e.state.Now.Add(offset)
}
