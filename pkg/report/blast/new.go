package blast

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Blasted is a step and what failures take from the cluster after it.
type Blasted struct {
	Step     *simulation.Step
	Analysis *blast.Analysis
	// Risk is nil where no failure rates are given.
	Risk *Risk
}

// New puts what failures take into the model. The options are those of the analyses, whose workloads the filter selected; recovered
// reports whether recoveries were looked at. The version is Faultline's own.
func New(result *simulation.Result, steps []Blasted, opts blast.Options, filter blast.Filter, recovered bool, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version), Mode: string(opts.Mode), Simultaneous: opts.Simultaneous, Recover: recovered}
	if recovered {
		r.Worst = opts.Worst
	}
	if !filter.Empty() {
		r.Filter = &Filter{Workloads: filter.Workloads, Namespace: filter.Namespace}
		if filter.Selector != nil {
			r.Filter.Selector = filter.Selector.String()
		}
		if filter.MinReplicas > 1 {
			r.Filter.MinReplicas = filter.MinReplicas
		}
	}
	for _, blasted := range steps {
		r.Steps = append(r.Steps, newStep(blasted, result.Scenario))
	}
	return r
}

func newStep(blasted Blasted, from *scenario.Scenario) Step {
	step := blasted.Step
	s := Step{Name: step.Name, Action: step.Action, Workloads: blasted.Analysis.Workloads, Risk: blasted.Risk}
	for _, pod := range step.State.Pods {
		switch {
		case !cluster.Active(pod):
		case pod.Spec.NodeName == "":
			s.Pending++
		default:
			s.Running++
		}
	}
	for _, workload := range blasted.Analysis.Single {
		s.OneReplica = append(s.OneReplica, workload.Qualified())
	}
	for i := range blasted.Analysis.Levels {
		s.Levels = append(s.Levels, newLevel(&blasted.Analysis.Levels[i]))
	}
	for i := range s.Levels {
		for j := range s.Levels[i].Failures {
			for k := range s.Levels[i].Failures[j].Workloads {
				loss := &s.Levels[i].Failures[j].Workloads[k]
				loss.Source = report.SourceOf(from, step.Name, cluster.Ref{Kind: loss.Kind, Namespace: loss.Namespace, Name: loss.Name})
			}
		}
	}
	return s
}

func newLevel(level *blast.Level) Level {
	l := Level{
		TopologyKey: level.TopologyKey,
		Domains:     level.Domains,
		Unlabelled:  level.Unlabelled,
		Search:      level.Search,
		Radius:      newRadius(level.Radius),
		Replicated:  newRadius(level.Replicated),
	}
	if e := level.Excess; e.Replicas > 0 {
		l.Excess = &Excess{Share: e.Share(), Namespace: e.Workload.Namespace, Workload: e.Workload.String(), Lost: e.Lost, Even: e.Even, Replicas: e.Replicas, Domains: e.Domains}
	}
	if level.Search == "" {
		l.Mean = &level.Mean
	}
	for _, share := range level.Shares { // from the smallest
		if last := len(l.Shares) - 1; last >= 0 && l.Shares[last].Share == share {
			l.Shares[last].Failures++
		} else {
			l.Shares = append(l.Shares, Share{Share: share, Failures: 1})
		}
	}
	first := map[*blast.Recovery][]string{}
	for i := range level.Failures {
		failure := &level.Failures[i]
		f := newFailure(failure)
		if recovery := failure.Recovery; recovery != nil {
			if like, told := first[recovery]; told {
				f.LikeDomains = like
			} else {
				first[recovery] = failure.Domains
				f.Recovery = newRecovery(recovery)
			}
		}
		l.Failures = append(l.Failures, f)
	}
	return l
}

func newRadius(radius blast.Radius) Radius {
	r := Radius{Share: radius.Share, Lost: radius.Lost, Replicas: radius.Replicas, Domains: radius.Domains}
	if radius.Replicas > 0 {
		r.Namespace, r.Workload = radius.Workload.Namespace, radius.Workload.String()
	}
	return r
}

