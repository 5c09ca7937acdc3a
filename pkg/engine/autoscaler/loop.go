package autoscaler

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// Autoscaler is a Cluster Autoscaler. It only decides: its caller carries the decisions out. It is not safe for concurrent use.
type Autoscaler struct {
	// Ties say which choices are random; see [New].
	Ties sched.Ties

	options  Options
	snapshot *sched.Snapshot
	memory   memory
}

// memory is what a loop remembers for the next.
type memory struct {
	loops     uint64
	templates map[string]*template // of groups that have had a ready node, by group
	requests  map[string]scaleUpRequest
	drifts    map[string]drift
	podHints  hints // where pods without a node fitted
	moveHints hints // where pods of removed nodes fitted
	last      int   // index of the node at which the last search ended; see sched.Snapshot

	unneeded                map[string]time.Time // since when a node has not been needed
	unremovable             map[string]time.Time // until when the autoscaler does not look at a node again
	lastScaleUp, lastDelete time.Time
	lastLook                time.Time     // when the last loop looked for unneeded nodes
	shortestInterval        time.Duration // shortest time between two such loops
	conditions              map[string]condition
}

// New returns an autoscaler. The plugins of the scheduler configuration's first profile say whether pods fit. With random ties, the seed
// decides the choices that the autoscaler leaves to chance or to the order of a map; otherwise it takes the first.
func New(config *sched.Config, options Options, ties sched.Ties) (*Autoscaler, error) {
	snapshot, err := sched.NewSnapshot(config)
	if err != nil {
		return nil, err
	}
	a := &Autoscaler{options: options, Ties: ties, snapshot: snapshot}
	a.Resume(Mark{})
	return a, nil
}

// Close releases the autoscaler's resources.
func (a *Autoscaler) Close() { a.snapshot.Close() }

// Mark is an autoscaler's memory. The zero Mark is the memory of a new one.
type Mark struct{ memory *memory }

// Mark returns the autoscaler's memory.
func (a *Autoscaler) Mark() Mark {
	kept := a.memory.clone()
	return Mark{&kept}
}

// Resume sets the autoscaler's memory to that of the mark.
func (a *Autoscaler) Resume(to Mark) {
	if to.memory == nil {
		to.memory = &memory{shortestInterval: max(a.options.UnneededTime, 1)}
	}
	a.memory = to.memory.clone()
}

func (m memory) clone() memory {
	m.templates, m.requests, m.drifts = cloned(m.templates), cloned(m.requests), cloned(m.drifts)
	m.unneeded, m.unremovable, m.conditions = cloned(m.unneeded), cloned(m.unremovable), cloned(m.conditions)
	m.podHints, m.moveHints = m.podHints.clone(), m.moveHints.clone()
	return m
}

func cloned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// Decision is what one loop decides.
type Decision struct {
	ScaleUp Result
	// Fit has the node of each pod that fits without a new one. Help are the pods that ask for a node. Alike has the same pods in groups
	// that the autoscaler considers equal.
	Fit   map[*v1.Pod]string
	Help  []*v1.Pod
	Alike [][]*v1.Pod
	// Options are the ways to help, in the order of the groups. Left are the groups that the expanders leave, and Picked is the group that
	// grows.
	Options []Option
	Left    []string
	Picked  string
	// Plan are the groups that grow. Targets are the targets of all groups after that, before nodes are deleted.
	Plan    []Resize
	Targets map[string]int
	// Helped are the pods for which the groups grow. Await are the pods that another group could help later. Refused are the pods that no
	// group can help.
	Helped, Await []*v1.Pod
	Refused       []RefusedPod

	ScaleDown   Result
	Candidates  []string // in the order of the autoscaler's search
	Utilization map[string]Utilization
	Unneeded    []string
	Unremovable map[string]Unremovable
	Removable   []Removal
	Deleted     []Removal

	Events []Event
	// Status returns the text of the ConfigMap cluster-autoscaler-status.
	Status func() string
	// Again is when another loop may decide otherwise although nothing else has changed; the zero time means that none would.
	Again time.Time
}

// scanInterval is the time from one loop to the next: --scan-interval.
const scanInterval = 10 * time.Second

// Result is how a scale-up or a scale-down ended.
type Result string

// These are the results, in the autoscaler's words.
const (
	ScaleUpNotNeeded           Result = "ScaleUpNotNeeded"
	ScaleUpSuccessful          Result = "ScaleUpSuccessful"
	ScaleUpNoOptions           Result = "ScaleUpNoOptionsAvailable"
	ScaleUpInCooldown          Result = "ScaleUpInCooldown"
	ScaleUpLimited             Result = "ScaleUpLimitedByMaxNodesTotal"
	ScaleUpError               Result = "ScaleUpError"
	ScaleUpNotTried            Result = "ScaleUpNotTried"
	ScaleDownNotTried          Result = "ScaleDownNotTried"
	ScaleDownInCooldown        Result = "ScaleDownInCooldown"
	ScaleDownNoCandidates      Result = "ScaleDownNoCandidates"
	ScaleDownNoNodeDeleted     Result = "ScaleDownNoNodeDeleted"
	ScaleDownNodeDeleteStarted Result = "ScaleDownNodeDeleteStarted"
)

