package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// edit is a change of a pod's spec that may free pods for which no new node helps.
type edit struct {
	change string
	// price says what the change costs in addition to the replacement of the pods.
	price []string
	spec  func(*v1.PodSpec)
}

// listPatches returns the patches to try for a workload with a pod that no number of nodes helps after the loss; see [ListPatches]. There is none
// for a pod whose volume is lost with the domain.
func (p *planner) listPatches(l *loss, blocked strandedPod, plugins map[string]bool) []Change {
	if p.lostVolume(l, blocked.Pod) != "" {
		return nil
	}
	return ListPatches(p.state, blocked.owner, len(p.crewsBefore[blocked.owner].Waiting), plugins)
}

// ListPatches returns the patches to try, one after another, the smallest first, for a workload whose pods have no node because of their rules.
// waiting is the number of its pods that are Pending today, and plugins are the scheduler plugins that refuse its pods; if there are none, any
// plugin may. There is no patch for an object that cannot be patched.
func ListPatches(state *cluster.State, owner cluster.Ref, waiting int, plugins map[string]bool) []Change {
	obj := cluster.Find(state.Objects(), owner)
	if obj == nil || owner.Kind == "Job" || owner.Kind == "Pod" {
		return nil
	}
	spec, path := cluster.PodSpec(obj)
	if spec == nil {
		return nil
	}
	var all []Change
	seen := map[string]bool{}
	for _, e := range listEdits(spec, plugins) {
		edited := spec.DeepCopy()
		e.spec(edited)
		data, err := jsonpatch.CreateMergePatch(nestedJSON(path, spec), nestedJSON(path, edited))
		if err != nil || string(data) == "{}" || seen[string(data)] {
			continue
		}
		seen[string(data)] = true
		c := Change{WorkloadRef: owner.Workload(), Change: e.change, Price: slices.Concat([]string{"its pods are replaced"}, e.price)}
		c.fixReplicasAnnotation(state, obj)
		target := scenario.Target{Target: owner.String(), Namespace: owner.Namespace}
		first := c
		c.appendPatch(target, data)
		all = append(all, c)
		if strategy := stopFirstStrategy(obj, waiting); strategy != nil {
			first.Change += fmt.Sprintf(", and let the rollout stop old pods before it starts new ones: maxSurge 0 and maxUnavailable %s", strategy.RollingUpdate.MaxUnavailable)
			first.appendPatch(target, mergePatches(data, nestedJSON("spec.strategy", strategy)))
			first.ifStuck = true
			all = append(all, first)
		}
	}
	return all
}

// Steps returns the steps that make the change.
func (c *Change) Steps() []scenario.Step { return c.steps }

// stopFirstStrategy returns the strategy with which a Deployment's rollout stops a pod before it starts another, even if some of its pods are
// Pending today. The rollout needs it because the rules of old pods hold until these are gone. It is nil for other kinds, and for a
// Deployment that recreates its pods.
func stopFirstStrategy(obj cluster.Object, waiting int) *appsv1.DeploymentStrategy {
	d, is := obj.(*appsv1.Deployment)
	if !is || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	none, some := intstr.FromInt32(0), intstr.FromInt(waiting+1)
	return &appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &some}}
}

// mergePatches returns the patch that makes both changes.
func mergePatches(patch, other []byte) []byte {
	both, err := jsonpatch.MergeMergePatches(patch, other)
	if err != nil {
		panic(err) // both were written by the planner
	}
	return both
}

