package explain

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// A workload can lack pods of which none is Pending: its controller does not make them.

// Gap is what a workload lacks after a step, though none of its pods is Pending: a rollout that stands still, a DaemonSet that has no pod on nodes
// whose taints it does not tolerate, an autoscaler at its maximum, a suspended Job, a CronJob whose last Job does not start, or pods that the cluster of a dump refused.
type Gap struct {
	// Step is the step after which the workload lacks this.
	Step string `json:"step"`
	cluster.Ref
	// Says says what is missing, and why.
	Says string `json:"says"`
	// Nodes are the nodes without a pod of the DaemonSet.
	Nodes []string `json:"nodes,omitempty"`
	// Fixes are the changes with which it is there, and Tried those that do not help.
	Fixes []Fix    `json:"fixes,omitempty"`
	Tried []string `json:"tried,omitempty"`
}

// FindGaps returns what the workloads in question lack after the step of the question or the last step, and the changes with which it is there. A
// workload with Pending pods, or refused ones, has no gap: these say more.
func FindGaps(ctx context.Context, result *simulation.Result, of Question, opts Options) ([]Gap, error) {
	step := of.step(result)
	if step == nil || step.State.Federation != nil {
		return nil, nil
	}
	owns, crews := of.ownerFilter(step.State), step.State.PodsByWorkload()
	gaps := refusedBefore(result, step, owns)
	for _, r := range controller.Rollouts(step.State) {
		refused := slices.ContainsFunc(step.Refused, func(refused cluster.Refusal) bool { return refused.Ref == r.Ref })
		if !owns(r.Ref) || refused || len(crews[r.Ref].Waiting) > 0 {
			continue
		}
		gap := Gap{Step: step.Name, Ref: r.Ref}
		changes, err := gap.find(ctx, result, step, &r)
		if err != nil {
			return nil, err
		}
		if gaps, err = gap.appendFixed(ctx, gaps, result, changes, opts); err != nil {
			return nil, err
		}
	}
	for _, job := range step.State.Jobs {
		gap := Gap{Step: step.Name, Ref: cluster.RefTo(job)}
		if !owns(gap.Ref) {
			continue
		}
		var err error
		if gaps, err = gap.appendFixed(ctx, gaps, result, gap.lackRun(job), opts); err != nil {
			return nil, err
		}
	}
	for _, job := range step.State.CronJobs {
		gap := Gap{Step: step.Name, Ref: cluster.RefTo(job)}
		if !owns(gap.Ref) {
			continue
		}
		var err error
		if gaps, err = gap.appendFixed(ctx, gaps, result, gap.lackNextRun(step.State, job), opts); err != nil {
			return nil, err
		}
	}
	return gaps, nil
}

// lackNextRun says which Job keeps a CronJob with concurrencyPolicy Forbid from its next run: one whose pod has a node and never starts, such as for an image
// that nobody can pull. It returns the change that starts a run without it.
func (g *Gap) lackNextRun(state *cluster.State, cron *batchv1.CronJob) []candidate {
	if cron.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		return nil
	}
	for _, job := range state.Jobs {
		if finished, _ := jobutil.FinishedCondition(job); finished || !metav1.IsControlledBy(job, cron) {
			continue
		}
		for _, pod := range state.Pods {
			waiting := func(s v1.ContainerStatus) bool { return s.State.Waiting != nil && s.State.Waiting.Reason != "" }
			at := slices.IndexFunc(pod.Status.ContainerStatuses, waiting)
			if !metav1.IsControlledBy(pod, job) || pod.Status.Phase != v1.PodPending || pod.Spec.NodeName == "" || at < 0 {
				continue
			}
			g.Says = fmt.Sprintf("no further run as long as job/%s has not ended, since concurrencyPolicy is Forbid: its pod %s on %s does not start (%s)",
				job.Name, pod.Name, pod.Spec.NodeName, pod.Status.ContainerStatuses[at].State.Waiting.Reason)
			return []candidate{{change: fmt.Sprintf("delete job/%s, and start a run", job.Name), price: []string{"its pod starts only if what keeps this one is mended"}, steps: []scenario.Step{
				action.Delete(job.Namespace, "job/"+job.Name), {Trigger: &scenario.Trigger{Target: action.Target(g.Ref)}}}}}
		}
	}
	return nil
}