// Resize is a group's new target.
type Resize struct {
	Group    string
	From, To int
	Max      int
}

// RefusedPod is a pod that no group can help. Rejected has, by group, the filters' reasons against a new node. Skipped has, by group, why the
// group was not tried.
type RefusedPod struct {
	Pod               *v1.Pod
	Rejected, Skipped map[string][]string
}

// loop is one pass of the autoscaler's main loop.
type loop struct {
	*Autoscaler
	state          *cluster.State
	now            time.Time
	nodes          []*v1.Node // registered nodes, without those that are still starting
	groups         []*Group
	groupOf        map[string]*Group // by name of the node
	counts         map[string]*nodeCounts
	total          nodeCounts
	groupTemplates map[string]*template
	decision       *Decision
	random         *rand.Rand // nil: the first choice is taken
	paused         bool       // no node is removed in this loop
}

// Loop decides about the state. Pods are the pods that the scheduler could not place. Loop does not change groups. If the context ends, it
// returns the context's error.
//
// See RunOnce in
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/core/static_autoscaler.go.
func (a *Autoscaler) Loop(ctx context.Context, state *cluster.State, groups []Group, pods []*v1.Pod) (*Decision, error) {
	l := &loop{Autoscaler: a, state: state, now: state.Now.Time, nodes: slices.Clone(state.Nodes), groupOf: map[string]*Group{},
		decision: &Decision{ScaleUp: ScaleUpNotTried, ScaleDown: ScaleDownNotTried, Fit: map[*v1.Pod]string{}}}
	a.memory.loops++
	if a.Ties.Random {
		l.random = rand.New(rand.NewPCG(a.Ties.Seed, a.memory.loops))
		l.random.Shuffle(len(l.nodes), func(i, j int) { l.nodes[i], l.nodes[j] = l.nodes[j], l.nodes[i] })
	}
	for _, given := range groups {
		group := &given
		l.groups = append(l.groups, group)
		for _, node := range group.Nodes {
			l.groupOf[node] = group
		}
	}
	a.snapshot.Last = a.memory.last
	if err := a.snapshot.Fill(ctx, state, l.nodes, l.podsOnNodes()); err != nil {
		return nil, err
	}
	l.groupTemplates = l.makeTemplates()
	l.countNodes()
	l.runOnce(pods)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.decision.Again = l.nextLoopTime(pods)
	l.decision.Status, l.decision.Targets = l.status(), map[string]int{}
	for _, group := range l.groups {
		l.decision.Targets[group.Name] = group.Target
	}
	a.memory.last = a.snapshot.Last
	return l.decision, nil
}

// runOnce makes the decisions of the loop, in upstream's order.
func (l *loop) runOnce(pods []*v1.Pod) {
	ends := l.settleRequests()
	if l.tooManyUnready(l.total.unready, len(l.nodes)) {
		clear(l.memory.unneeded)
		l.addEvent("ClusterUnhealthy", "Cluster is unhealthy")
		return
	}
	if ends {
		return
	}
	l.addUpcomingNodes()
	help := l.askingPods(pods)
	if l.shouldScaleUp(help) {
		l.scaleUp(help)
	}
	l.addPodEvents()
	if l.options.ScaleDown {
		l.scaleDown()
	}
}

// podsOnNodes returns the pods that occupy a node: those that have one or are nominated to one. Expendable pods do not count.
func (l *loop) podsOnNodes() []*v1.Pod {
	var running []*v1.Pod
	for _, pod := range l.state.Pods {
		if !cluster.IsTerminal(pod) && !l.expendable(pod) && (pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" && pod.DeletionTimestamp == nil) {
			running = append(running, pod)
		}
	}
	return running
}

// expendable reports whether the pod's priority is too low for the pod to matter: --expendable-pods-priority-cutoff.
func (l *loop) expendable(pod *v1.Pod) bool {
	return pod.Spec.Priority != nil && int(*pod.Spec.Priority) < l.options.ExpendablePodsPriorityCutoff
}

// addUpcomingNodes adds upcoming nodes to the snapshot as if they were ready, and removes nodes that are still starting.
func (l *loop) addUpcomingNodes() {
	for _, group := range l.groups {
		n, made := l.upcomingNodes(group), l.groupTemplates[group.Name]
		if n == 0 {
			continue
		}
		for i := range n {
			if made != nil {
				node, pods := made.newNode(made.node.Name + "-upcoming-" + strconv.Itoa(i))
				l.snapshot.AddNode(node, pods...)
			}
		}
		for _, name := range l.countsOfGroup(group).starting {
			l.snapshot.RemoveNode(name)
			l.nodes = slices.DeleteFunc(l.nodes, func(node *v1.Node) bool { return node.Name == name })
		}
	}
}

