package lint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// findRollout returns the subject's rollout in the step, and whether it is complete: all of the subject's pods run.
func findRollout(s *subject, step *simulation.Step) (controller.Rollout, bool) {
	i := slices.IndexFunc(step.Rollouts, func(r controller.Rollout) bool {
		return r.Kind == s.owner.Kind && r.Namespace == s.owner.Namespace && r.Name == s.owner.Name
	})
	if i < 0 {
		return controller.Rollout{}, false
	}
	return step.Rollouts[i], step.Rollouts[i].Complete
}

// isRestartTelling reports whether a restart of the subject can show a problem: the subject has settled, and has a hard rule about its own pods, or
// creates new pods before the old ones are gone and needs something exclusive that the old pods hold.
func (s *subject) isRestartTelling() bool {
	if !s.nodesKept {
		return false
	}
	if _, done := findRollout(s, s.step); !done {
		return false
	}
	switch o := s.object.(type) {
	case *appsv1.Deployment:
		if s.replicas == 0 || o.Spec.Paused {
			return false
		}
		first := deploymentutil.IsRollingUpdate(o) && deploymentutil.MaxUnavailable(*o) == 0
		return first && s.holdsExclusiveResource() || slices.ContainsFunc(s.terms(), func(t term) bool { return t.Hard && t.Kind != rule.Affinity && t.selectsOwnPods() })
	case *appsv1.DaemonSet:
		rolling := o.Spec.UpdateStrategy.RollingUpdate
		return rolling != nil && rolling.MaxSurge != nil && rolling.MaxSurge.String() != "0" && s.holdsExclusiveResource()
	}
	return false
}

// holdsExclusiveResource reports whether a pod of the subject holds something that exists once or a few times on a node or in the cluster, and that another
// pod of the subject needs, too: a host port, a claim, a device.
func (s *subject) holdsExclusiveResource() bool {
	spec := &s.pod.Spec
	if len(spec.ResourceClaims) > 0 || slices.ContainsFunc(spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(spec.Containers, spec.InitContainers), func(c v1.Container) bool {
		for name := range c.Resources.Limits { // extended resources always have limits
			if v1helper.IsExtendedResourceName(name) || v1helper.IsHugePageResourceName(name) {
				return true
			}
		}
		return slices.ContainsFunc(c.Ports, func(port v1.ContainerPort) bool { return port.HostPort > 0 })
	})
}

func (s *subject) target() scenario.Target {
	return scenario.Target{Target: strings.ToLower(s.owner.Kind) + "/" + s.owner.Name, Namespace: s.owner.Namespace}
}

// restartStep returns a step that does kubectl rollout restart of the subject.
func (s *subject) restartStep() scenario.Step {
	return scenario.Step{Name: "lint-restart", Rollout: &scenario.Rollout{Target: s.target(), Restart: true}}
}

func (l *inspection) deriveRestart(s *subject) (key string, derived *scenario.Scenario) {
	return "restart " + s.specVersion(), l.result.Scenario.CutAfter(s.step.Name).AppendStep(s.restartStep())
}

// runRestart returns the step that restarts the subject, or nil if a restart can show no problem.
func (l *inspection) runRestart(s *subject) (*simulation.Step, error) {
	if !s.isRestartTelling() {
		return nil, nil
	}
	return l.runToLastStep(l.deriveRestart(s))
}

// runAllRestarts runs all restarts that the checks will ask for, on all cores: in a large cluster the restarts take most of the time.
func (l *inspection) runAllRestarts(progress func(s *subject, done, total int)) error {
	var subjects []*subject
	var keys []string
	var all []*scenario.Scenario
	for _, s := range l.subjects {
		if !s.isRestartTelling() {
			continue
		}
		if key, derived := l.deriveRestart(s); !slices.Contains(keys, key) {
			subjects, keys, all = append(subjects, s), append(keys, key), append(all, derived)
		}
	}
	l.restartCount = len(all)
	steps := make([]*simulation.Step, len(all))
	opts := parallel.Options{Progress: func(last, done int) { progress(subjects[last], done, len(all)) }}
	err := simulation.Each(l.ctx, l.result.Scenario, len(all), opts, func(ctx context.Context, w world.World, i int) error {
		result, err := simulation.Run(ctx, all[i], simulation.Options{Prefix: l.result, World: w})
		if err == nil {
			steps[i] = result.Last()
		}
		return err
	})
	for i, key := range keys {
		if steps[i] != nil {
			l.lastSteps[key] = steps[i]
		}
	}
	return err
}

