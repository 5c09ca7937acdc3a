package blast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// Recover simulates how the scenario's controllers and scheduler replace what each failure of the analysis takes, and adds the result to
// the failure. All failures start from the same state and run independently, on all cores. Single nodes that differ only in their names are
// simulated once. progress, if not nil, is called with the domains of a failure, the number of failures done and their total.
func Recover(ctx context.Context, state *cluster.State, s *scenario.Scenario, analysis *Analysis, opts Options, progress func(domains string, done, total int)) error {
	worlds := simulation.NewWorlds(s)
	defer worlds.Close()
	return RecoverInWorlds(ctx, worlds, state, analysis, opts, progress)
}

// RecoverInWorlds is [Recover] in existing worlds, for callers that examine several clusters. If the context ends, only the failures that are
// done by then have a recovery.
func RecoverInWorlds(ctx context.Context, worlds *simulation.Worlds, state *cluster.State, analysis *Analysis, opts Options, progress func(domains string, done, total int)) error {
	jobs, err := planJobs(state, worlds.Scenario.Config, analysis, opts)
	if err != nil {
		return err
	}
	one := func(ctx context.Context, w world.World, i int) error {
		w.SetHooks(world.Hooks{Record: opts.Record})
		if err := jobs[i].recoverFirst(ctx, w, state, opts); err != nil {
			return err
		}
		if opts.Until == nil {
			err := jobs[i].lookAhead(ctx, w, opts)
			jobs[i].complete = err == nil
			return err
		}
		if opts.Until(jobs[i].failures[0], jobs[i].recovery) {
			return lastJob(i)
		}
		return nil
	}
	var each parallel.Options
	if progress != nil {
		each.Progress = func(last, done int) { progress(jobs[last].domains(), done, len(jobs)) }
	}
	err = worlds.Each(ctx, len(jobs), each, one)
	var end lastJob
	if errors.As(err, &end) {
		jobs = jobs[:end+1]
	} else if err != nil {
		assignRecoveries(analysis, list.Where(jobs, func(j job) bool { return j.complete }))
		return err
	}
	assignRecoveries(analysis, jobs)
	return nil
}

// lastJob is the index of the last job that is needed. As an error it ends parallel.Each, which stops at the first error.
type lastJob int

func (l lastJob) Error() string { return fmt.Sprintf("job %d is the last", int(l)) }

// RecoverIn is [Recover] in an existing world, one failure after another, for callers that examine many clusters at once and count what
// comes back. It leaves out what [job.lookAhead] adds. It resets the world.
func RecoverIn(ctx context.Context, w world.World, state *cluster.State, analysis *Analysis, opts Options) error {
	jobs, err := planJobs(state, w.Config(), analysis, opts)
	if err != nil {
		return err
	}
	for i := range jobs {
		if err := jobs[i].recoverFirst(ctx, w, state, opts); err != nil {
			return err
		}
		if opts.Until != nil && opts.Until(jobs[i].failures[0], jobs[i].recovery) {
			jobs = jobs[:i+1]
			break
		}
	}
	assignRecoveries(analysis, jobs)
	return nil
}

// job is a recovery to simulate, and the failures that share its result.
type job struct {
	level    *Level
	failures []*Failure
	recovery *Recovery
	complete bool // lookAhead has completed the recovery
}

// recoverFirst simulates the recovery from the first failure of the job, which stands for the others.
func (j *job) recoverFirst(ctx context.Context, w world.World, state *cluster.State, opts Options) (err error) {
	j.recovery, err = simulateRecovery(ctx, w, state, j.failures[0], opts)
	return j.wrapError(err)
}

// wrapError adds to an error from which loss the job recovers; nil if err is nil.
func (j *job) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("recovering from the loss of %s %s: %w", j.level.TopologyKey, j.domains(), err)
}

// domains returns the domains of the job's first failure.
func (j *job) domains() string { return strings.Join(j.failures[0].Domains, " and ") }

