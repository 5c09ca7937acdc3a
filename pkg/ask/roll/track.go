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
	start        *cluster.State
	owner        func(*v1.Pod) cluster.Ref
	waitedBefore map[types.UID]bool
	waitedIn     map[place]bool

	pods   []*v1.Pod
	seen   map[id]*tracked
	groups map[types.UID]*group
	// unavailable and pending count pods now; the turn's largest numbers are in the sample.
	unavailable, pending int
	most                 Sample
	mostPending          int
	waits                []Wait
	delays               []Delay
	worst                *Moment
	worstState           *cluster.State

	turn     int
	draining map[string]bool
}

// id distinguishes a pod from the pod that a StatefulSet creates in its place, which has the same name and can have the same UID.
type id struct {
	types.UID
	created int64
}

func idOf(pod *v1.Pod) id { return id{pod.UID, pod.CreationTimestamp.Unix()} }

// place identifies a pod of a workload such that its replacement has the same place, for workloads whose pods have lasting identities.
type place struct {
	of cluster.Ref
	id string
}

// tracked is a pod that exists.
type tracked struct {
	*v1.Pod
	moves   int // the moves of the pods that it replaces
	turn    int // the turn in which it was created
	leaving bool
	ready   bool
	waiting bool
}

// group has the pods of one controller, or one pod without a controller.
type group struct {
	of           cluster.Ref
	ready, start int
	// pending is the number of Pending pods, and pendingAtStart their number at the start, which the roll did not cause.
	waiting, waited int
	owed            []int // for each pod that has left and is not replaced yet, its number of moves with the next one
}

// newlyPending returns how many more pods of the group are Pending than at the start.
func (g *group) newlyPending() int { return max(0, g.waiting-g.waited) }

func newTracker(start *cluster.State) *tracker {
	t := &tracker{
		start: start, owner: start.Owners(), waitedBefore: map[types.UID]bool{}, waitedIn: map[place]bool{}, seen: map[id]*tracked{}, groups: map[types.UID]*group{},
	}
	for _, pod := range start.Unscheduled() {
		t.waitedBefore[pod.UID] = true
		if at, lasts := t.placeOf(pod); lasts {
			t.waitedIn[at] = true
		}
	}
	t.follow(start)
	for _, g := range t.groups {
		g.start, g.waited = g.ready, g.waiting
	}
	t.unavailable, t.pending, t.mostPending, t.worst, t.worstState = 0, 0, 0, nil, nil
	return t
}

// placeOf returns the pod's place, and whether it lasts when the pod is replaced.
func (t *tracker) placeOf(pod *v1.Pod) (place, bool) {
	of := t.owner(pod)
	id, lasts := cluster.Identity(of, pod)
	return place{of, id}, lasts
}

// begin begins a turn.
func (t *tracker) begin(draining []string) {
	t.turn++
	t.most = Sample{Unavailable: t.unavailable, Pending: t.pending}
	t.draining = map[string]bool{}
	for _, name := range draining {
		t.draining[name] = true
	}
}

// follow updates the counts to the next state.
func (t *tracker) follow(state *cluster.State) {
	var gone, came []*v1.Pod
	there := map[id]bool{}
	cluster.Changes(t.pods, state.Pods, func(was, is *v1.Pod, _ int) {
		if is != nil {
			came, there[idOf(is)] = append(came, is), true
		}
		if was != nil && (is == nil || idOf(was) != idOf(is)) {
			gone = append(gone, was)
		}
	})
	t.pods = state.Pods
	for _, pod := range gone {
		if known := t.seen[idOf(pod)]; known != nil && !there[idOf(pod)] {
			t.left(known, state)
		}
	}
	for _, pod := range came {
		t.is(pod, state)
	}
	t.most.Unavailable, t.most.Pending = max(t.most.Unavailable, t.unavailable), max(t.most.Pending, t.pending)
	t.mostPending = max(t.mostPending, t.pending)
	if t.unavailable > 0 && (t.worst == nil || t.unavailable > t.worst.Unavailable || t.unavailable == t.worst.Unavailable && t.pending > t.worst.Pending) {
		t.worstState = state
		t.worst = &Moment{Turn: t.turn, Seconds: state.Now.Sub(t.start.Now.Time).Seconds(), Unavailable: t.unavailable, Pending: t.pending, Workloads: t.lacks()}
	}
}

// ofNode reports whether the pod belongs to its node, as a DaemonSet's or a static pod does.
func ofNode(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return by != nil && (by.Kind == "DaemonSet" || by.Kind == "Node")
}

