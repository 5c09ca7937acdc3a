package sched

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/admission"
)

// failedCycle is a scheduling cycle in which the pod got no node.
type failedCycle struct {
	state    fwk.CycleState
	fit      *framework.FitError // why no node fits; nil if the cycle ended for another reason
	message  string              // the other reason
	failed   bool                // message is a plugin's error
	mayRetry bool                // whether the attempt has changed what the pod needs, so that it may try again
}

// preempt runs the PostFilter plugins for a pod that fits no node, as schedulingAlgorithm does, and nominates the node on which they made
// room. It returns the pod's rejection, which holds unless the victims end at once. An earlier nomination stays only if the plugins do not
// change it.
func (e *Engine) preempt(profile *profile, next *queueEntry, why *failedCycle) (placement.Pending, error) {
	if why.fit == nil {
		e.nominate(next, "")
		return placement.Pending{Pod: next.Pod, Message: why.message, Failed: why.failed, Cycle: profile.finishCycle(next.PodInfo, "")}, nil
	}
	diagnosis := &why.fit.Diagnosis
	silent := profile.attributeRejections(diagnosis)
	reasons := append(reasonsOf(diagnosis), silent...)
	if profile.HasPostFilterPlugins() {
		statuses := orderedStatuses{NodeToStatus: diagnosis.NodeToStatus, engine: e, preemptor: next.Pod}
		victims := len(e.victims)
		e.preemptible = nil
		e.pickUnavailableClaim(why.state, next.Pod)
		e.dryRuns = dryRuns{state: why.state, statuses: &statuses}
		result, status := profile.RunPostFilterPlugins(e.ctx, why.state, next.Pod, statuses)
		done := e.dryRuns
		e.dryRuns = dryRuns{}
		if e.stopError != nil {
			return placement.Pending{}, e.stopError
		}
		e.recordChoice(victims)
		if err := e.evictVictims(victims); err != nil {
			return placement.Pending{}, err
		}
		// Upstream logs an error and appends its text to the message. The text is "not found" for a pod with an unbound claim: a plugin
		// after the one that rejected the pod looks for state that was never written.
		diagnosis.PostFilterMsg = e.release.postFilterMessage(status, len(e.victims)-victims)
		switch {
		case result != nil && result.NominatingInfo != nil:
			e.nominate(next, result.NominatedNodeName)
		case done.skipped && !status.IsSuccess(): // upstream clears an earlier nomination if preemption helps on no node
			e.nominate(next, "")
		}
		pending := e.newPending(profile, next, why.fit, reasons)
		if (done.skipped || done.ineligible) && !status.IsSuccess() && diagnosis.PreFilterMsg == "" && e.decidedByNodes(next.Pod) {
			profile.memo().KeepRefusal(memo.Attempt{State: why.state, Statuses: diagnosis.NodeToStatus, Emptied: done.emptiedStatuses, DryRuns: done.count, Pending: pending})
		}
		return pending, nil
	}
	e.nominate(next, "")
	return e.newPending(profile, next, why.fit, reasons), nil
}

// newPending returns the rejection of a pod that fits no node.
func (e *Engine) newPending(profile *profile, next *queueEntry, fit *framework.FitError, reasons []placement.Reason) placement.Pending {
	return placement.Pending{
		Pod:       next.Pod,
		Message:   fit.Error(),
		Reasons:   reasons,
		Nominated: next.Pod.Status.NominatedNodeName,
		Cycle:     profile.finishCycle(next.PodInfo, ""),
	}
}

// captureVictims makes the plugin record its victims in the engine, where upstream deletes them through the API server. It also replaces the
// random offset in the plugin's search for candidates; see [preemptionInterface].
func (p *profile) captureVictims(plugin *defaultpreemption.DefaultPreemption) {
	e := p.engine
	p.preemptionInterface = preemptionInterface{Interface: plugin.Evaluator.Interface, engine: e, victimsOn: plugin.Evaluator.GetVictimsOnNode}
	plugin.Evaluator.Interface = p.preemptionInterface
	if e.release.isPreview() {
		replaceBudgets(plugin)
	}
	plugin.Executor.PreemptPod = func(_ context.Context, _ preemption.Candidate, preemptor preemption.ExecutorPreemptor, victim *v1.Pod, _ string) (bool, error) {
		if victim == nobody {
			return false, nil
		}
		e.victims = append(e.victims, placement.Preemption{Victim: victim, For: preemptor.Pods()[preemptor.GetName()], Node: victim.Spec.NodeName})
		return false, nil
	}
}

// recordChoice adds to the victims, from that index on, how their node was chosen.
func (e *Engine) recordChoice(from int) {
	if len(e.victims) == from {
		return
	}
	node := e.victims[from].Node
	choice := choiceOf(node, e.preemptible)
	if choice == nil { // upstream compares no nodes if there is only one
		choice = &placement.Choice{Nodes: 1, Candidates: []placement.PreemptionCandidate{{Node: node}}}
		for i := from; i < len(e.victims); i++ {
			choice.Candidates[0].Victims = append(choice.Candidates[0].Victims, e.victims[i].Victim)
		}
	}
	for i := from; i < len(e.victims); i++ {
		e.victims[i].Choice = choice
	}
}

// evictVictims marks the victims, from that index on, as Terminating in the cache, or removes them if pods end at once. It sorts victims of pod
// groups, because upstream lists the pods of a preempted group in random map order.
func (e *Engine) evictVictims(from int) error {
	if e.podGroups != nil {
		slices.SortFunc(e.victims[from:], func(a, b placement.Preemption) int {
			return byName(cluster.NameOf(a.Victim), cluster.NameOf(b.Victim))
		})
	}
	for i := from; i < len(e.victims); i++ {
		victim := e.victims[i].Victim
		if err := e.removePod(victim); err != nil {
			return err
		}
		name := cluster.NameOf(victim)
		e.decided[name] = true
		if e.state.TerminationSeconds == 0 {
			delete(e.bound, name)
			delete(e.timed, name)
			continue
		}
		ending := admission.MarkTerminating(e.state, victim, v1.PodReasonPreemptionByScheduler)
		if err := e.addPod(ending); err != nil {
			return err
		}
		e.bound[name], e.victims[i].Ending = ending, ending
	}
	return nil
}

// inGroup reports whether the pod is in a pod group.
func inGroup(pod fwk.PodInfo) bool { return pod.GetPod().Spec.SchedulingGroup != nil }

// reasonsOf counts the rejections by plugin and message.
func reasonsOf(diagnosis *framework.Diagnosis) []placement.Reason {
	same, count := map[*fwk.Status]int{}, map[placement.Reason]int{}
	diagnosis.NodeToStatus.ForEachExplicitNode(func(_ string, status *fwk.Status) { same[status]++ }) // many nodes share a status, which is faster to count first
	for status, nodes := range same {
		for _, message := range status.Reasons() {
			count[placement.Reason{Plugin: status.Plugin(), Message: message}] += nodes
		}
	}
	var reasons []placement.Reason
	for reason, nodes := range count {
		reason.Nodes = nodes
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b placement.Reason) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Message, b.Message))
	})
	return reasons
}

// discardEvents drops events; the result has their content.
type discardEvents struct{}

func (discardEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (d discardEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return d }