// lackRun says why a Job that is suspended or has failed runs no pod, and returns the change with which it does.
func (g *Gap) lackRun(job *batchv1.Job) []candidate {
	_, how := jobutil.FinishedCondition(job)
	switch {
	case cause.AwaitsResume(job):
		g.Says = "no pod: it is suspended (spec.suspend is true)"
		return []candidate{resumeJob(job)}
	case how == batchv1.JobFailed && job.Status.Active == 0:
		g.Says = fmt.Sprintf("no more pods: it has failed%s, after %s; the log of its pods says why", failureText(job), words.Count(int(job.Status.Failed), "failed pod"))
		if deadline := job.Spec.ActiveDeadlineSeconds; deadline != nil && job.Status.Failed == 0 {
			g.Says = fmt.Sprintf("no more pods: it has failed%s: they did not end within activeDeadlineSeconds %d, and none failed, so that they may never have started", failureText(job), *deadline)
		}
		return []candidate{{change: "delete the Job and create it again, once what fails is mended", renewed: []cluster.Object{asWritten(job)}}}
	}
	return nil
}

// appendFixed appends the gap with its fixes, if it says something.
func (g *Gap) appendFixed(ctx context.Context, gaps []Gap, result *simulation.Result, changes []candidate, opts Options) ([]Gap, error) {
	if g.Says == "" {
		return gaps, nil
	}
	err := g.fix(ctx, result.UpTo(g.Step), changes, opts)
	return append(gaps, *g), err
}

// resumeJob returns the change with which a suspended Job starts its pods.
func resumeJob(job *batchv1.Job) candidate {
	return candidate{change: "resume the Job: suspend false", steps: []scenario.Step{
		action.Merge(action.Target(cluster.RefTo(job)), map[string]any{"spec": map[string]any{"suspend": false}})}}
}

// find says what the workload lacks, and returns the changes to try. It says nothing if the workload lacks nothing.
func (g *Gap) find(ctx context.Context, result *simulation.Result, step *simulation.Step, r *controller.Rollout) ([]candidate, error) {
	object := step.State.Find(g.Ref)
	if ds, is := object.(*appsv1.DaemonSet); is {
		if changes := g.lackNodes(step.State, ds); changes != nil {
			return changes, nil
		}
		if r.Updated+r.Old == 0 {
			return g.selectNoNode(ctx, result, step, ds)
		}
	}
	if set, is := object.(*appsv1.StatefulSet); is && r.Old > 0 && partitionOf(set) > 0 {
		g.Says = fmt.Sprintf("%s of %d %s old: updateStrategy has partition %d, and pods of a lower ordinal keep their revision",
			words.Count(r.Old, "pod"), r.Desired, words.Pick(r.Old, "stays", "stay"), partitionOf(set))
		return []candidate{{change: fmt.Sprintf("partition: 0 (now %d)", partitionOf(set)), strategy: func(obj cluster.Object) {
			obj.(*appsv1.StatefulSet).Spec.UpdateStrategy.RollingUpdate.Partition = new(int32)
		}}}, nil
	}
	if !r.Stuck() {
		return g.reachCeiling(step), nil
	}
	g.Says = fmt.Sprintf("its rollout stands still, %d of %s updated: %s", r.Updated, words.Count(r.Desired, "pod"), r.Waiting)
	if changes := startRollout(object); changes != nil {
		return changes, nil
	}
	if r.AwaitsEnd {
		return endTerminating(step.State, g.Ref), nil
	}
	return slices.Concat(deleteOldUnready(step.State, object), undoRollout(step.State, object), letBecomeReady(step.State, g.Ref), rollPastUnavailable(step.State, object)), nil
}