// groupOf returns the group of the pod.
func (t *tracker) groupOf(pod *v1.Pod) *group {
	key := pod.UID
	if by := metav1.GetControllerOfNoCopy(pod); by != nil {
		key = by.UID
	}
	g := t.groups[key]
	if g == nil {
		g = &group{of: t.owner(pod)}
		t.groups[key] = g
	}
	return g
}

// is updates the counts for a pod that came or changed.
func (t *tracker) is(pod *v1.Pod, state *cluster.State) {
	if ofNode(pod) {
		return
	}
	g, known := t.groupOf(pod), t.seen[idOf(pod)]
	if known == nil {
		known = &tracked{turn: t.turn}
		if len(g.owed) > 0 {
			at := slices.Index(g.owed, slices.Max(g.owed))
			known.moves = g.owed[at]
			g.owed = slices.Delete(g.owed, at, at+1)
		}
		t.seen[idOf(pod)] = known
	}
	known.Pod = pod
	if pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" && disrupted(pod) {
		t.leaves(known, g)
	}
	t.setReady(known, g, cluster.Active(pod) && pod.Spec.NodeName != "" && podutil.IsPodReady(pod) && !cluster.RunsOnce(pod))
	at, lasts := t.placeOf(pod)
	t.setWaiting(known, g, cluster.Waits(pod) && pod.DeletionTimestamp == nil && !(lasts && t.waitedIn[at]), state)
}

// left updates the counts for a pod that is gone.
func (t *tracker) left(known *tracked, state *cluster.State) {
	g := t.groupOf(known.Pod)
	if known.DeletionTimestamp == nil && !cluster.Terminal(known.Pod) && t.draining[known.Spec.NodeName] {
		t.leaves(known, g) // the pod ended at once, without having been Terminating
	}
	t.setReady(known, g, false)
	t.setWaiting(known, g, false, state)
	delete(t.seen, idOf(known.Pod))
}

// leaves counts the move of a pod, once for each pod.
func (t *tracker) leaves(known *tracked, g *group) {
	if !known.leaving {
		known.leaving = true
		g.owed = append(g.owed, known.moves+1)
	}
}

// disrupted reports whether the pod ends because of a disruption, and not because it is no longer wanted.
func disrupted(pod *v1.Pod) bool {
	_, condition := podutil.GetPodCondition(&pod.Status, v1.DisruptionTarget)
	return condition != nil && condition.Status == v1.ConditionTrue
}

func (t *tracker) setReady(known *tracked, g *group, ready bool) {
	if known.ready == ready {
		return
	}
	known.ready = ready
	before := max(0, g.start-g.ready)
	if ready {
		g.ready++
	} else {
		g.ready--
	}
	t.unavailable += max(0, g.start-g.ready) - before
}

func (t *tracker) setWaiting(known *tracked, g *group, waiting bool, state *cluster.State) {
	if known.waiting == waiting {
		return
	}
	known.waiting = waiting
	before := g.newlyPending()
	if waiting {
		g.waiting++
	} else {
		g.waiting--
	}
	t.pending += g.newlyPending() - before
	if !waiting && !t.waitedBefore[known.UID] {
		t.wait(known, state)
	}
}

// wait records how long the pod was Pending.
func (t *tracker) wait(known *tracked, state *cluster.State) {
	if took := state.Now.Sub(known.CreationTimestamp.Time).Seconds(); took >= 1 {
		t.waits = append(t.waits, Wait{cluster.NewPodRef(known.Pod, t.owner(known.Pod)), took, known.turn})
	}
}

// delay records that a budget refused the eviction of a pod at first.
func (t *tracker) delay(pod world.DelayedPod) {
	name := ""
	for _, pdb := range t.start.Budgets()(pod.Pod) {
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

// lacks returns the workloads that have fewer ready pods than at the start.
func (t *tracker) lacks() []Lack {
	var all []Lack
	for _, g := range t.groups {
		if g.ready < g.start {
			all = append(all, Lack{g.of.Workload(), g.ready, g.start})
		}
	}
	slices.SortFunc(all, func(a, b Lack) int {
		return cmp.Or(cmp.Compare(b.Of-b.Ready, a.Of-a.Ready), cmp.Compare(a.Ready, b.Ready), a.Compare(b.WorkloadRef))
	})
	return all
}

// finish fills the answer with the tracked numbers. newly are the pods that are Pending at the end and were not Pending before.
func (t *tracker) finish(a *Answer, end *cluster.State, newly map[types.UID]bool) {
	pods := map[int]int{}
	for _, known := range t.seen {
		pods[known.moves]++
		if known.waiting && newly[known.UID] {
			t.wait(known, end)
		}
	}
	for _, g := range t.groups {
		for _, moves := range g.owed {
			pods[moves]++
		}
		a.NotReplaced += len(g.owed)
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
