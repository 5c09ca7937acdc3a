package loader

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// sourceContent holds what one source gives: its objects, and the custom resources that operators have yet to expand. For a step that patches, it
// holds the patch.
type sourceContent struct {
	objects     []cluster.Object
	resources   []manifest.Ignored
	patch       *scenario.Patch
	isKind      bool // the source is a kind cluster
	isSynthetic bool // the source has synthetic nodes
}

// scenarioContent holds what all sources of a scenario give. Custom resources refer to each other across sources, so the loader reads all sources
// of a moment before it expands any of them.
type scenarioContent struct {
	cluster, workloads, steps []sourceContent
}

// holdsResource reports whether the target names a custom resource.
func (r *scenarioContent) holdsResource(target scenario.Target) bool {
	for _, all := range [][]sourceContent{r.cluster, r.workloads, r.steps} {
		for i := range all {
			if slices.ContainsFunc(all[i].resources, func(resource manifest.Ignored) bool { return isResource(target, resource) }) {
				return true
			}
		}
	}
	return false
}

// hasKindNodes reports whether a source is a kind cluster.
func (r *scenarioContent) hasKindNodes() bool {
	return slices.ContainsFunc(slices.Concat(r.cluster, r.workloads, r.steps), func(read sourceContent) bool { return read.isKind })
}

// onlySyntheticNodes reports whether all nodes are synthetic.
func (r *scenarioContent) onlySyntheticNodes() bool {
	isNode := func(obj cluster.Object) bool { _, is := obj.(*v1.Node); return is }
	all := slices.Concat(r.cluster, r.workloads, r.steps)
	return slices.ContainsFunc(all, func(read sourceContent) bool { return read.isSynthetic }) &&
		!slices.ContainsFunc(all, func(read sourceContent) bool { return !read.isSynthetic && slices.ContainsFunc(read.objects, isNode) })
}

// isResource reports whether the target names the resource, as in kubectl: kafkacluster/main, or kafkaclusters.kafka.stackable.tech/main.
func isResource(target scenario.Target, resource manifest.Ignored) bool {
	word, name, found := strings.Cut(target.Target, "/")
	kind, group, _ := strings.Cut(strings.ToLower(word), ".")
	ofGroup, _, _ := strings.Cut(resource.APIVersion, "/")
	own := strings.ToLower(resource.Kind)
	ofKarmada, _, _ := scenario.ParseKarmada(target.Target)
	named := kind == own || kind == own+"s" || federation.IsKarmada(resource.APIVersion) && ofKarmada == resource.Kind
	return found && resource.JSON != nil && name == resource.Name && named && (group == "" || group == ofGroup) &&
		(federation.IsKarmada(resource.APIVersion) && isClusterScoped(resource) ||
			cmp.Or(target.Namespace, v1.NamespaceDefault) == cmp.Or(resource.Namespace, v1.NamespaceDefault))
}

// expander expands custom resources, and follows them through the steps.
type expander struct {
	*loader
	operators      []operator.Operator
	knownResources []manifest.Ignored             // the custom resources at the present step
	madeObjects    map[cluster.Ref]cluster.Object // the objects that operators have made so far
	podsInDump     map[string]bool                // the keys of resources whose pods a dump has

	templates map[string]*cluster.ResourceTemplate // in a federation: the template of each resource, by name
	members   []*federation.Cluster                // the members at the present step
}

func (l *loader) newExpander() *expander {
	return &expander{
		loader: l, operators: knownOperators(l.opts.Operators), madeObjects: map[cluster.Ref]cluster.Object{}, podsInDump: map[string]bool{}, templates: map[string]*cluster.ResourceTemplate{},
	}
}