func newFailure(failure *blast.Failure) Failure {
	f := Failure{
		Domains: failure.Domains, Nodes: failure.Nodes, Pods: failure.Pods, CPU: failure.CPU, Memory: failure.Memory, BrokenBudgets: failure.BrokenBudgets,
	}
	for _, loss := range failure.Workloads {
		f.Workloads = append(f.Workloads, Loss{
			Kind: loss.Workload.Kind, Namespace: loss.Workload.Namespace, Name: loss.Workload.Name,
			Replicas: loss.Replicas, Lost: loss.Lost, Even: loss.Even, Gone: loss.Gone(), BrokenBudgets: loss.BrokenBudgets,
			Quorum: loss.Quorum, QuorumLost: loss.QuorumLost, SharedFate: loss.SharedFate,
		})
	}
	return f
}

func newRecovery(recovery *blast.Recovery) *Recovery {
	r := &Recovery{Lost: recovery.Lost, Preempted: recovery.Preempted, After: newRadius(recovery.After), AfterReplicated: newRadius(recovery.AfterReplicated)}
	owner := recovery.State.Owners()
	for _, placed := range recovery.Recovered {
		r.Recovered = append(r.Recovered, placed.Recovered(owner(placed.Pod)))
	}
	for _, pending := range recovery.Stranded {
		stranded := pending.Stranded(owner(pending.Pod))
		stranded.Waiting = slices.Contains(recovery.Waiting, pending.Pod.UID)
		r.Stranded = append(r.Stranded, stranded)
	}
	why := unreplaced(recovery.State)
	for _, pod := range recovery.NotReplaced {
		switch by := metav1.GetControllerOfNoCopy(pod); {
		case by != nil && by.Kind == "DaemonSet":
			r.OfDaemonSets++
		case by != nil && by.Kind == "Node":
			r.OfNodes++
		}
		r.NotReplaced = append(r.NotReplaced, UnreplacedPod{cluster.NewPodRef(pod, owner(pod)), why(pod)})
	}
	for _, o := range recovery.Outages {
		outage := Outage{Namespace: o.Workload.Namespace, Workload: o.Workload.String(), Replicas: o.Replicas}
		if o.Ends {
			outage.Seconds = ptr.To(o.After.Seconds())
		}
		r.Outages = append(r.Outages, outage)
	}
	for _, pod := range recovery.LostWork {
		r.LostWork = append(r.LostWork, cluster.NewPodRef(pod, owner(pod)))
	}
	if recovery.LastEviction > 0 {
		r.LastEviction = (node.NodeMonitorGracePeriod + recovery.LastEviction).Seconds()
	}
	r.LastDetach = recovery.LastDetach.Seconds()
	if recovery.LastMove > 0 {
		r.LastMove = (federation.FailureThreshold + recovery.LastMove).Seconds()
	}
	return r
}

// workloadKind is the kind of the pod's outermost controller.
func workloadKind(pod *v1.Pod, state *cluster.State) string { return state.Owners()(pod).Kind }

// ofDaemonSet is why nobody replaces a pod of a DaemonSet.
const ofDaemonSet = "pod of a DaemonSet: every node has its own"

// ofNode is why nobody replaces a static pod.
const ofNode = "static pod: it belongs to its node"

// refusal is why the API server refuses other pods of the lost pod's workload, without their names; "" if it does not.
func refusal(lost *v1.Pod, state *cluster.State) string {
	of := state.Owners()(lost)
	i := slices.IndexFunc(state.Refused, func(r cluster.Refusal) bool { return r.Ref == of })
	if i < 0 {
		return ""
	}
	return state.Refused[i].Reason()
}

