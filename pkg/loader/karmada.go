package loader

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/input/operator/flink"
	"github.com/faultline/faultline/pkg/input/operator/generic"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// unsimulatedKinds lists the kinds of Karmada that are left out although they could change where workloads go, each with what happens instead.
var unsimulatedKinds = map[string]string{
	"FederatedResourceQuota":                  "clusters are chosen whatever quota there is",
	"ResourceInterpreterCustomization":        "replicas of custom resources are those of customResources",
	"ResourceInterpreterWebhookConfiguration": "replicas of custom resources are those of customResources",
	"WorkloadRebalancer":                      "nothing is scheduled anew",
	"CronFederatedHPA":                        "replicas stay; a step can scale",
	"FederatedHPA":                            "replicas stay; a step can scale",
	"ClusterTaintPolicy":                      "clusters have the taints that the scenario gives them",
}

// isKarmada reports whether the resource belongs to Karmada. It is false outside of a federation.
func (l *loader) isKarmada(resource manifest.Ignored) bool {
	return l.federation != nil && federation.IsKarmada(resource.APIVersion)
}

// patchesResource reports whether the target of a variant's patch is a custom resource or, in a federation, a resource of Karmada. Other
// targets are objects of Kubernetes.
func (l *loader) patchesResource(target scenario.Target) bool {
	_, _, karmada := scenario.ParseKarmada(target.Target)
	return l.inputContent.holdsResource(target) || l.federation != nil && karmada
}

// collectKarmadaResource adds a policy of Karmada to the policies of a step. It reports a Cluster as a problem, and keeps other kinds as ignored.
func (l *loader) collectKarmadaResource(into *scenario.Karmada, resource manifest.Ignored) {
	switch resource.Kind {
	case federation.KindPropagationPolicy, federation.KindClusterPolicy:
		if p := l.decodePolicy(resource); p != nil {
			into.Policies = append(into.Policies, p)
		}
	case federation.KindOverridePolicy, federation.KindClusterOverridePolicy:
		if o := l.decodeOverride(resource); o != nil {
			into.Overrides = append(into.Overrides, o)
		}
	case federation.KindCluster:
		l.reportResourceProblem(resource, errors.New("clusters of a scenario have nodes; give it under clusters, or let a step join it"))
	default:
		if instead, known := unsimulatedKinds[resource.Kind]; known {
			l.notes = append(l.notes, fmt.Sprintf("%s is not simulated: %s.", describeResource(resource), instead))
		}
		l.ignored = append(l.ignored, resource)
	}
}

// decodePolicy decodes and checks a PropagationPolicy or a ClusterPropagationPolicy. It reports problems, and returns nil for a policy that
// cannot be read.
func (l *loader) decodePolicy(resource manifest.Ignored) *federation.Policy {
	p := &federation.Policy{}
	if !l.decodeKarmadaResource(resource, p) {
		return nil
	}
	p.Kind, p.Namespace = resource.Kind, namespaceOfResource(resource)
	notes, err := p.TranslateProposal()
	if err != nil {
		l.reportResourceProblem(resource, err)
		return nil
	}
	p.Default()
	for _, err := range p.Validate() {
		l.reportResourceProblem(resource, err)
	}
	for _, path := range p.UnsupportedFields() {
		l.reportResourceProblem(resource, fmt.Errorf("%s: is not simulated, and would change where workloads go; leave it out", path))
	}
	notes = append(notes, p.IgnoredNotes()...)
	if w := p.Spec.Placement.WorkloadAffinity; w != nil && !l.federation.FeatureGates[scenario.WorkloadAffinity] {
		notes = append(notes, fmt.Sprintf("%s: workloadAffinity has no effect: the feature gate %s is alpha and off; switch it on with federation.featureGates.",
			p, scenario.WorkloadAffinity))
	}
	l.notes = append(l.notes, notes...)
	return p
}

// decodeOverride decodes and checks an OverridePolicy or a ClusterOverridePolicy. It reports problems, and returns nil for a policy that cannot
// be read.
func (l *loader) decodeOverride(resource manifest.Ignored) *federation.Override {
	o := &federation.Override{}
	if !l.decodeKarmadaResource(resource, o) {
		return nil
	}
	o.Kind, o.Namespace = resource.Kind, namespaceOfResource(resource)
	for _, err := range o.Validate() {
		l.reportResourceProblem(resource, err)
	}
	return o
}