const (
	// minRestartTrials is the smallest number of restarts with random ties that shows what can happen, and maxRestartTrials is a sufficient
	// number.
	minRestartTrials, maxRestartTrials = 10, 40
	// maxTriedPlacements is the largest product of trials, workloads that restart, nodes and pods; it takes about a second.
	maxTriedPlacements = 50_000
)

// dependsOnTies reports whether ties can decide how a restart of the subject ends: where its pods land among the old pods, or beside their
// volume.
func (s *subject) dependsOnTies() bool {
	return slices.ContainsFunc(s.terms(), func(t term) bool { return t.Kind == rule.Spread && t.Hard && t.selectsOwnPods() && !t.isPerRevision() }) ||
		slices.ContainsFunc(s.pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil })
}

// runRestartWithRandomTies returns the last steps of restarts of the subject's current pods with random ties, seed by seed: fewer in larger
// clusters, and none if they would take too long.
func (l *inspection) runRestartWithRandomTies(s *subject) ([]*simulation.Step, error) {
	trials := min(maxRestartTrials, maxTriedPlacements/(max(1, l.restartCount)*max(1, len(l.nodes)*(len(s.step.State.Pods)+s.replicas))))
	if trials < minRestartTrials || !s.dependsOnTies() {
		return nil, nil
	}
	key := s.specVersion()
	if steps, ran := l.restartTrials[key]; ran {
		return steps, nil
	}
	known := *l.result
	known.Scenario = l.result.Scenario.CutAfter(s.step.Name)
	known.Steps = l.result.Steps[:1+slices.IndexFunc(l.result.Steps, func(step simulation.Step) bool { return step.Name == s.step.Name })]
	steps := make([]*simulation.Step, trials)
	err := simulation.Each(l.ctx, known.Scenario, trials, parallel.Options{}, func(ctx context.Context, w world.World, i int) error {
		course, err := simulation.Continue(w, &known, simulation.Options{})
		if err != nil {
			return err
		}
		ties := known.Scenario.Ties
		ties.Random, ties.Seed = true, uint64(i)+1
		if err := w.ResetTo(ties); err != nil {
			return err
		}
		if steps[i], err = course.Do(ctx, s.restartStep()); err == nil {
			steps[i].Rollouts = controller.Rollouts(steps[i].State)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	l.restartTrials[key] = steps
	return steps, nil
}

// rolloutDeadlock finds workloads whose restart never ends, always or with some random ties.
func rolloutDeadlock(l *inspection, s *subject) ([]Finding, error) {
	step, err := l.runRestart(s)
	if err != nil || step == nil {
		return nil, err
	}
	of := ""
	rollout, done := findRollout(s, step)
	if done {
		steps, err := l.runRestartWithRandomTies(s)
		if err != nil {
			return nil, err
		}
		stuck := slices.DeleteFunc(slices.Clone(steps), func(step *simulation.Step) bool { _, done := findRollout(s, step); return done })
		if len(stuck) == 0 {
			return nil, nil
		}
		step, of = stuck[0], fmt.Sprintf(" in %d of %d runs with random ties", len(stuck), len(steps))
		rollout, _ = findRollout(s, step)
	}
	f := Finding{Field: strategyField(s),
		Message: fmt.Sprintf("kubectl rollout restart would never end%s, at %d of %d updated: %s", of, rollout.Updated, rollout.Desired, strings.TrimSuffix(rollout.Waiting, "."))}
	if rollout.OnlyScales {
		f.Field, f.Fix = "spec.replicas", fmt.Sprintf("scale it to %d replicas and back, which writes the annotation anew", rollout.Desired+1)
		return []Finding{f}, nil
	}
	causes, err := l.findCauses(s, step)
	if err != nil {
		return nil, err
	}
	f.Brief = fmt.Sprintf("a rollout never ends%s, at %d of %d updated", of, rollout.Updated, rollout.Desired)
	why := cause.Brief(causes)
	for _, r := range step.State.Refused {
		if r.Ref == s.owner && r.OfWorkload() {
			why = r.Reason()
		}
	}
	if why != "" {
		f.Brief += ": " + why
	}
	if len(causes) > 0 {
		if t := s.refusingTerm(causes[0]); t != nil {
			f.Field = t.field()
		}
		if causes[0].PodAffinity == nil {
			f.Message += "; " + causes[0].Sentence
		}
	}
	f.Fix, err = l.findRolloutFix(s, causes)
	return []Finding{f}, err
}

func strategyField(s *subject) string {
	if s.owner.Kind == "DaemonSet" {
		return "spec.updateStrategy"
	}
	return "spec.strategy"
}

// findCauses returns the causes for which the subject's first Pending pod is Pending in the step, in the order of [cause.Compare]. It returns none
// if no pod is Pending, for example because a volume is still attached elsewhere.
func (l *inspection) findCauses(s *subject, step *simulation.Step) ([]cause.Cause, error) {
	owner := step.State.Owners()
	for _, p := range step.Pending {
		if owner(p.Pod) != s.owner {
			continue
		}
		finder, err := l.causeFinder()
		if err != nil {
			return nil, err
		}
		causes, err := finder.Causes(l.ctx, step.State, p.Pod)
		slices.SortStableFunc(causes, cause.Compare)
		return causes, err
	}
	return nil, nil
}

// refusingTerm returns the subject's hard rule that is the cause, or nil if the cause is another one.
func (s *subject) refusingTerm(c cause.Cause) *term {
	for _, t := range s.terms() {
		switch {
		case !t.Hard || !t.selectsOwnPods():
		case c.Spread != nil && t.Kind == rule.Spread && t.TopologyKey == c.Spread.TopologyKey, c.PodAffinity != nil && t.keepsOwnPodsApart():
			return &t
		}
	}
	return nil
}

// remedy is a change of a workload as a JSON patch, with an instruction for the user.
type remedy struct {
	instruction string
	patch       []map[string]any
}

func addOperation(path string, value any) []map[string]any {
	return []map[string]any{{"op": "add", "path": path, "value": value}}
}

// jsonPointer converts a field's path to a JSON pointer.
func jsonPointer(field string) string {
	return "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(field)
}

// remedies returns changes that may let the subject's restart end, the mildest first.
func (s *subject) remedies(causes []cause.Cause) []remedy {
	var all []remedy
	for _, c := range causes {
		t := s.refusingTerm(c)
		if t == nil || c.Spread == nil {
			continue
		}
		if c.Spread.IgnoresTaints {
			all = append(all, remedy{"set nodeTaintsPolicy: Honor in the constraint, so that only nodes count that take such pods", addOperation(jsonPointer(t.field())+"/nodeTaintsPolicy", "Honor")})
		}
		if !t.isPerRevision() {
			all = append(all, s.perRevisionRemedy(t))
		}
	}
	oldFirst := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 0, "maxUnavailable": 1}}
	switch o := s.object.(type) {
	case *appsv1.Deployment:
		if deploymentutil.MaxSurge(*o) > 0 {
			all = append(all, remedy{"set maxUnavailable: 1 and maxSurge: 0 in spec.strategy.rollingUpdate, so that an old pod goes first", addOperation("/spec/strategy", oldFirst)})
		}
		if deploymentutil.IsRollingUpdate(o) && !waitsForCPUOrMemory(causes) {
			all = append(all, remedy{"set spec.strategy.type: Recreate, so that all old pods go first", addOperation("/spec/strategy", map[string]any{"type": "Recreate"})})
		}
	case *appsv1.DaemonSet:
		all = append(all, remedy{"set maxUnavailable: 1 and maxSurge: 0 in spec.updateStrategy.rollingUpdate, so that the old pod of a node goes first", addOperation("/spec/updateStrategy", oldFirst)})
	}
	return all
}

// perRevisionRemedy returns the change that makes a spread constraint count only pods of one revision.
func (s *subject) perRevisionRemedy(t *term) remedy {
	return remedy{fmt.Sprintf("give the constraint matchLabelKeys: [%s]", appsv1.DefaultDeploymentUniqueLabelKey),
		addOperation(jsonPointer(t.field())+"/matchLabelKeys", append(slices.Clone(t.matchLabelKeys), appsv1.DefaultDeploymentUniqueLabelKey))}
}

// runRestartAfter returns the step that restarts the subject after the remedy was applied and rolled out. It returns nil if the remedy
// cannot be applied, for example to a rule that an admission policy adds.
func (l *inspection) runRestartAfter(s *subject, r remedy) (*simulation.Step, error) {
	patch, err := json.Marshal(r.patch)
	if err != nil {
		return nil, err
	}
	change := scenario.Step{Name: "lint-change", Patch: &scenario.Patch{Target: s.target(), Type: "json", Patch: runtime.RawExtension{Raw: patch}}}
	step, err := l.runToLastStep(fmt.Sprintf("restart %s after %s", s.specVersion(), patch), l.result.Scenario.CutAfter(s.step.Name).AppendStep(change).AppendStep(s.restartStep()))
	var impossible *simulation.StepError
	if errors.As(err, &impossible) {
		return nil, nil
	}
	return step, err
}

// waitsForCPUOrMemory reports whether the pods wait for CPU or memory. Then Recreate is no remedy, because all pods of a full cluster wait for that room,
// and could take what the old pods give up.
func waitsForCPUOrMemory(causes []cause.Cause) bool {
	return len(causes) > 0 && causes[0].Resource != nil && v1helper.IsNativeResource(causes[0].Resource.Resource)
}

// findRolloutFix returns the first remedy with which the subject's restart ends, or general advice if there is none.
func (l *inspection) findRolloutFix(s *subject, causes []cause.Cause) (string, error) {
	for _, r := range s.remedies(causes) {
		step, err := l.runRestartAfter(s, r)
		if err != nil {
			return "", err
		}
		if step == nil {
			continue
		}
		if _, done := findRollout(s, step); done {
			return r.instruction, nil
		}
	}
	return "make room for one more of its pods first: a rollout that stops old pods first does not end either", nil
}

// matchLabelKeysMissing finds hard spread constraints that count the pods of the old revision, and so leave the pods of the new revision skewed,
// always or with some random ties.
func matchLabelKeysMissing(l *inspection, s *subject) ([]Finding, error) {
	step, err := l.runRestart(s)
	if err != nil || step == nil {
		return nil, err
	}
	var found []Finding
	for _, t := range s.terms() {
		if t.Kind != rule.Spread || !t.Hard || !t.selectsOwnPods() || t.isPerRevision() || t.countsNothing() {
			continue
		}
		steps, in := []*simulation.Step{step}, ""
		skewed, most, together := l.countSkewed(s, &t, steps)
		if skewed == 0 {
			if steps, err = l.runRestartWithRandomTies(s); err != nil {
				return nil, err
			}
			skewed, most, together = l.countSkewed(s, &t, steps)
			in = fmt.Sprintf(" in %d of %d runs with random ties", skewed, len(steps))
		}
		if skewed == 0 {
			continue
		}
		fix := s.perRevisionRemedy(&t)
		if measureSkew(s.pods(), l.countedNodes(&t), t.TopologyKey) > int(t.MaxSkew) { // the pods were skewed before, so the skew may be unavoidable
			after, err := l.runRestartAfter(s, fix)
			if err != nil {
				return nil, err
			}
			if after == nil {
				continue
			}
			if still, _, _ := l.countSkewed(s, &t, []*simulation.Step{after}); still > 0 {
				continue
			}
		}
		all := ""
		if together > 0 {
			all = fmt.Sprintf(" (all %s in one %s)", words.Count(s.replicas, "pod"), cause.DomainNoun(t.TopologyKey))
		}
		found = append(found, Finding{Field: t.field(),
			Message: fmt.Sprintf("after kubectl rollout restart the pods are skewed by %d over %s%s%s, though maxSkew is %d: the old pods count while the new ones are placed",
				most, t.TopologyKey, in, all, t.MaxSkew),
			Brief: fmt.Sprintf("a rollout leaves its pods skewed by %d over %s%s, though maxSkew is %d", most, t.TopologyKey, in, t.MaxSkew),
			Fix:   fix.instruction})
	}
	return found, nil
}

// countSkewed returns the number of steps in which all of the subject's pods run and violate the constraint, the largest skew, and the number of
// these steps in which all pods share one domain.
func (l *inspection) countSkewed(s *subject, t *term, steps []*simulation.Step) (skewed, most, together int) {
	nodes := l.countedNodes(t)
	for _, step := range steps {
		after := s.inStep(step)
		now := measureSkew(after.pods(), nodes, t.TopologyKey)
		if _, done := findRollout(s, step); !done || now <= int(t.MaxSkew) {
			continue
		}
		skewed, most = skewed+1, max(most, now)
		if domain, _ := after.sharedDomain(t.TopologyKey); domain != "" {
			together++
		}
	}
	return skewed, most, together
}