// unreplaced returns a function that says why nobody makes another pod for a lost one.
func unreplaced(state *cluster.State) func(*v1.Pod) string {
	if state.Federation == nil {
		stopped, present := node.Disruptions(state), sync.OnceValue(func() map[types.UID]bool { return controllersOf(state) })
		return func(pod *v1.Pod) string { return whyNotReplaced(pod, state, stopped, present) }
	}
	in := map[string]func(*v1.Pod) string{}
	for _, m := range state.Federation.Members {
		in[m.Name] = unreplaced(m.State)
	}
	owner := state.Owners()
	return func(pod *v1.Pod) string {
		m := state.Federation.Member(pod.Labels[cluster.MemberLabel])
		by := metav1.GetControllerOfNoCopy(pod)
		if !m.Lost || by != nil && (by.Kind == "Node" || by.Kind == "DaemonSet") {
			return in[m.Name](m.Native(pod))
		}
		of := owner(pod)
		if of.Kind == "Pod" {
			_, of.Name = cluster.Apart(of.Name)
		}
		return whyNotMoved(state.Federation.Control, of, m.Name)
	}
}

// whyNotMoved says why Karmada does not make up for the pods of a workload that were in a lost cluster.
func whyNotMoved(control *cluster.Control, workload cluster.Ref, lost string) string {
	b := control.BindingOf(workload)
	if b == nil {
		return "it is the lost cluster's own: no policy of Karmada has brought it there"
	}
	_, stays := b.On(lost)
	switch {
	case control.Options.Failover == nil:
		return "Karmada does not move workloads away from a cluster that fails unless federation.failover is enabled"
	case stays:
		return "its policy tolerates the loss of the cluster"
	case !b.Scheduled():
		return "Karmada finds no other cluster: " + strings.TrimSuffix(b.Message, ".")
	case !b.Divided():
		return "its policy gives every cluster a copy of its own, and no other cluster gets one"
	}
	return "its " + workload.Kind + " wants no other"
}

// controllersOf returns the UIDs of all objects but pods.
func controllersOf(state *cluster.State) map[types.UID]bool {
	others, present := *state, map[types.UID]bool{}
	others.Pods = nil
	for _, obj := range others.Objects() {
		present[obj.GetUID()] = true
	}
	return present
}

// whyNotReplaced says why nobody makes another pod for a lost one. The state is that after the failure, with the zones in which evictions
// have stopped.
func whyNotReplaced(pod *v1.Pod, state *cluster.State, stopped []node.Disruption, present func() map[types.UID]bool) string {
	by := metav1.GetControllerOfNoCopy(pod)
	i := slices.IndexFunc(state.Pods, func(p *v1.Pod) bool { return p.UID == pod.UID })
	stays := i >= 0 && cluster.Active(state.Pods[i])
	ending := i >= 0 && !stays && !cluster.Terminal(state.Pods[i])
	switch {
	case by == nil:
		return "bare pod: no controller makes another"
	case by.Kind == "Node":
		return ofNode
	case by.Kind == "DaemonSet":
		return ofDaemonSet
	case by.Kind == "StatefulSet" && ending:
		return "pod of a StatefulSet on a node that is only unreachable: it may still run, and no two of one name may"
	case !stays && !present()[by.UID]:
		return "its controller, " + by.Kind + " " + by.Name + ", is not part of the input"
	case !stays && refusal(pod, state) != "":
		return "the API server refuses another: " + refusal(pod, state)
	case ending:
		return "stays Terminating until its kubelet is back, and its " + workloadKind(pod, state) + " waits for its end"
	case stays && slices.ContainsFunc(stopped, func(d node.Disruption) bool { return slices.Contains(d.Nodes, pod.Spec.NodeName) }):
		return "stays bound to its node: so many nodes are down that the node lifecycle controller evicts no pods"
	case stays:
		return "tolerates the failed node for as long as it fails"
	}
	if by.Kind == "StatefulSet" {
		return "its StatefulSet makes its pods one after the other, and waits for an earlier one"
	}
	return "its " + by.Kind + " wants no other"
}