// decodeKarmadaResource decodes a policy as Karmada's API server does. It reports problems, and returns false if the policy cannot be read.
func (l *loader) decodeKarmadaResource(resource manifest.Ignored, into any) bool {
	if resource.APIVersion != federation.PolicyAPIVersion {
		l.reportResourceProblem(resource, fmt.Errorf("apiVersion: unknown version %q; give %s", resource.APIVersion, federation.PolicyAPIVersion))
		return false
	}
	warnings, err := manifest.DecodeResource(resource.JSON, into)
	if err != nil {
		l.reportResourceProblem(resource, err)
		return false
	}
	for _, warning := range warnings {
		l.notes = append(l.notes, fmt.Sprintf("%s: %s.", describeResource(resource), warning))
	}
	if resource.Name == "" {
		l.reportResourceProblem(resource, errors.New("metadata.name: Required value"))
	}
	if isClusterScoped(resource) && resource.Namespace != "" {
		l.reportResourceProblem(resource, fmt.Errorf("metadata.namespace: %q is not allowed, since it is of all namespaces; leave it out", resource.Namespace))
	}
	return true
}

// reportResourceProblem reports each line of the error as a problem of the resource.
func (l *loader) reportResourceProblem(resource manifest.Ignored, err error) {
	for line := range strings.Lines(err.Error()) {
		l.problems.AddErrors(errors.New(manifest.Clean(fmt.Sprintf("%s: %s: %s", resource.Source, describeResource(resource), strings.TrimSpace(line)))))
	}
}

func isClusterScoped(resource manifest.Ignored) bool {
	return slices.Contains([]string{federation.KindClusterPolicy, federation.KindClusterOverridePolicy, federation.KindCluster}, resource.Kind)
}

func namespaceOfResource(resource manifest.Ignored) string {
	if isClusterScoped(resource) {
		return ""
	}
	return cmp.Or(resource.Namespace, v1.NamespaceDefault)
}

// describeResource returns the kind and the name of a resource, such as "PropagationPolicy default/web".
func describeResource(resource manifest.Ignored) string {
	if isClusterScoped(resource) {
		return resource.Kind + " " + resource.Name
	}
	return fmt.Sprintf("%s %s/%s", resource.Kind, namespaceOfResource(resource), resource.Name)
}

// findDeletedResources returns the custom resources and the resources of Karmada that a step deletes by name. If a target is a cluster, the cluster
// leaves the federation.
func (e *expander) findDeletedResources(path *field.Path, action *scenario.Delete) []manifest.Ignored {
	var gone []manifest.Ignored
	for i, text := range action.Targets {
		target := scenario.Target{Target: text, Namespace: action.Namespace}
		kind, _, karmada := scenario.ParseKarmada(text)
		at := slices.IndexFunc(e.knownResources, func(resource manifest.Ignored) bool { return isResource(target, resource) })
		switch {
		case at >= 0:
			gone = append(gone, e.knownResources[at])
		case karmada && kind == federation.KindCluster:
			if at := e.findMember(path.Index(i), text); at >= 0 {
				action.Targets[i] = "cluster/" + e.members[at].Name
				e.members = slices.Delete(e.members, at, at+1)
			}
		case karmada:
			e.reportMissingPolicy(path.Index(i), target, kind)
		case e.inputContent.holdsResource(target):
			e.problems.Add(path.Index(i), "%q does not exist at this step; it is applied later, or was deleted before", text)
		}
	}
	return gone
}

// patchCluster applies the patch of a step to a member cluster, so that later steps see the patched cluster.
func (e *expander) patchCluster(path *field.Path, patch *scenario.Patch) {
	at := e.findMember(path.Child("target"), patch.Target.Target)
	if at < 0 || patch.CheckShape() != nil {
		return
	}
	patched, err := patch.ApplyToCluster(e.members[at])
	if err != nil {
		e.problems.AddLines(path.Child("patch"), err)
		return
	}
	e.members[at], patch.Target.Target = patched, "cluster/"+patched.Name
}

