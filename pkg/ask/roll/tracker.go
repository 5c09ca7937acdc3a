package roll

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/world"
)

// tracker follows the pods from one state to the next: how often they move, how long they wait, and how many are not ready. It examines
// only pods that changed.
type tracker struct {
	start         *cluster.State
	owner         func(*v1.Pod) cluster.Ref
	pendingBefore map[types.UID]bool
	pendingPlaces map[podPlace]bool

	pods               []*v1.Pod
	trackedPods        map[podKey]*trackedPod
	groupsByController map[types.UID]*controllerGroup
	// unavailable and pending count pods now; the turn's largest numbers are in the sample.
	unavailable, pending int
	turnSample           Sample
	mostPending          int
	waits                []Wait
	delays               []Delay
	worst                *Moment
	worstState           *cluster.State

	turn     int
	draining map[string]bool
}

// podKey distinguishes a pod from the pod that a StatefulSet creates in its place, which has the same name and can have the same UID.
type podKey struct {
	types.UID
	created int64
}

func podKeyOf(pod *v1.Pod) podKey { return podKey{pod.UID, pod.CreationTimestamp.Unix()} }

// podPlace identifies a pod of a workload such that its replacement has the same place, for workloads whose pods have lasting identities.
type podPlace struct {
	workload cluster.Ref
	id       string
}

// trackedPod is a pod that exists.
type trackedPod struct {
	*v1.Pod
	moves     int // the moves of the pods that it replaces
	turn      int // the turn in which it was created
	leaving   bool
	isReady   bool
	isPending bool
}

// controllerGroup has the pods of one controller, or one pod without a controller.
type controllerGroup struct {
	workload            cluster.Ref
	ready, readyAtStart int
	// pending is the number of Pending pods, and pendingAtStart their number at the start, which the roll did not cause.
	pending, pendingAtStart int
	openMoves               []int // for each pod that has left and is not replaced yet, its number of moves with the next one
}

// newlyPending returns how many more pods of the group are Pending than at the start.
func (g *controllerGroup) newlyPending() int { return max(0, g.pending-g.pendingAtStart) }

func newTracker(start *cluster.State) *tracker {
	t := &tracker{
		start: start, owner: start.Owners(), pendingBefore: map[types.UID]bool{}, pendingPlaces: map[podPlace]bool{}, trackedPods: map[podKey]*trackedPod{}, groupsByController: map[types.UID]*controllerGroup{},
	}
	for _, pod := range start.Unscheduled() {
		t.pendingBefore[pod.UID] = true
		if at, lasts := t.placeOf(pod); lasts {
			t.pendingPlaces[at] = true
		}
	}
	t.observe(start)
	for _, g := range t.groupsByController {
		g.readyAtStart, g.pendingAtStart = g.ready, g.pending
	}
	t.unavailable, t.pending, t.mostPending, t.worst, t.worstState = 0, 0, 0, nil, nil
	return t
}

// placeOf returns the pod's place, and whether it lasts when the pod is replaced.
func (t *tracker) placeOf(pod *v1.Pod) (podPlace, bool) {
	of := t.owner(pod)
	id, lasts := cluster.Identity(of, pod)
	return podPlace{of, id}, lasts
}

// beginTurn begins a turn.
func (t *tracker) beginTurn(draining []string) {
	t.turn++
	t.turnSample = Sample{Unavailable: t.unavailable, Pending: t.pending}
	t.draining = map[string]bool{}
	for _, name := range draining {
		t.draining[name] = true
	}
}

// observe updates the counts to the next state.
func (t *tracker) observe(state *cluster.State) {
	var gone, came []*v1.Pod
	there := map[podKey]bool{}
	cluster.VisitChanges(t.pods, state.Pods, func(was, is *v1.Pod, _ int) {
		if is != nil {
			came, there[podKeyOf(is)] = append(came, is), true
		}
		if was != nil && (is == nil || podKeyOf(was) != podKeyOf(is)) {
			gone = append(gone, was)
		}
	})
	t.pods = state.Pods
	for _, pod := range gone {
		if known := t.trackedPods[podKeyOf(pod)]; known != nil && !there[podKeyOf(pod)] {
			t.removePod(known, state)
		}
	}
	for _, pod := range came {
		t.updatePod(pod, state)
	}
	t.turnSample.Unavailable, t.turnSample.Pending = max(t.turnSample.Unavailable, t.unavailable), max(t.turnSample.Pending, t.pending)
	t.mostPending = max(t.mostPending, t.pending)
	if t.unavailable > 0 && (t.worst == nil || t.unavailable > t.worst.Unavailable || t.unavailable == t.worst.Unavailable && t.pending > t.worst.Pending) {
		t.worstState = state
		t.worst = &Moment{Turn: t.turn, Seconds: state.Now.Sub(t.start.Now.Time).Seconds(), Unavailable: t.unavailable, Pending: t.pending, Workloads: t.listLacks()}
	}
}

// belongsToNode reports whether the pod belongs to its node, as a DaemonSet's or a static pod does.
func belongsToNode(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return by != nil && (by.Kind == "DaemonSet" || by.Kind == "Node")
}

// groupOf returns the group of the pod.
func (t *tracker) groupOf(pod *v1.Pod) *controllerGroup {
	key := pod.UID
	if by := metav1.GetControllerOfNoCopy(pod); by != nil {
		key = by.UID
	}
	g := t.groupsByController[key]
	if g == nil {
		g = &controllerGroup{workload: t.owner(pod)}
		t.groupsByController[key] = g
	}
	return g
}