// assemble gives the scenario the objects that were read, and the objects that operators make of the custom resources. A step also gets the
// objects that operators now change because of the step, although their resources are from before.
func (l *loader) assemble(s *scenario.Scenario, read *scenarioContent) {
	l.inputContent = read
	read.convertParams()
	l.dropBindingsWithoutParams(read)
	e := l.newExpander()
	if l.hasDeciders {
		l.keepResources(read, e.hasOperator)
	}
	for i := range s.Members {
		e.members = append(e.members, s.Members[i].Cluster)
	}
	e.updateKnown(read.cluster)
	ofCluster := slices.Clone(e.knownResources)
	e.updateKnown(read.workloads)
	l.step = ""
	s.Cluster = l.addDeviceClasses(e.expandSources(read.cluster))
	l.step = scenario.WorkloadsStep
	s.Workloads, s.Karmada = e.expandOrTemplate(read.workloads)
	for i := 0; i < len(read.steps) && !l.ended(); i++ {
		step, given := &s.Steps[i], read.steps[i]
		l.step = step.Name
		if step.Fresh && l.federation == nil {
			e.knownResources = slices.Clone(ofCluster)
		}
		if step.Karmada.Joined != nil {
			if joined := step.Karmada.Joined.Cluster; !slices.ContainsFunc(e.members, func(c *federation.Cluster) bool { return c.Name == joined.Name }) {
				e.members = append(e.members, joined)
			}
			continue
		}
		if given.patch != nil {
			e.patchKnownResource(s.StepPath(i).Child("patch"), step, given.patch)
			continue
		}
		if step.Delete != nil {
			if l.federation != nil {
				given.resources = append(slices.Clip(given.resources), e.findDeletedResources(s.StepPath(i).Child("delete", "targets"), step.Delete)...)
			}
			step.Objects, step.Karmada = e.expandOrTemplate([]sourceContent{given})
			e.knownResources = slices.DeleteFunc(e.knownResources, func(k manifest.Ignored) bool {
				return slices.ContainsFunc(given.resources, func(r manifest.Ignored) bool { return operator.ResourceKey(r) == operator.ResourceKey(k) })
			})
			continue
		}
		e.updateKnown([]sourceContent{given})
		step.Objects, step.Karmada = e.expandOrTemplate([]sourceContent{given})
		if slices.ContainsFunc(given.resources, e.hasOperator) {
			e.addChangedObjects(step)
		}
	}
	if l.federation != nil {
		l.addMemberStorage(s)
		return
	}
	if read.hasKindNodes() {
		l.addKindClass(s)
	}
	l.addAssumedClasses(s, read.onlySyntheticNodes())
}

func (e *expander) hasOperator(resource manifest.Ignored) bool {
	return operator.Knows(e.operators, resource)
}

// updateKnown adds the custom resources of a step to the known ones. A resource replaces an earlier one of the same name.
func (e *expander) updateKnown(given []sourceContent) {
	at := map[string]int{}
	for i := range e.knownResources {
		at[operator.ResourceKey(e.knownResources[i])] = i
	}
	for _, read := range given {
		for _, resource := range read.resources {
			name := operator.ResourceKey(resource)
			if i, found := at[name]; found {
				e.knownResources[i] = resource
				continue
			}
			at[name] = len(e.knownResources)
			e.knownResources = append(e.knownResources, resource)
		}
	}
}

// expandSources returns the objects of the sources and the objects that operators make of their custom resources, and keeps the other resources as
// ignored. An object that was read wins over one that an operator makes: a dump has a resource, the objects that its operator made, and
// their pods.
func (e *expander) expandSources(given []sourceContent) []cluster.Object {
	var all []cluster.Object
	for _, read := range given {
		there := list.KeySet(read.objects, cluster.RefTo)
		all = append(all, read.objects...)
		done := e.leaveToDump(read)
		uids := controllerUIDs(read.objects)
		for _, obj := range e.loader.keepOperatorResult(operator.Expand(e.operators, list.Without(read.resources, done), e.knownResources...)) {
			e.madeObjects[cluster.RefTo(obj)] = obj.DeepCopyObject().(cluster.Object)
			if uid := uids[cluster.RefTo(obj)]; !there[cluster.RefTo(obj)] && !e.standsForOwner(obj, uid) {
				all = append(all, obj)
			}
		}
	}
	return all
}