// lookAhead adds to the recovery why pods are not replaced, and what would happen next: once the pods that stay Terminating are gone, and
// after a second failure.
func (j *job) lookAhead(ctx context.Context, w world.World, opts Options) error {
	r := j.recovery
	if len(r.Stranded) > 0 && len(r.terminating) > 0 {
		if err := r.markWaiting(ctx, w); err != nil {
			return j.wrapError(err)
		}
	}
	why := notReplacedReason(r.State)
	for i, pod := range r.unreplacedPods {
		r.NotReplaced[i].Why = why(pod)
	}
	key := j.level.TopologyKey
	if base, _, is := topology.SplitValue(key); is {
		key = base // any domain can fail next
	}
	if domains, _ := topology.Domains(r.State.Nodes, key); len(domains) > 0 {
		next, err := Lost(r.State, Options{Levels: []string{key}, Simultaneous: 1, Quorum: opts.Quorum, Only: opts.Only})
		if err != nil {
			return err
		}
		r.After = next.Levels[0].Radius
		replicated := j.level.replicatedWorkloads()
		var largest firstLoss
		for i := range next.Levels[0].Failures {
			failure := &next.Levels[0].Failures[i]
			for k := range failure.Workloads {
				if loss := &failure.Workloads[k]; replicated[loss.Ref] {
					largest.keepFirst(loss, failure.Domains, compareLosses)
				}
			}
		}
		r.AfterReplicated = largest.radius()
	}
	return nil
}

// replicatedWorkloads returns the workloads with two or more replicas that lose pods.
func (l *Level) replicatedWorkloads() map[cluster.Ref]bool {
	found := map[cluster.Ref]bool{}
	for _, failure := range l.Failures {
		for _, loss := range failure.Workloads {
			if loss.Replicas > 1 {
				found[loss.Ref] = true
			}
		}
	}
	return found
}

// assignRecoveries sets the recovery of each failure, and notes in LikeDomains which earlier failure has the same recovery.
func assignRecoveries(analysis *Analysis, jobs []job) {
	for i := range jobs {
		for _, failure := range jobs[i].failures {
			failure.Recovery = jobs[i].recovery
		}
	}
	first := map[*Recovery][]string{}
	for i := range analysis.Levels {
		for j := range analysis.Levels[i].Failures {
			failure := &analysis.Levels[i].Failures[j]
			if like, seen := first[failure.Recovery]; seen {
				failure.LikeDomains = like
			} else if failure.Recovery != nil {
				first[failure.Recovery] = failure.Domains
			}
		}
	}
}

// CountRecovered returns the number of failures whose recovery is known, and the number of all failures.
func (a *Analysis) CountRecovered() (known, all int) {
	for i := range a.Levels {
		level := &a.Levels[i]
		all += len(level.Failures)
		known += list.Count(level.Failures, func(f Failure) bool { return f.Recovery != nil })
	}
	return known, all
}

// planJobs selects the failures to recover from, and groups failures that have the same result.
func planJobs(state *cluster.State, config *sched.Config, analysis *Analysis, opts Options) ([]job, error) {
	kind := sync.OnceValues(func() (func(string) string, error) { return classifyNodes(state, config) })
	var jobs []job
	for i := range analysis.Levels {
		level := &analysis.Levels[i]
		same := map[string]int{}
		for _, failure := range selectWorst(level, opts.Worst) {
			if len(failure.Nodes) == 1 {
				kindOf, err := kind()
				if err != nil {
					return nil, err
				}
				of := kindOf(failure.Nodes[0])
				if j, found := same[of]; found {
					jobs[j].failures = append(jobs[j].failures, failure)
					continue
				}
				same[of] = len(jobs)
			}
			jobs = append(jobs, job{level: level, failures: []*Failure{failure}})
		}
	}
	return jobs, nil
}

// selectWorst returns the n failures that do the most harm, of equal ones the first; all failures if n is 0.
func selectWorst(level *Level, n int) []*Failure {
	if n > 0 && n < len(level.Failures) {
		return level.ByHarm()[:n]
	}
	failures := make([]*Failure, len(level.Failures))
	for i := range level.Failures {
		failures[i] = &level.Failures[i]
	}
	return failures
}