// updatePod updates the counts for a pod that came or changed.
func (t *tracker) updatePod(pod *v1.Pod, state *cluster.State) {
	if belongsToNode(pod) {
		return
	}
	g, known := t.groupOf(pod), t.trackedPods[podKeyOf(pod)]
	if known == nil {
		known = &trackedPod{turn: t.turn}
		if len(g.openMoves) > 0 {
			at := slices.Index(g.openMoves, slices.Max(g.openMoves))
			known.moves = g.openMoves[at]
			g.openMoves = slices.Delete(g.openMoves, at, at+1)
		}
		t.trackedPods[podKeyOf(pod)] = known
	}
	known.Pod = pod
	if pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" && isDisrupted(pod) {
		t.countMove(known, g)
	}
	t.setReady(known, g, cluster.IsActive(pod) && pod.Spec.NodeName != "" && podutil.IsPodReady(pod) && !cluster.RunsOnce(pod))
	at, lasts := t.placeOf(pod)
	t.setPending(known, g, cluster.IsUnscheduled(pod) && pod.DeletionTimestamp == nil && !(lasts && t.pendingPlaces[at]), state)
}

// removePod updates the counts for a pod that is gone.
func (t *tracker) removePod(known *trackedPod, state *cluster.State) {
	g := t.groupOf(known.Pod)
	if known.DeletionTimestamp == nil && !cluster.IsTerminal(known.Pod) && t.draining[known.Spec.NodeName] {
		t.countMove(known, g) // the pod ended at once, without having been Terminating
	}
	t.setReady(known, g, false)
	t.setPending(known, g, false, state)
	delete(t.trackedPods, podKeyOf(known.Pod))
}

// countMove counts the move of a pod, once for each pod.
func (t *tracker) countMove(known *trackedPod, g *controllerGroup) {
	if !known.leaving {
		known.leaving = true
		g.openMoves = append(g.openMoves, known.moves+1)
	}
}

// isDisrupted reports whether the pod ends because of a disruption, and not because it is no longer wanted.
func isDisrupted(pod *v1.Pod) bool {
	_, condition := podutil.GetPodCondition(&pod.Status, v1.DisruptionTarget)
	return condition != nil && condition.Status == v1.ConditionTrue
}

func (t *tracker) setReady(known *trackedPod, g *controllerGroup, ready bool) {
	if known.isReady == ready {
		return
	}
	known.isReady = ready
	before := max(0, g.readyAtStart-g.ready)
	if ready {
		g.ready++
	} else {
		g.ready--
	}
	t.unavailable += max(0, g.readyAtStart-g.ready) - before
}

func (t *tracker) setPending(known *trackedPod, g *controllerGroup, waiting bool, state *cluster.State) {
	if known.isPending == waiting {
		return
	}
	known.isPending = waiting
	before := g.newlyPending()
	if waiting {
		g.pending++
	} else {
		g.pending--
	}
	t.pending += g.newlyPending() - before
	if !waiting && !t.pendingBefore[known.UID] {
		t.recordWait(known, state)
	}
}

// recordWait records how long the pod was Pending.
func (t *tracker) recordWait(known *trackedPod, state *cluster.State) {
	if took := state.Now.Sub(known.CreationTimestamp.Time).Seconds(); took >= 1 {
		t.waits = append(t.waits, Wait{cluster.NewPodRef(known.Pod, t.owner(known.Pod)), took, known.turn})
	}
}

// recordDelay records that a budget refused the eviction of a pod at first.
func (t *tracker) recordDelay(pod world.DelayedPod) {
	name := ""
	for _, pdb := range t.start.BudgetsOf(pod.Pod) {
		name = pdb.Namespace + "/" + pdb.Name
	}
	at := slices.IndexFunc(t.delays, func(d Delay) bool { return d.Budget == name })
	if at < 0 {
		at = len(t.delays)
		t.delays = append(t.delays, Delay{Budget: name})
	}
	d := &t.delays[at]
	d.Pods, d.Seconds = d.Pods+1, max(d.Seconds, pod.For.Seconds())
}

// listLacks returns the workloads that have fewer ready pods than at the start.
func (t *tracker) listLacks() []Lack {
	var all []Lack
	for _, g := range t.groupsByController {
		if g.ready < g.readyAtStart {
			all = append(all, Lack{g.workload.Workload(), g.ready, g.readyAtStart})
		}
	}
	slices.SortFunc(all, func(a, b Lack) int {
		return cmp.Or(cmp.Compare(b.Of-b.Ready, a.Of-a.Ready), cmp.Compare(a.Ready, b.Ready), a.Compare(b.WorkloadRef))
	})
	return all
}

// fillTrackedNumbers fills the answer with the tracked numbers. newly are the pods that are Pending at the end and were not Pending before.
func (t *tracker) fillTrackedNumbers(a *Answer, end *cluster.State, newly map[types.UID]bool) {
	pods := map[int]int{}
	for _, known := range t.trackedPods {
		pods[known.moves]++
		if known.isPending && newly[known.UID] {
			t.recordWait(known, end)
		}
	}
	for _, g := range t.groupsByController {
		for _, moves := range g.openMoves {
			pods[moves]++
		}
		a.NotReplaced += len(g.openMoves)
	}
	delete(pods, 0)
	for moves, n := range pods {
		a.Moves = append(a.Moves, Moves{moves, n})
	}
	slices.SortFunc(a.Moves, func(a, b Moves) int { return cmp.Compare(a.Moves, b.Moves) })
	slices.SortFunc(t.waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Turn, b.Turn), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(t.delays, func(a, b Delay) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Budget, b.Budget))
	})
	a.Waited, a.Delays, a.Worst, a.MostPending = t.waits, t.delays, t.worst, t.mostPending
}
