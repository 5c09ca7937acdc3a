package variant

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/check"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/scenario"
)

// Maker derives variants of one scenario. If several variants change an object in the same way, the Maker changes it once and they share
// the result: their runs then share the steps whose objects are the same.
type Maker struct {
	base           *scenario.Scenario
	changedObjects map[changeKey]cluster.Object
	sizedScenarios []sizedScenario
}

// changeKey is the key of a changed object: the key of the change, and the object before it.
type changeKey struct {
	key string
	obj cluster.Object
}

// NewMaker returns a maker of variants of the scenario. It is not safe for concurrent use.
func NewMaker(base *scenario.Scenario) *Maker {
	return &Maker{base: base, changedObjects: map[changeKey]cluster.Object{}}
}

// Vary returns the scenario with a change of objects: nodes, patches, replicas, rules or steps, or with an autoscaler whose groups name their
// nodes. The error lists all problems of the change.
// Each begins with from, which says where the change comes from, such as a flag.
func (m *Maker) Vary(v *scenario.Variant, from string) (*scenario.LoadedVariant, error) {
	return m.VaryContext(context.Background(), v, from)
}

// VaryUnchecked does the same without checking the resulting scenario. The check admits all of its objects, as a run does anyway.
func (m *Maker) VaryUnchecked(v *scenario.Variant, from string) (*scenario.LoadedVariant, error) {
	return m.vary(context.Background(), v, from, false)
}

// VaryContext does what [Maker.Vary] does until the context ends. It then returns the context's cause as the error.
func (m *Maker) VaryContext(ctx context.Context, v *scenario.Variant, from string) (*scenario.LoadedVariant, error) {
	return m.vary(ctx, v, from, true)
}