// appendPatch appends a merge patch to the change, as a step and as a command.
func (c *Change) appendPatch(target scenario.Target, data []byte) {
	c.Commands = append(c.Commands, fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", target.Argument(), strings.ReplaceAll(string(data), "'", `'\''`)))
	c.steps = append(c.steps, scenario.Step{Name: "patch " + target.Argument(),
		Patch: &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: data}}})
}

// listEdits returns the changes that may free a pod of the spec, given the plugins that refuse it; if none is known, any plugin may. The
// changes of what a hard spread constraint counts come first, then each hard rule made soft, and last all of these rules made soft at once.
func listEdits(spec *v1.PodSpec, plugins map[string]bool) []edit {
	refuses := func(k rule.Kind) bool { return len(plugins) == 0 || plugins[k.Plugin()] }
	var all []edit
	if refuses(rule.Spread) {
		all = append(all, listRecountEdits(spec)...)
	}
	var last edit
	for _, r := range rule.List(spec) {
		if !r.Hard || r.Kind == rule.NodeAffinity || r.Kind == rule.NodeSelector {
			continue
		}
		e := edit{change: rule.Relax(spec.DeepCopy(), r), price: []string{priceOfSoftening(r)}, spec: func(spec *v1.PodSpec) { rule.Relax(spec, r) }}
		if refuses(r.Kind) {
			all = append(all, e)
		}
		last = last.combine(e)
	}
	for _, key := range placeLabels(spec) {
		e := edit{change: "make " + rule.SoftenLabel(spec.DeepCopy(), key) + " a preferred node affinity", price: []string{"they may run elsewhere"},
			spec: func(spec *v1.PodSpec) { rule.SoftenLabel(spec, key) }}
		if refuses(rule.NodeSelector) {
			all = append(all, e)
		}
		last = last.combine(e)
	}
	if len(all) > 0 {
		all = append(all, last)
	}
	return all
}

// combine returns an edit that makes both changes; the other edit finds its rule in the result of the first. The zero edit changes nothing.
func (e edit) combine(other edit) edit {
	if e.spec == nil {
		return other
	}
	return edit{change: e.change + ", and " + other.change, price: list.Distinct(slices.Concat(e.price, other.price)),
		spec: func(spec *v1.PodSpec) { e.spec(spec); other.spec(spec) }}
}

// listRecountEdits returns the edits that change what hard spread constraints count. Without nodeTaintsPolicy Honor, they count a failed zone as
// an empty domain, so that every other zone may have at most maxSkew pods. With fewer domains than minDomains, too, no domain may have more
// than maxSkew.
func listRecountEdits(spec *v1.PodSpec) []edit {
	of := func(holds func(*v1.TopologySpreadConstraint) bool, change func(*v1.TopologySpreadConstraint)) (keys []string, edited func(*v1.PodSpec)) {
		each := func(spec *v1.PodSpec, do func(*v1.TopologySpreadConstraint)) {
			for i := range spec.TopologySpreadConstraints {
				if c := &spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == v1.DoNotSchedule && holds(c) {
					do(c)
				}
			}
		}
		each(spec, func(c *v1.TopologySpreadConstraint) { keys = append(keys, c.TopologyKey) })
		return keys, func(spec *v1.PodSpec) { each(spec, change) }
	}
	var all []edit
	tainted, honor := of(func(c *v1.TopologySpreadConstraint) bool {
		return ptr.Deref(c.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyIgnore
	}, func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor) })
	if len(tainted) > 0 {
		all = append(all, edit{"nodeTaintsPolicy: Honor in the spread over " + strings.Join(tainted, " and "),
			[]string{"they spread no longer over nodes whose taints they do not tolerate"}, honor})
	}
	few, free := of(func(c *v1.TopologySpreadConstraint) bool { return ptr.Deref(c.MinDomains, 1) > 1 }, func(c *v1.TopologySpreadConstraint) { c.MinDomains = nil })
	if len(few) > 0 {
		all = append(all, edit{"no minDomains in the spread over " + strings.Join(few, " and "), []string{"fewer domains than that will do"}, free})
		if len(tainted) > 0 {
			all = append(all, all[0].combine(all[1]))
		}
	}
	return all
}

// priceOfSoftening says what it costs to make the rule soft.
func priceOfSoftening(r rule.Rule) string {
	switch r.Kind {
	case rule.Affinity:
		return "they may run apart from the pods that they want to be near"
	case rule.AntiAffinity:
		return "they may run together in one domain"
	}
	return "they may become uneven"
}

// placeLabels returns the labels of places, such as topology.kubernetes.io/zone, that the node selector or the required node affinity names,
// sorted. Other labels do not matter for a loss: pods for GPUs stay on nodes with GPUs.
func placeLabels(spec *v1.PodSpec) []string {
	var keys []string
	for key := range spec.NodeSelector {
		keys = append(keys, key)
	}
	for _, term := range cluster.RequiredTerms(spec) {
		for _, r := range term.MatchExpressions {
			keys = append(keys, r.Key)
		}
	}
	keys = list.Where(keys, func(key string) bool { return topology.IsTopologyLabel(key) || key == v1.LabelHostname })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// nestedJSON returns the JSON of an object with the value at the path, such as spec.template.spec.
func nestedJSON(path string, value any) []byte {
	fields := strings.Split(path, ".")
	for i := len(fields) - 1; i >= 0; i-- {
		value = map[string]any{fields[i]: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // the value was read from JSON
	}
	return data
}

// fixReplicasAnnotation adds a patch of the annotation that otherwise prevents every rollout of the Deployment: its ReplicaSet has the size that the
// Deployment asks for, but the annotation says that it was scaled for another size, as after a restore. It does nothing if there is no such
// ReplicaSet.
func (c *Change) fixReplicasAnnotation(state *cluster.State, obj cluster.Object) {
	d, is := obj.(*appsv1.Deployment)
	if !is {
		return
	}
	set := controller.FindStuckScale(state, d)
	if set == nil {
		return
	}
	c.Price = append(c.Price, "its controller updates nothing before the annotation "+controller.DesiredReplicasAnnotation+" of its ReplicaSet is right, as the first command makes it")
	c.appendPatch(scenario.Target{Target: "replicaset/" + set.Name, Namespace: set.Namespace},
		nestedJSON("metadata.annotations", map[string]any{controller.DesiredReplicasAnnotation: fmt.Sprint(*d.Spec.Replicas)}))
}