// simulateRecovery fails the nodes, and runs the world until nothing moves any more.
func simulateRecovery(ctx context.Context, w world.World, state *cluster.State, failure *Failure, opts Options) (*Recovery, error) {
	w.Reset()
	if opts.From != nil {
		if err := w.Resume(*opts.From); err != nil {
			return nil, err
		}
	}
	failed, err := w.Fail(state, opts.Mode, failure.Nodes...)
	if err != nil {
		return nil, err
	}
	var step world.Record
	settled, err := w.Settle(ctx, failed, &step)
	if err != nil {
		return nil, err
	}
	r := &Recovery{State: settled}
	if did := step.Autoscaling; did != nil && did.Changed() {
		r.Autoscaling = did.WithoutUnchangedGroups()
		r.LastNode = r.Autoscaling.LastGrowth(state.Now.Time).Seconds()
	}
	for _, did := range step.Decided(settled) {
		if len(did.AddedNodes)+len(did.RemovedNodes) > 0 {
			r.Decided = append(r.Decided, did.WithNodesAlone())
			r.LastNode = max(r.LastNode, did.LastGrowth(state.Now.Time).Seconds())
		}
	}
	if opts.Mode == node.Unreachable && r.LastNode > 0 {
		r.LastNode += node.NodeMonitorGracePeriod.Seconds()
	}
	moved := step.LastMove(state.Now.Time)
	if moved > 0 {
		r.LastMove = (federation.FailureThreshold + moved).Seconds()
	}
	var evicted, detached time.Duration // how long after the failure the last one was
	before := make(map[types.UID]bool, len(state.Pods))
	lost := map[cluster.Ref][]*v1.Pod{}
	owner := state.Owners()
	anywhere := func(o cluster.Ref) cluster.Ref {
		if o.Kind == "Pod" { // a bare pod that Karmada moves has another name then
			_, o.Name = cluster.SplitName(o.Name)
		}
		return o
	}
	lose := func(pod *v1.Pod) bool {
		o := owner(pod)
		if !opts.reports(o) {
			return false
		}
		lost[anywhere(o)] = append(lost[anywhere(o)], pod)
		r.Lost++
		return true
	}
	down, nodes := map[string]bool{}, state.NodesByName()
	for _, name := range failure.Nodes {
		down[name] = cluster.KubeletResponds(nodes[name])
	}
	for _, pod := range state.Pods {
		before[pod.UID] = true
		if down[pod.Spec.NodeName] && cluster.IsActive(pod) {
			lose(pod)
		}
	}
	for _, preemption := range step.Preempted {
		if before[preemption.Victim.UID] && lose(preemption.Victim) {
			r.Preempted++
		}
	}
	there, now := map[types.UID]bool{}, map[types.UID]*v1.Pod{}
	for _, pod := range settled.Pods {
		there[pod.UID], now[pod.UID] = cluster.IsActive(pod), pod
		if before[pod.UID] && down[pod.Spec.NodeName] && !cluster.IsTerminal(pod) && pod.DeletionTimestamp != nil {
			r.terminating = append(r.terminating, pod)
			evicted = max(evicted, cluster.DeletionRequested(pod).Sub(state.Now.Time))
		}
	}
	if evicted > 0 {
		r.LastEviction = (node.NodeMonitorGracePeriod + evicted).Seconds()
	}
	runs := map[cluster.Ref]time.Time{}
	replaced, names := map[cluster.Ref]int{}, map[types.NamespacedName]bool{}
	owner = settled.Owners()
	replace := func(pod *v1.Pod) {
		replaced[anywhere(owner(pod))]++
		names[cluster.NameOf(pod)] = true
	}
	for _, placed := range step.Placed {
		if before[placed.Pod.UID] || !there[placed.Pod.UID] || !opts.reports(owner(placed.Pod)) {
			continue
		}
		replace(placed.Pod)
		pod := now[placed.Pod.UID]
		if why := cluster.WaitsForVolume(pod); why != "" {
			r.Pending = append(r.Pending, placement.Pending{Pod: pod, Message: why, Cycle: placed.Cycle})
			continue
		}
		r.Recovered = append(r.Recovered, placed.Recovered(owner(placed.Pod)))
		if ready := podutil.GetPodReadyCondition(pod.Status); ready != nil {
			if first, seen := runs[anywhere(owner(pod))]; !seen || ready.LastTransitionTime.Time.Before(first) {
				runs[anywhere(owner(pod))] = ready.LastTransitionTime.Time
			}
		}
		if waited := cluster.StartedAfterVolume(pod).Sub(state.Now.Time); waited >= controller.MaxWaitForUnmount {
			detached = max(detached, waited)
		}
	}
	r.LastDetach = detached.Seconds()
	for _, pending := range step.Pending {
		if !before[pending.Pod.UID] && opts.reports(owner(pending.Pod)) {
			r.Pending = append(r.Pending, pending)
			replace(pending.Pod)
		}
	}
	for i := range r.Pending {
		r.Stranded = append(r.Stranded, r.Pending[i].Stranded(owner(r.Pending[i].Pod)))
	}
	r.Outages = findOutages(failure, runs, func(again time.Time) time.Duration {
		r.StartSeconds = opts.StartTime.Seconds()
		switch waited := again.Sub(state.Now.Time) + opts.StartTime; {
		case moved > 0:
			return federation.FailureThreshold + waited
		case opts.Mode == node.Unreachable:
			return node.NodeMonitorGracePeriod + waited
		default:
			return waited
		}
	})
	losesWork, lostWork := state.LosesWork(), []*v1.Pod(nil)
	for o, pods := range lost {
		// Pods that are still on their nodes come first, since nothing replaces them. Pods whose names have come back, as a StatefulSet's
		// do, come last.
		order := func(pod *v1.Pod) int {
			return boolToInt(names[cluster.NameOf(pod)]) - boolToInt(there[pod.UID])
		}
		slices.SortStableFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(order(a), order(b)) })
		for _, pod := range pods[:max(0, len(pods)-replaced[o])] {
			if losesWork(pod) {
				lostWork = append(lostWork, pod)
			} else {
				r.unreplacedPods = append(r.unreplacedPods, pod)
			}
		}
	}
	byName := func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(r.unreplacedPods, byName)
	slices.SortFunc(lostWork, byName)
	for _, pod := range r.unreplacedPods {
		left := UnreplacedPod{PodRef: cluster.NewPodRef(pod, owner(pod)), Why: nodeBoundReason(pod)}
		r.OfDaemonSets += boolToInt(left.Why == daemonSetReason)
		r.OfNodes += boolToInt(left.Why == staticPodReason)
		r.NotReplaced = append(r.NotReplaced, left)
	}
	r.LostWork = list.Map(lostWork, func(pod *v1.Pod) cluster.PodRef { return cluster.NewPodRef(pod, owner(pod)) })
	return r, nil
}