// askingPods returns the pods that fit onto no current or upcoming node, and that are old enough to ask for one.
func (l *loop) askingPods(pods []*v1.Pod) []*v1.Pod {
	pods = slices.DeleteFunc(slices.Clone(pods), l.expendable)
	// The autoscaler sorts by sort.Slice, which leaves equal pods in another order than they come: of more than twelve pods, others fit.
	sort.Slice(pods, func(i, j int) bool { return comparePriority(pods[i], pods[j]) < 0 })
	unplaced := l.placePods(pods, &l.memory.podHints, func(string) bool { return true }, false, func(pod *v1.Pod, node string) {
		l.decision.Fit[pod] = node
	})
	l.memory.podHints.age()
	return slices.DeleteFunc(unplaced, func(pod *v1.Pod) bool { return isDaemonSetPod(pod) || l.isYoung(pod) })
}

// isYoung reports whether the pod must wait before it asks for a node.
func (l *loop) isYoung(pod *v1.Pod) bool {
	return l.now.Sub(pod.CreationTimestamp.Time) <= l.scaleUpDelay(pod)
}

// scaleUpDelay returns how long the pod must exist before it asks for a node.
func (l *loop) scaleUpDelay(pod *v1.Pod) time.Duration {
	own, err := time.ParseDuration(pod.Annotations["cluster-autoscaler.kubernetes.io/pod-scale-up-delay"])
	if err != nil {
		own = 0
	}
	return max(own, l.options.NewPodScaleUpDelay)
}

// nextLoopTime returns when time alone changes a decision: a pod becomes old enough, a node has had its time to start, or a node has not been
// needed for long enough.
func (l *loop) nextLoopTime(pods []*v1.Pod) time.Time {
	d := l.decision
	if d.ScaleUp == ScaleUpSuccessful || d.ScaleUp == ScaleUpInCooldown || len(d.Deleted) > 0 {
		return l.now.Add(scanInterval)
	}
	var first, recheck time.Time
	at := func(t time.Time) {
		if t.After(l.now) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, pod := range pods {
		if l.isYoung(pod) {
			at(pod.CreationTimestamp.Add(l.scaleUpDelay(pod) + time.Second))
		}
	}
	if len(d.Fit) > 0 { // until a node that does not start counts as unready, pods are expected to go there
		for _, group := range l.groups {
			for _, name := range l.countsOfGroup(group).starting {
				at(l.state.Node(name).CreationTimestamp.Add(l.options.MaxNodeStartupTime + time.Second))
			}
		}
	}
	for _, name := range d.Unneeded {
		switch d.Unremovable[name].Reason {
		case "NotUnneededLongEnough":
			at(l.memory.unneeded[name].Add(l.options.UnneededTime + time.Second))
		case "NotUnreadyLongEnough":
			at(l.memory.unneeded[name].Add(l.options.UnreadyTime + time.Second))
		case "": // the cooldown has kept the loop from judging the node
			at(l.memory.lastScaleUp.Add(l.options.DelayAfterAdd))
			at(l.memory.lastDelete.Add(l.options.DelayAfterDelete))
		}
	}
	for name, why := range d.Unremovable {
		if until := l.memory.unremovable[name]; why.Reason == "RecentlyUnremovable" && until.After(recheck) {
			recheck = until
		}
	}
	if first.IsZero() {
		return recheck // at the last of these times all such nodes are judged again
	}
	return first
}

// shouldScaleUp reports whether the autoscaler tries to add nodes for the pods now.
func (l *loop) shouldScaleUp(help []*v1.Pod) bool {
	l.decision.Help = help
	ready := 0
	for _, node := range l.nodes {
		if is, _ := readiness(node); is && !node.Spec.Unschedulable {
			ready++
		}
	}
	const settle = 2 * time.Second // more pods may follow
	switch {
	case len(help) == 0:
		l.decision.ScaleUp = ScaleUpNotNeeded
	case l.options.MaxNodesTotal > 0 && ready >= l.options.MaxNodesTotal:
		l.decision.ScaleUp = ScaleUpLimited
		l.addMaxNodesEvent()
		for _, pod := range help {
			l.decision.Refused = append(l.decision.Refused, RefusedPod{Pod: pod})
		}
	case !slices.ContainsFunc(help, func(pod *v1.Pod) bool { return !pod.CreationTimestamp.Add(settle).After(l.now) }):
		l.decision.ScaleUp, l.paused = ScaleUpInCooldown, true
	default:
		return true
	}
	return false
}
