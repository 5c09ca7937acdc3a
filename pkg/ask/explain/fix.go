package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Fix is a change that gives a Pending pod a node.
type Fix struct {
	// Change describes the change, and what else the pod needs then, such as its deletion.
	Change string `json:"change"`
	// Price lists what the change costs: pods that are evicted or replaced, a rule that is weaker. Missing if it costs nothing.
	Price []string `json:"price,omitempty"`
	// Commands make the change with kubectl, in this order. Missing for a new node, which kubectl cannot create.
	Commands []string `json:"commands,omitempty"`
	// Steps make the change as further steps of the scenario.
	Steps []map[string]any `json:"steps,omitempty"`
	// Pending is the number of Pending pods after the change, and OfWorkload the number of these that belong to the workload.
	Pending    int `json:"pending"`
	OfWorkload int `json:"ofWorkload"`
	// Node is the node that the pod, or the pod in its place, gets. Missing if the pod needs no node any more.
	Node string `json:"node,omitempty"`
	// Displaced is the number of pods of other workloads that lose their nodes for the change.
	Displaced int `json:"displaced,omitempty"`
	// DataLost means that what is on a volume is lost for the change.
	DataLost bool `json:"dataLost,omitempty"`
}

// Fixes returns the changes that give a Pending pod of the step a node, and descriptions of changes that do not. Each change was applied to
// the cluster as it is after the step, as a user would apply it: the controller rolls out a patch of the workload, and a new node arrives
// at once. The change is a fix if afterwards
//
//   - the pod has a node. A StatefulSet's pod, a DaemonSet's pod of a node, a pod of an index and a pod without a controller must have one
//     themselves; another pod of the workload can stand for any other pod, if fewer pods of the workload are Pending then;
//   - every pod of the workload that ran still runs, or its replacement does;
//   - so does every pod of other workloads, unless the change is a priority class of a DaemonSet or of pods that have a priority already, whose
//     purpose is preemption. The price says which pods it evicts.
//
// Controllers of StatefulSets, ReplicaSets and ReplicationControllers never replace a Pending pod of an old template: if the patch alone does
// not help, the pod is deleted, too, and the fix says so.
//
// Fixes are tried and listed in the following order, the mildest first. In the list, fixes that leave no pod of the workload Pending come
// before the others, fixes that cost pods of other workloads their nodes, or data on a volume, after fixes that do not, and fewer replicas come last. Only changes that
// concern a plugin that refuses the pod are tried.
//
//  1. Remove a scheduling gate; create a pod group or a claim that the pod names, or name a template of claims that exists; uncordon a node; end a state of a node that has a taint for it; delete a pod
//     whose template has changed since.
//  2. Let a rule that keeps the workload's pods apart select these alone. Refine a spread constraint: nodeTaintsPolicy, nodeAffinityPolicy, matchLabelKeys, minDomains, maxSkew.
//  3. Ask for a similar key or resource that nodes have, or one of the same vendor, tolerate the value that a taint has, or both, or select the labels that the pod itself has. Add the label
//     that nodes or the pod's volume lack, or ask for a value that nodes have, of labels or of devices. Give a claim without a volume one: let a free volume
//     or the claim be as the other is.
//  4. Let a rollout stop old pods before it starts new ones.
//  5. Delete a claim that cannot get the pod where it can run, and create it again. Delete the pod with its claim, with a new volume where volumes are local.
//  6. Take another port of the host, if pods of other workloads hold it. Give the pods a priority class that exists.
//  7. Request less: the most that helps; fewer devices. Label a node for the RuntimeClass of the pod. Let a node offer more pods, huge pages, devices or volumes. Give the pod a claim on devices of its own.
//     Delete a pod that finds another node and makes room.
//  8. Tolerate a taint that the workload seems to be meant to tolerate, or a taint of devices. Remove the taints of a node, where every node has some.
//  9. Let an affinity look in the namespaces that have its pods. Soften a hard rule, of the pod or of pods that keep it away; remove it if it
//     cannot be softened.
//  10. Raise a limit of the Cluster Autoscaler. Add a node.
//  11. Run fewer replicas.
//  12. If nothing else helps all pods of the workload, add several nodes of a kind: the fewest that leave as few of them Pending as very many do.
//  13. If that does not help, pairs: a change of a rule with a new node, another strategy or a change of another rule.
func Fixes(ctx context.Context, result *simulation.Result, step string, pod *v1.Pod, opts Options) (fixes []Fix, tried []string, err error) {
	s, err := findStep(result, step)
	if err != nil {
		return nil, nil, err
	}
	upTo := result.UpTo(step)
	course, err := simulation.NewCourse(upTo)
	if err != nil {
		return nil, nil, err
	}
	defer course.Close()
	p, err := newPendingPod(course, s, pod)
	if err != nil {
		return nil, nil, err
	}
	fixes, tried, err = p.fixes(ctx, opts)
	return fixes, tried, err
}