// findMember returns the index of the member that the target names, or reports that there is none and returns -1.
func (e *expander) findMember(path *field.Path, target string) int {
	_, name, _ := scenario.ParseKarmada(target)
	at := slices.IndexFunc(e.members, func(c *federation.Cluster) bool { return c.Name == name })
	if at < 0 && e.loader.members[name] != "" {
		e.problems.Add(path, "cluster %q does not exist at this step; it joins later, or was deleted before", name)
	} else if at < 0 {
		names := list.Map(e.members, func(c *federation.Cluster) string { return c.Name })
		e.problems.Add(path, "there is no cluster %q; %s", name, scenario.ListChoices(name, names))
	}
	return at
}

// reportMissingPolicy reports that a policy does not exist, or does not exist at this step.
func (l *loader) reportMissingPolicy(path *field.Path, target scenario.Target, kind string) {
	_, name, _ := scenario.ParseKarmada(target.Target)
	wanted := describeResource(manifest.Ignored{Ref: cluster.Ref{Kind: kind, Namespace: target.Namespace, Name: name}})
	if l.inputContent.holdsResource(target) {
		l.problems.Add(path, "%s does not exist at this step; it is applied later, or was deleted before", wanted)
		return
	}
	var names []string
	for _, read := range slices.Concat(l.inputContent.workloads, l.inputContent.steps) {
		for _, resource := range read.resources {
			if l.isKarmada(resource) && resource.Kind == kind {
				names = append(names, cluster.Qualify(resource.Namespace, resource.Name))
			}
		}
	}
	slices.Sort(names)
	l.problems.Add(path, "there is no %s in the scenario; %s", wanted, scenario.ListChoices(name, slices.Compact(names)))
}

// makeTemplate makes the template that Karmada distributes for a custom resource, with the objects that the resource's operator makes of it in
// a member.
func (e *expander) makeTemplate(resource manifest.Ignored) *cluster.ResourceTemplate {
	objects := e.loader.keepOperatorResult(operator.Expand(e.operators, []manifest.Ignored{resource}, e.knownResources...))
	of := &federation.Template{
		APIVersion: resource.APIVersion, Kind: resource.Kind, Namespace: cmp.Or(resource.Namespace, v1.NamespaceDefault), Name: resource.Name,
	}
	var head struct {
		Metadata struct {
			UID    string            `json:"uid"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if _, err := manifest.DecodeResource(resource.JSON, &head); err != nil { // other fields do not matter here
		e.reportResourceProblem(resource, err)
	}
	of.UID, of.Labels = head.Metadata.UID, head.Metadata.Labels
	if rule := e.replicaRule(resource); rule != nil && len(objects) == 1 && rule.As != "DaemonSet" {
		spec, _ := cluster.PodSpec(objects[0])
		of.SetReplicas(countReplicas(objects[0]), spec)
	}
	if resource.APIVersion == flink.Kind.GroupVersion().String() && resource.Kind == flink.Kind.Kind && len(objects) > 0 {
		var err error
		if of.Replicas, of.Requests, err = flink.KarmadaReplicas(resource.JSON); err != nil {
			e.reportResourceProblem(resource, err)
		}
		of.Workload = true
	}
	template := &cluster.ResourceTemplate{Template: of, Objects: objects}
	e.templates[operator.ResourceKey(resource)] = template
	return template
}

// replicaRule returns the scenario's rule that says where the resource has its replicas and its pod template, or nil. Karmada cannot count the
// replicas of a resource without such a rule, and gives each chosen cluster the whole resource.
func (e *expander) replicaRule(resource manifest.Ignored) *generic.Rule {
	for i := range e.opts.Operators.Custom {
		if rule := &e.opts.Operators.Custom[i]; rule.Kind.GroupVersion().String() == resource.APIVersion && rule.Kind.Kind == resource.Kind && rule.PodTemplatePath != "" {
			return rule
		}
	}
	return nil
}

// countReplicas returns how many pods the workload has; for a Job, its parallelism.
func countReplicas(obj cluster.Object) int32 {
	replicas, _ := cluster.Replicas(obj)
	if job, is := obj.(*batchv1.Job); is {
		replicas = ptr.Deref(job.Spec.Parallelism, 1)
	}
	return replicas
}