// controllerUIDs returns the UIDs of the controllers that pods of a dump name.
func controllerUIDs(objects []cluster.Object) map[cluster.Ref]types.UID {
	uids := map[cluster.Ref]types.UID{}
	for _, obj := range objects {
		if pod, is := obj.(*v1.Pod); is && cluster.FromDump(pod) {
			if by := metav1.GetControllerOfNoCopy(pod); by != nil {
				uids[cluster.Ref{Kind: by.Kind, Namespace: pod.Namespace, Name: by.Name}] = by.UID
			}
		}
	}
	return uids
}

// standsForOwner is about an object that an operator makes, and of which a dump has the pods but not the object itself; uid is what the pods call
// it, or "". A Job gets the pods. A StatefulSet would replace them, since its revisions are not known, so the owner of the pods stands for it.
func (e *expander) standsForOwner(obj cluster.Object, uid types.UID) bool {
	if uid == "" {
		return false
	}
	switch o := obj.(type) {
	case *appsv1.StatefulSet:
		e.resourcesInDump[uid] = []cluster.Object{o}
		return true
	case *batchv1.Job:
		selector := map[string]string{batchv1.ControllerUidLabel: string(uid)}
		o.UID, o.Spec.Selector = uid, &metav1.LabelSelector{MatchLabels: selector}
		o.Spec.Template.Labels = maps.Clone(o.Spec.Template.Labels)
		for _, label := range []string{batchv1.ControllerUidLabel, "controller-uid"} {
			metav1.SetMetaDataLabel(&o.Spec.Template.ObjectMeta, label, string(uid))
		}
	}
	return false
}

// leaveToDump finds the custom resources whose pods are in a dump. It keeps those that control the pods themselves for the owners of these pods,
// and the others as ignored. It returns a function that reports whether a resource is one of them. Later changes of such a resource do not
// change its pods; a note says so.
func (e *expander) leaveToDump(read sourceContent) func(manifest.Ignored) bool {
	found := findPodsInDump(read)
	for _, resource := range list.Where(read.resources, e.hasOperator) {
		name, uid := operator.ResourceKey(resource), found.uids[resource.Ref]
		switch {
		case found.controls[uid] && e.keepWorkloads(resource, uid):
			e.podsInDump[name] = true
			continue
		case found.has[uid]:
			e.podsInDump[name] = true
		case e.podsInDump[name]:
			e.notes = append(e.notes, fmt.Sprintf("%s: its pods are those of the dump; what its operator would change of them is not simulated.", name))
		default:
			continue
		}
		e.ignored = append(e.ignored, resource)
	}
	return func(resource manifest.Ignored) bool { return e.podsInDump[operator.ResourceKey(resource)] }
}

// keepWorkloads keeps what the operator makes of a resource whose pods are in the dump. It reports false if the operator refuses the resource.
func (e *expander) keepWorkloads(resource manifest.Ignored, uid types.UID) bool {
	made, err := operator.Expand(e.operators, []manifest.Ignored{resource}, e.knownResources...)
	if err != nil {
		return false
	}
	e.resourcesInDump[uid] = list.Map(made.Objects, func(obj manifest.Object) cluster.Object { return obj.Object })
	return true
}

// podsInDump says which custom resources of a dump have pods there. A resource has the pods that it controls, and those of a resource that it
// owns: for example, a RayJob owns a RayCluster, which owns pods. Operators make nothing more of such a resource.
type podsInDump struct {
	uids          map[cluster.Ref]types.UID
	controls, has map[types.UID]bool
}

func findPodsInDump(read sourceContent) podsInDump {
	has, controls := map[types.UID]bool{}, map[types.UID]bool{}
	for _, obj := range read.objects {
		by := metav1.GetControllerOfNoCopy(obj)
		if by == nil {
			continue
		}
		switch obj.(type) {
		case *v1.Pod:
			has[by.UID], controls[by.UID] = true, true
		case *appsv1.ReplicaSet:
			has[by.UID] = true
		}
	}
	owned := map[cluster.Ref]metav1.PartialObjectMetadata{}
	for _, resource := range read.resources {
		var parsed metav1.PartialObjectMetadata
		if resource.JSON != nil && json.Unmarshal(resource.JSON, &parsed) == nil {
			owned[resource.Ref] = parsed
		}
	}
	for changed := true; changed; {
		changed = false
		for _, resource := range owned {
			if by := metav1.GetControllerOfNoCopy(&resource); by != nil && has[resource.UID] && !has[by.UID] {
				has[by.UID], changed = true, true
			}
		}
	}
	delete(has, "")
	delete(controls, "")
	uids := map[cluster.Ref]types.UID{}
	for ref, resource := range owned {
		uids[ref] = resource.UID
	}
	return podsInDump{uids, controls, has}
}