func (m *Maker) vary(ctx context.Context, v *scenario.Variant, from string, checked bool) (*scenario.LoadedVariant, error) {
	p := &scenario.Problems{File: from}
	ofKarmada := func(target scenario.Target) bool {
		kind, _, is := scenario.ParseKarmada(target.Target)
		return is && kind == federation.KindCluster && m.base.Federated()
	}
	if scenario.ValidateVariant(p, nil, v, ofKarmada); p.Len() > 0 {
		return nil, p.Err()
	}
	back, err := sched.SwitchRelease(m.base.Config.Release())
	if err != nil {
		return nil, err
	}
	defer back()
	varied := scenario.NewVariant(m.base, v)
	if v.Autoscaler != nil {
		varied.Scenario.Autoscaler = v.Autoscaler
	}
	if checked {
		m.ChangeAndCheck(ctx, p, varied, v, nil)
	} else {
		m.changeObjects(ctx, p, varied, v, nil)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return varied, p.Err()
}

// ChangeAndCheck changes the objects of varied, without the patches for which leaveOut is true, and checks the resulting scenario. If the context
// ends, the change is incomplete.
func (m *Maker) ChangeAndCheck(ctx context.Context, p *scenario.Problems, varied *scenario.LoadedVariant, v *scenario.Variant, leaveOut func(*scenario.Patch) bool) {
	if m.changeObjects(ctx, p, varied, v, leaveOut); p.Len() == 0 && ctx.Err() == nil {
		check.Check(ctx, p, varied.Scenario)
	}
}

// changeObjects does the same without the check.
func (m *Maker) changeObjects(ctx context.Context, p *scenario.Problems, varied *scenario.LoadedVariant, v *scenario.Variant, leaveOut func(*scenario.Patch) bool) {
	if len(v.Nodes) > 0 {
		m.replaceNodes(p, varied, v.Nodes)
	}
	for i := 0; i < len(v.Patches) && ctx.Err() == nil; i++ {
		if leaveOut == nil || !leaveOut(&v.Patches[i]) {
			m.applyPatch(p, varied, field.NewPath("patches").Index(i), &v.Patches[i])
		}
	}
	for _, target := range slices.Sorted(maps.Keys(v.Replicas)) {
		if ctx.Err() != nil {
			return
		}
		m.setReplicas(p, varied, target, v.Replicas[target])
	}
	for i := 0; i < len(v.Rules) && ctx.Err() == nil; i++ {
		m.keepApart(ctx, p, varied, field.NewPath("rules").Index(i), &v.Rules[i])
	}
	if len(v.Steps) > 0 {
		*varied.Scenario = *varied.Scenario.AppendQuestion(v.Steps...)
		scenario.ValidateQuestionSteps(p, varied.Scenario)
	}
}

// memoizeChange returns a change that is applied to each object only once for all changes with the key.
func (m *Maker) memoizeChange(key string, f objectChange) objectChange {
	return func(obj cluster.Object) cluster.Object {
		after, found := m.changedObjects[changeKey{key, obj}]
		if !found {
			after = f(obj)
			m.changedObjects[changeKey{key, obj}] = after
		}
		return after
	}
}

// applyPatch patches the object wherever the scenario has it.
func (m *Maker) applyPatch(p *scenario.Problems, varied *scenario.LoadedVariant, path *field.Path, patch *scenario.Patch) {
	s := varied.Scenario
	if kind, name, is := scenario.ParseKarmada(patch.Target.Target); is && s.Federated() {
		if kind == federation.KindCluster {
			patchCluster(p, s, path, patch, name)
		}
		return
	}
	wanted, found := s.FindObject(p, path.Child("target"), patch.Target)
	if !found {
		return
	}
	if in, name := cluster.SplitName(wanted.Name); in != "" {
		m.patchMemberObject(p, s, path, patch, in, cluster.Ref{Kind: wanted.Kind, Namespace: wanted.Namespace, Name: name})
	} else {
		m.patchObject(p, s, path, patch, wanted)
	}
	s.Patched = appendOwner(s.Patched, wanted)
	varied.AddWorkload(wanted)
}

// patchMemberObject patches an object that only one member of a federation has, such as a node.
func (m *Maker) patchMemberObject(p *scenario.Problems, s *scenario.Scenario, path *field.Path, patch *scenario.Patch, in string, wanted cluster.Ref) {
	i := slices.IndexFunc(s.Members, func(m scenario.Member) bool { return m.Name == in })
	if i < 0 {
		p.Add(path.Child("target"), "%s is in cluster %s, which joins later; change it in the step that lets it join", wanted.Describe(), in)
		return
	}
	alone := &scenario.Scenario{Cluster: s.Members[i].Objects}
	m.patchObject(p, alone, path, patch, wanted)
	s.Members = slices.Clone(s.Members)
	s.Members[i] = scenario.NewMember(s.Members[i].Cluster, alone.Cluster)
}

// patchObject patches the object in the scenario, and prepares the pods of the object if the patch changes its template.
func (m *Maker) patchObject(p *scenario.Problems, s *scenario.Scenario, path *field.Path, patch *scenario.Patch, wanted cluster.Ref) {
	rolled := IsRolledOut(s, wanted)
	apply := func(obj cluster.Object) (cluster.Object, error) {
		if cluster.RefTo(obj) != wanted {
			return obj, nil
		}
		patched, err := patch.Apply(obj)
		if err == nil && rolled {
			patched = raiseGeneration(obj, patched)
		}
		return patched, err
	}
	key, err := json.Marshal(patch)
	if err != nil {
		p.AddLines(path, err)
		return
	}
	patched := applyChange(s, m.memoizeChange(fmt.Sprint(string(key), rolled), func(obj cluster.Object) cluster.Object {
		after, err := apply(obj)
		if err != nil {
			p.AddLines(path.Child("patch"), err)
			return obj
		}
		return after
	}), apply)
	if before := podSpecOf(s, wanted); before != nil && !equality.Semantic.DeepEqual(before, podSpecOf(patched, wanted)) {
		patched, _ = beginChange(patched, wanted)
	}
	*s = *patched
}

// patchCluster patches a member of a federation, as the member is when it joins.
func patchCluster(p *scenario.Problems, s *scenario.Scenario, path *field.Path, patch *scenario.Patch, name string) {
	var names []string
	patched := func(m scenario.Member) scenario.Member {
		if names = append(names, m.Name); m.Name != name {
			return m
		}
		after, err := patch.ApplyToCluster(m.Cluster)
		if err != nil {
			p.AddLines(path.Child("patch"), err)
			return m
		}
		return scenario.NewMember(after, m.Objects)
	}
	s.Members, s.Steps = slices.Clone(s.Members), slices.Clone(s.Steps)
	for i := range s.Members {
		s.Members[i] = patched(s.Members[i])
	}
	for i := range s.Steps {
		if joined := s.Steps[i].Karmada.Joined; joined != nil {
			after := patched(*joined)
			s.Steps[i].Karmada.Joined = &after
		}
	}
	if !slices.Contains(names, name) {
		p.Add(path.Child("target"), "there is no cluster %q; %s", name, scenario.ListChoices(name, names))
	}
}

// setReplicas sets the number of replicas that a workload has after the last step.
func (m *Maker) setReplicas(p *scenario.Problems, varied *scenario.LoadedVariant, target string, replicas int32) {
	s := varied.Scenario
	owner, found := s.FindWorkload(p, field.NewPath("replicas").Key(target), target)
	if !found {
		return
	}
	last := scenario.WorkloadsStep
	if len(s.Steps) > 0 {
		last = s.Steps[len(s.Steps)-1].Name
	}
	f := newReplicasChange(owner, replicas)
	*s = *setScale(s, owner, last, replicas, m.memoizeChange(fmt.Sprint(target, replicas), f), f)
	varied.AddWorkload(owner)
}

// podSpecOf returns the spec of the owner's pods where the scenario first has the owner, or nil.
func podSpecOf(s *scenario.Scenario, owner cluster.Ref) *v1.PodSpec {
	obj := cluster.Find(s.Objects(), owner)
	if obj == nil {
		return nil
	}
	spec, _ := cluster.PodSpec(obj)
	return spec
}