// deleteOldUnready returns the change that deletes the pods of an earlier revision of a StatefulSet that are not Ready, for which its controller
// waits before it replaces them.
func deleteOldUnready(state *cluster.State, object cluster.Object) []candidate {
	set, is := object.(*appsv1.StatefulSet)
	if !is {
		return nil
	}
	var names []string
	var steps []scenario.Step
	for _, pod := range podsOf(state)[cluster.RefTo(set)] {
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision && !podutil.IsPodReady(pod) && cluster.IsActive(pod) {
			names = append(names, pod.Name)
			steps = append(steps, action.Delete(pod.Namespace, "pod/"+pod.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []candidate{{change: fmt.Sprintf("delete %s of the earlier revision: the template is right already", words.Pick(len(names), "pod ", "pods ")+words.And(names)), steps: steps}}
}

// lackNodes adds the nodes that match a DaemonSet and have taints that it does not tolerate, and returns the change that tolerates them; nil if there is
// no such node.
func (g *Gap) lackNodes(state *cluster.State, ds *appsv1.DaemonSet) []candidate {
	pod := state.PodOf(ds)
	daemonutil.AddOrUpdateDaemonPodTolerations(&pod.Spec)
	var taints []v1.Taint
	nodes := map[string][]string{} // by taint
	for _, node := range state.Nodes {
		taint := cluster.Untolerated(node, pod)
		if taint == nil || !cluster.Attracts(node, pod) || !cluster.KubeletResponds(node) {
			continue
		}
		for _, of := range node.Spec.Taints {
			alone := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{of}}}
			if cluster.Repels(alone, pod) && !slices.ContainsFunc(taints, func(other v1.Taint) bool { return of.MatchTaint(&other) && of.Value == other.Value }) {
				taints = append(taints, of)
			}
		}
		nodes[taint.ToString()] = append(nodes[taint.ToString()], node.Name)
		g.Nodes = append(g.Nodes, node.Name)
	}
	if len(taints) == 0 {
		return nil
	}
	g.Says = "no pod on " + words.And(list.Map(slices.Sorted(maps.Keys(nodes)), func(taint string) string {
		return fmt.Sprintf("%s, whose taint %s it does not tolerate", words.Few(nodes[taint]), taint)
	}))
	return []candidate{{change: "tolerate " + words.And(list.Map(taints, func(taint v1.Taint) string { return taint.ToString() })), edit: func(spec *v1.PodSpec) {
		for _, taint := range taints {
			spec.Tolerations = append(spec.Tolerations, v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect})
		}
	}}}
}

// selectNoNode says which label no node has that a DaemonSet without pods asks for, and returns the changes with which nodes have it; nil if the
// DaemonSet selects nodes.
func (g *Gap) selectNoNode(ctx context.Context, result *simulation.Result, step *simulation.Step, ds *appsv1.DaemonSet) ([]candidate, error) {
	pod := step.State.PodOf(ds)
	if len(step.State.Nodes) == 0 || slices.ContainsFunc(step.State.Nodes, func(node *v1.Node) bool { return cluster.Attracts(node, pod) }) {
		return nil, nil
	}
	why, err := whyNoDaemonPods(ctx, result, step.State, ds)
	if err != nil {
		return nil, err
	}
	g.Says = "no pod on any node: " + why
	p := &pendingPod{stuckWorkload: &stuckWorkload{step: step, owner: g.Ref, object: ds, spec: &pod.Spec}, pod: pod, nodes: step.State.Nodes}
	var all []candidate
	for _, want := range p.wantedLabels() {
		all = append(all, p.askForKeys(want)...)
		all = append(all, p.askForValues(want)...)
	}
	for _, node := range step.State.Nodes {
		set := func(key string) bool { return node.Labels[key] != "" || isDescriptiveLabel(key) }
		labels := p.missingLabels(node, set)
		if labels != nil && !cluster.Repels(node, pod) && len(all) < maxPerKind {
			all = append(all, candidate{change: fmt.Sprintf("label node %s with %s", node.Name, words.And(pairsOf(labels))), steps: []scenario.Step{labelStep("node/"+node.Name, labels)}})
			break
		}
	}
	return all, nil
}

// startRollout returns the change with which a rollout goes on that its user has stopped; nil if nobody has.
func startRollout(object cluster.Object) []candidate {
	rolls := func(change string, edit func(cluster.Object)) []candidate {
		return []candidate{{change: change, strategy: edit}}
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		if o.Spec.Paused {
			return rolls("resume the rollout: paused false", func(obj cluster.Object) { obj.(*appsv1.Deployment).Spec.Paused = false })
		}
	case *appsv1.StatefulSet:
		if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
			return rolls("replace old pods one after the other: updateStrategy RollingUpdate (now OnDelete)", func(obj cluster.Object) {
				obj.(*appsv1.StatefulSet).Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
			})
		}
	case *appsv1.DaemonSet:
		if o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			return rolls("replace old pods one after the other: updateStrategy RollingUpdate (now OnDelete)", func(obj cluster.Object) {
				obj.(*appsv1.DaemonSet).Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType}
			})
		}
	}
	return nil
}

// partitionOf returns the ordinal below which pods of the StatefulSet keep their revision.
func partitionOf(set *appsv1.StatefulSet) int32 {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil {
		return 0
	}
	return ptr.Deref(rolling.Partition, 0)
}