// findOutages returns the workloads that lose every pod. runs has the time at which the first pod of each workload runs again, and since
// returns how long after the failure that is.
func findOutages(failure *Failure, runs map[cluster.Ref]time.Time, since func(time.Time) time.Duration) []Outage {
	var all []Outage
	for _, loss := range failure.Workloads {
		if !loss.TakesAll() {
			continue
		}
		o := Outage{WorkloadRef: loss.Ref.Workload(), Replicas: loss.Replicas}
		if again, runs := runs[loss.Ref]; runs {
			o.Seconds = ptr.To(since(again).Seconds())
		}
		all = append(all, o)
	}
	return all
}

// markWaiting marks the stranded pods that get a node, or start on theirs, once the pods that stay Terminating are gone.
func (r *Recovery) markWaiting(ctx context.Context, w world.World) error {
	settled, err := w.Settle(ctx, r.State.Without(r.terminating...), &world.Record{})
	if err != nil {
		return err
	}
	bound := map[types.UID]bool{}
	for _, pod := range settled.Pods {
		bound[pod.UID] = pod.Spec.NodeName != "" && cluster.WaitsForVolume(pod) == ""
	}
	for i := range r.Stranded {
		r.Stranded[i].Waiting = bound[r.Pending[i].Pod.UID]
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