// expandOrTemplate expands the custom resources of a single cluster. In a federation, it makes templates of them instead, from which the members'
// operators make objects, and collects the resources of Karmada.
func (e *expander) expandOrTemplate(given []sourceContent) ([]cluster.Object, scenario.Karmada) {
	var karmada scenario.Karmada
	if e.federation == nil {
		return e.expandSources(given), karmada
	}
	var all []cluster.Object
	for _, read := range given {
		all = append(all, read.objects...)
		for _, resource := range read.resources {
			switch {
			case e.isKarmada(resource):
				e.collectKarmadaResource(&karmada, resource)
			case e.hasOperator(resource):
				karmada.Resources = append(karmada.Resources, *e.makeTemplate(resource))
			default:
				e.ignored = append(e.ignored, resource)
			}
		}
	}
	return all, karmada
}

// addChangedObjects adds to the step the objects that operators now make otherwise than before the step.
func (e *expander) addChangedObjects(step *scenario.LoadedStep) {
	known := list.Where(e.knownResources, func(resource manifest.Ignored) bool {
		return e.hasOperator(resource) && !e.podsInDump[operator.ResourceKey(resource)]
	})
	if e.federation != nil {
		for _, resource := range known {
			before := e.templates[operator.ResourceKey(resource)]
			if after := e.makeTemplate(resource); before != nil && !equality.Semantic.DeepEqual(before, after) {
				step.Karmada.Resources = append(step.Karmada.Resources, *after)
			}
		}
		return
	}
	for _, obj := range e.loader.keepOperatorResult(operator.Expand(e.operators, known)) {
		if before := e.madeObjects[cluster.RefTo(obj)]; before == nil || !equality.Semantic.DeepEqual(before, obj) {
			e.madeObjects[cluster.RefTo(obj)] = obj
			step.Objects = append(step.Objects, obj)
		}
	}
}

// patchKnownResource applies the patch of a custom resource or of a policy of Karmada. The step then applies the objects that the operator makes of the
// patched resource, or the patched policy.
func (e *expander) patchKnownResource(path *field.Path, step *scenario.LoadedStep, patch *scenario.Patch) {
	i := slices.IndexFunc(e.knownResources, func(resource manifest.Ignored) bool {
		return (e.hasOperator(resource) || e.isKarmada(resource)) && isResource(patch.Target, resource)
	})
	kind, _, karmada := scenario.ParseKarmada(patch.Target.Target)
	karmada = karmada && e.federation != nil
	switch {
	case i >= 0:
	case karmada && kind == federation.KindCluster:
		e.patchCluster(path, patch)
		return
	case karmada:
		e.reportMissingPolicy(path.Child("target"), patch.Target, kind)
	default:
		return // the patch of an object, not of a custom resource
	}
	scenario.ValidatePatch(e.problems, path, patch, func(scenario.Target) bool { return true }, true)
	step.Action = patch.Action()
	step.Patch, step.Apply, step.Karmada = nil, &scenario.Source{}, scenario.Karmada{}
	if i < 0 {
		return
	}
	patched, err := patch.ApplyToResource(e.knownResources[i])
	if err != nil {
		e.problems.AddLines(path.Child("patch"), err)
		e.incomplete = true
		return
	}
	e.knownResources[i] = patched
	if e.isKarmada(patched) {
		patched.Source = manifest.Source{File: e.problems.File, Path: path.String()}
		e.collectKarmadaResource(&step.Karmada, patched)
		return
	}
	step.Objects = nil
	e.addChangedObjects(step)
}