// letBecomeReady returns the change by which the pods of a workload that have started become ready; none if all are.
func letBecomeReady(state *cluster.State, of cluster.Ref) []candidate {
	var names []string
	var steps []scenario.Step
	waits := ""
	for _, pod := range podsOf(state)[of] {
		node := state.Node(pod.Spec.NodeName)
		started := node != nil && cluster.KubeletResponds(node) && cluster.IsActive(pod) && cluster.WaitsForVolume(pod) == ""
		if !started || podutil.IsPodReady(pod) || len(names) == maxPerKind {
			continue
		}
		names = append(names, pod.Name)
		waits = cmp.Or(waits, whyNotStarted(pod, true))
		steps = append(steps, action.MakeReady(pod))
	}
	if len(names) == 0 {
		return nil
	}
	why := fmt.Sprintf("%s log and readiness probe say why %s not", words.Pick(len(names), "its", "their"), words.Pick(len(names), "it is", "they are"))
	if waits != "" {
		why = waits
	}
	return []candidate{{change: fmt.Sprintf("let %s become Ready: %s", words.Pick(len(names), "pod ", "pods ")+words.And(names), why), byHand: true, steps: steps}}
}

// rollPastUnavailable returns the changes with which the rollout of a DaemonSet goes on although pods of it are not available: one more may be, or the
// nodes that do not answer are deleted.
func rollPastUnavailable(state *cluster.State, object cluster.Object) []candidate {
	ds, is := object.(*appsv1.DaemonSet)
	if !is || ds.Spec.UpdateStrategy.RollingUpdate == nil || ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable == nil {
		return nil
	}
	unavailable := 0
	var silent []*v1.Node
	for _, pod := range podsOf(state)[cluster.RefTo(ds)] {
		if podutil.IsPodAvailable(pod, ds.Spec.MinReadySeconds, state.Now) && pod.DeletionTimestamp == nil {
			continue
		}
		unavailable++
		if node := state.Node(pod.Spec.NodeName); node != nil && !cluster.KubeletResponds(node) {
			silent = append(silent, node)
		}
	}
	if unavailable == 0 {
		return nil
	}
	all := []candidate{{change: fmt.Sprintf("maxUnavailable: %d (now %s)", unavailable+1, ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String()), strategy: func(obj cluster.Object) {
		obj.(*appsv1.DaemonSet).Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt(unavailable + 1))
	}}}
	if len(silent) > 0 {
		all = append(all, deleteSilent(silent))
	}
	return all
}

// fix tries the changes after the last step.
func (g *Gap) fix(ctx context.Context, result *simulation.Result, changes []candidate, opts Options) error {
	course, err := simulation.NewCourse(result)
	if err != nil {
		return err
	}
	defer course.Close()
	w := newStuckWorkload(course, result.Last(), g.Ref)
	w.helps = func(_ context.Context, c *candidate, steps []scenario.LoadedStep) (*Fix, error) {
		return w.closes(g, c, steps), nil
	}
	s := search{opts: opts}
	err = s.try(ctx, list.Map(changes, w.attemptOne))
	g.Fixes, g.Tried = s.sorted(), s.tried
	return err
}

// closes returns the change as a fix if the workload then lacks nothing: each of the nodes has a pod, or the rollout has ended, and nobody loses a node.
func (w *stuckWorkload) closes(g *Gap, c *candidate, steps []scenario.LoadedStep) *Fix {
	state := w.course.State()
	after := state.PodsByWorkload()
	own, was := after[w.owner], w.crewsBefore[w.owner]
	lacks := slices.ContainsFunc(g.Nodes, func(node string) bool { return own.Placed[node] == nil })
	lacks = lacks || len(g.Nodes) == 0 && len(own.Placed) == 0
	halts := slices.ContainsFunc(controller.Rollouts(state), func(r controller.Rollout) bool {
		return r.Ref == w.owner && !r.Complete && (r.Updated < r.Desired || r.Unavailable > 0)
	})
	surplus := max(0, len(was.Placed)-replicasOf(state, w.owner)) // of a rollout that starts new pods before it stops old ones
	if lacks || halts || was.CountLost(w.owner, own) > surplus || len(w.displaced(after)) > 0 {
		return nil
	}
	return &Fix{Change: w.describeChange(c), Price: slices.Concat(c.price, w.operatorPrice(c), w.evictionPrice(nil), w.replacementPrice(c, own)),
		Commands: action.Commands(stepsOf(steps)), Steps: encodeSteps(steps), Pending: len(w.course.Last().Pending), OfWorkload: len(own.Waiting)}
}