// fixes tries the single changes; if none helps, several nodes; if these do not help, the pairs.
func (p *pendingPod) fixes(ctx context.Context, opts Options) ([]Fix, []string, error) {
	s := search{opts: opts}
	err := s.try(ctx, p.singleAttempts())
	if whole := func(fix Fix) bool { return fix.OfWorkload == 0 }; err == nil && !slices.ContainsFunc(s.found, whole) {
		err = s.try(ctx, p.addSeveralNodes())
	}
	if err == nil && len(s.found) == 0 {
		err = s.try(ctx, p.pairAttempts())
	}
	return s.sorted(), s.tried, err
}

// search is what was found so far.
type search struct {
	opts  Options
	found []Fix
	fewer []Fix // the last resort
	tried []string
}

func (s *search) try(ctx context.Context, attempts []attempt) error {
	for i, a := range attempts {
		s.opts.progress(i, len(attempts))
		fix, err := a.try(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", a.changes[0], err)
		case fix == nil:
			s.tried = append(s.tried, a.changes...)
		case a.gone:
			s.fewer = append(s.fewer, *fix)
		default:
			s.found = append(s.found, *fix)
		}
	}
	s.opts.progress(len(attempts), len(attempts))
	return nil
}

// sorted are the fixes that leave no pod of the workload Pending and cost no other pod its node and no data, those that cost some, the others, and
// fewer replicas.
func (s *search) sorted() []Fix {
	rank := func(fix Fix) int {
		switch {
		case fix.OfWorkload > 0:
			return 2
		case fix.Displaced > 0 || fix.DataLost:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.found, func(a, b Fix) int { return rank(a) - rank(b) })
	return append(s.found, s.fewer...)
}

// singleAttempts returns the attempts with one change, in the order in which Fixes lists them.
func (p *pendingPod) singleAttempts() []attempt {
	if gates := p.ungate(); gates != nil {
		return gates
	}
	if named := p.nameScheduler(); named != nil {
		return named
	}
	if created := p.createGroup(); created != nil {
		return created
	}
	if named := p.nameTemplates(); named != nil {
		return named
	}
	if created := p.createClaims(); created != nil {
		return created
	}
	return slices.Concat(p.uncordonAttempts(), p.endNodeStates(), p.deleteOld(), p.selectOwnPods(), p.refineSpreads(), p.selectSimilar(), p.askForSimilar(), p.correctTolerations(), p.correctLabelAndToleration(), p.selectOwnLabels(), p.labelNodes(), p.selectPresent(), p.loosenSelectors(),
		p.labelVolumes(), p.provideVolumes(), p.stopOldPodsFirst(), p.renewClaims(), p.deleteClaim(), p.movePorts(), p.raisePriority(), p.requestLess(), p.labelForRuntime(), p.askForFewerDevices(), p.offerMore(), p.attachMore(),
		p.claimAlone(), p.moveOthers(), p.tolerate(), p.removeTaints(), p.tolerateDevices(), p.lookElsewhere(), p.soften(), p.softenOthers(), p.raiseMaxima(), p.addNodeAttempts(), p.fewerReplicas())
}

// attempt is one way to help the pod.
type attempt struct {
	// changes describes what is tried.
	changes []string
	// try makes the changes and returns the fix, or nil if they do not help.
	try func(context.Context) (*Fix, error)
	// gone means that the pod itself may disappear.
	gone bool
}

// attemptOne returns the attempt that tries one candidate.
func (w *stuckWorkload) attemptOne(c candidate) attempt { return w.attemptFirst([]candidate{c})[0] }

// attemptFirst returns the attempt that takes the first of several candidates that helps; none if there is no candidate.
func (w *stuckWorkload) attemptFirst(candidates []candidate) []attempt {
	if len(candidates) == 0 {
		return nil
	}
	var changes []string
	for i := range candidates {
		changes = append(changes, candidates[i].change)
	}
	return []attempt{{changes: changes, try: func(ctx context.Context) (*Fix, error) {
		for i := range candidates {
			if fix, err := w.tryCandidate(ctx, &candidates[i]); fix != nil || err != nil {
				return fix, err
			}
		}
		return nil, nil
	}}}
}

// attemptAs is attemptFirst for candidates that stand under one name in the list of what was tried.
func (w *stuckWorkload) attemptAs(change string, candidates []candidate) []attempt {
	attempts := w.attemptFirst(candidates)
	for i := range attempts {
		attempts[i].changes = []string{change}
	}
	return attempts
}

// attemptMost returns the attempt that finds an amount by bisection: helps should help the most, and fails helps nothing. The fix has the amount
// nearest to fails that leaves no more pods of the workload Pending than helps does. To request less CPU, helps is 1m and fails the present
// request.
func (w *stuckWorkload) attemptMost(change string, helps, fails int64, of func(amount int64) candidate) attempt {
	return w.mostNear(change, helps, fails, fails, of)
}

// mostNear is most with an amount that is likely to be found. It saves runs, and changes nothing else.
func (w *stuckWorkload) mostNear(change string, helps, fails, likely int64, of func(amount int64) candidate) attempt {
	return attempt{changes: []string{change}, try: func(ctx context.Context) (*Fix, error) {
		try := func(amount int64) (*Fix, error) {
			c := of(amount)
			return w.tryCandidate(ctx, &c)
		}
		fix, err := try(helps)
		if fix == nil || err != nil {
			return nil, err
		}
		return bisectAmount(helps, fails, likely, fix, try)
	}}
}

// bisectAmount bisects between an amount that helps and one that does not, and returns the result of the former. An amount helps if it leaves no
// more pods of the workload Pending than the first did. The likely amount is tried first, and then the next one: if the one helps and the other does
// not, these two runs do.
func bisectAmount(helps, fails, likely int64, fix *Fix, try func(amount int64) (*Fix, error)) (*Fix, error) {
	step := int64(1)
	if fails < helps {
		step = -1
	}
	between := func(amount int64) bool { return (amount-helps)*step > 0 && (fails-amount)*step > 0 }
	for helps-fails > 1 || fails-helps > 1 {
		middle := (helps + fails) / 2
		switch {
		case between(likely):
			middle = likely
		case helps == likely:
			middle = likely + step
		}
		found, err := try(middle)
		if err != nil {
			return nil, err
		}
		if found != nil && found.OfWorkload <= fix.OfWorkload {
			helps, fix = middle, found
		} else {
			fails = middle
		}
	}
	return fix, nil
}

// tryCandidate makes the change after the step, and returns nil if it does not help. What the API server refuses does not.
func (w *stuckWorkload) tryCandidate(ctx context.Context, c *candidate) (*Fix, error) {
	steps, err := w.stepsOf(c)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	if err := w.course.Rewind(0); err != nil {
		return nil, err
	}
	for i := range steps {
		if done, err := w.doStep(ctx, &steps[i]); !done {
			return nil, err
		}
	}
	return w.helps(ctx, c, steps)
}

// describeChange describes the change. It mentions the recreation of a pod or a Job, whose specs cannot change, and of the Job that a CronJob has
// made already.
func (w *stuckWorkload) describeChange(c *candidate) string {
	if c.edit != nil && (w.owner.Kind == "Pod" || w.owner.Kind == "Job") {
		return fmt.Sprintf("delete %s and create it with: %s", w.owner, c.change)
	}
	if c.edit != nil && w.owner.Kind == "CronJob" && w.job != "" {
		return fmt.Sprintf("%s in %s, then delete job/%s, which keeps its template, and start a run", c.change, w.owner, w.job)
	}
	return c.change
}

// doStep does a step, and reports whether that was possible.
func (w *stuckWorkload) doStep(ctx context.Context, step *scenario.LoadedStep) (bool, error) {
	_, err := w.course.DoLoaded(ctx, *step)
	if errors.As(err, new(*simulation.StepError)) {
		return false, nil
	}
	return err == nil, err
}
