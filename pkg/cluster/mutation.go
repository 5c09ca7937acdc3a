package cluster

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/faultline/faultline/pkg/list"
)

// Mutations are the changes that a cluster makes to new pods beyond those of the API server's own plugins: webhooks inject containers,
// autoscalers set requests. A dump does not list these changes, but its pods show them.
type Mutations struct {
	// Workloads has the change to the pods of each workload that has pods, by the outermost owner. The change is nil where the pods are as
	// their template makes them.
	Workloads map[Ref]*Mutation
	// Namespaces has the part that the changes of all workloads of a namespace share. New pods of a workload without pods get it.
	Namespaces map[string]*Mutation
}

// Lookup returns the change to new pods of the owner, or nil if there is none. A nil Mutations changes nothing.
func (m *Mutations) Lookup(owner Ref) *Mutation {
	if m == nil {
		return nil
	}
	if known, found := m.Workloads[owner]; found {
		return known
	}
	return m.Namespaces[owner.Namespace]
}

// PodOf returns a pod as the object creates it: the object's template with the change that the cluster makes. It returns a pod as it is.
// The result has no spec if the object creates no pods.
func (s *State) PodOf(obj Object) *v1.Pod {
	if pod, is := obj.(*v1.Pod); is {
		return pod
	}
	pod := &v1.Pod{}
	pod.Namespace = obj.GetNamespace()
	template, _ := Template(obj)
	if template == nil {
		return pod
	}
	pod.Labels, pod.Annotations, pod.Spec = template.Labels, template.Annotations, template.Spec
	if change := s.Mutations.Lookup(RefTo(obj)); change != nil {
		pod.Spec.InitContainers, pod.Spec.Containers = slices.Clone(pod.Spec.InitContainers), slices.Clone(pod.Spec.Containers)
		change.Apply(pod)
	}
	return pod
}

// Mutation is a change to a new pod. It has only the parts that a scheduler, a controller or kubectl drain looks at.
type Mutation struct {
	// Labels, NodeSelector, Tolerations, TopologySpreadConstraints, Volumes and ResourceClaims are added.
	Labels, NodeSelector      map[string]string
	Tolerations               []v1.Toleration
	TopologySpreadConstraints []v1.TopologySpreadConstraint
	Volumes                   []v1.Volume
	ResourceClaims            []v1.PodResourceClaim
	// Containers are added after those of the template. FirstInitContainers go before the init containers of the template, and
	// LastInitContainers after them: a sidecar counts for the init containers that follow it.
	Containers, FirstInitContainers, LastInitContainers []v1.Container
	// Resources replace the resources of the template's containers and init containers, by the container's name.
	Resources map[string]v1.ResourceRequirements
	// PodResources replace the resources of the pod as a whole, and Affinity replaces the template's, unless nil.
	PodResources *v1.ResourceRequirements
	Affinity     *v1.Affinity
	// PriorityClassName, SchedulerName and RuntimeClassName replace the template's, unless empty.
	PriorityClassName, SchedulerName, RuntimeClassName string
}

// ObserveMutation returns the change between a pod as the API server makes it of its template and the running pod, or nil if there is none. It
// ignores what the scheduler, the kubelet, the ServiceAccount plugin and the pod's controller have written. If there are claims, the
// controller is a StatefulSet with these volume claim templates.
func ObserveMutation(template, running *v1.Pod, claims []v1.PersistentVolumeClaim) *Mutation {
	was, is := &template.Spec, &running.Spec
	m := &Mutation{
		Labels:                    dropItems(changedItems(template.Labels, running.Labels), func(key, _ string) bool { return LabelOfController(key) }),
		NodeSelector:              changedItems(was.NodeSelector, is.NodeSelector),
		Tolerations:               addedItems(was.Tolerations, is.Tolerations),
		TopologySpreadConstraints: addedItems(was.TopologySpreadConstraints, is.TopologySpreadConstraints),
		ResourceClaims:            addedItems(was.ResourceClaims, is.ResourceClaims),
	}
	for _, volume := range is.Volumes {
		source := &volume.VolumeSource
		files := source.Secret != nil || source.ConfigMap != nil || source.Projected != nil || source.DownwardAPI != nil // every node has these files
		ofSet := slices.ContainsFunc(claims, func(c v1.PersistentVolumeClaim) bool { return c.Name == volume.Name })
		if !files && !ofSet && !slices.ContainsFunc(was.Volumes, func(v v1.Volume) bool { return v.Name == volume.Name }) {
			m.Volumes = append(m.Volumes, volume)
		}
	}
	m.Containers = m.observeContainers(was.Containers, is.Containers)
	added := m.observeContainers(was.InitContainers, is.InitContainers)
	first := 0
	if len(was.InitContainers) > 0 {
		for first < len(added) && added[first].Name == is.InitContainers[first].Name {
			first++
		}
	}
	m.FirstInitContainers, m.LastInitContainers = added[:first], added[first:]
	if is.Resources != nil && !apiequality.Semantic.DeepEqual(was.Resources, is.Resources) {
		m.PodResources = is.Resources
	}
	if is.Affinity != nil && !apiequality.Semantic.DeepEqual(was.Affinity, is.Affinity) {
		m.Affinity = is.Affinity
	}
	if is.PriorityClassName != was.PriorityClassName {
		m.PriorityClassName = is.PriorityClassName
	}
	if is.SchedulerName != was.SchedulerName {
		m.SchedulerName = is.SchedulerName
	}
	if is.RuntimeClassName != nil && (was.RuntimeClassName == nil || *was.RuntimeClassName != *is.RuntimeClassName) {
		m.RuntimeClassName = *is.RuntimeClassName
	}
	if m.isEmpty() {
		return nil
	}
	return m
}

// observeContainers returns the running containers that the template lacks. It records the resources of the other containers if they differ from
// the template's.
func (m *Mutation) observeContainers(was, is []v1.Container) []v1.Container {
	var added []v1.Container
	for _, container := range is {
		i := slices.IndexFunc(was, func(c v1.Container) bool { return c.Name == container.Name })
		switch {
		case i < 0:
			added = append(added, container)
		case !sameResources(was[i].Resources, container.Resources):
			if m.Resources == nil {
				m.Resources = map[string]v1.ResourceRequirements{}
			}
			m.Resources[container.Name] = container.Resources
		}
	}
	return added
}

func sameResources(a, b v1.ResourceRequirements) bool {
	return apiequality.Semantic.DeepEqual(a.Requests, b.Requests) && apiequality.Semantic.DeepEqual(a.Limits, b.Limits)
}

func (m *Mutation) isEmpty() bool {
	return len(m.Labels)+len(m.NodeSelector)+len(m.Tolerations)+len(m.TopologySpreadConstraints)+len(m.Volumes)+len(m.ResourceClaims)+
		len(m.Containers)+len(m.FirstInitContainers)+len(m.LastInitContainers)+len(m.Resources) == 0 &&
		m.PodResources == nil && m.Affinity == nil && m.PriorityClassName == "" && m.SchedulerName == "" && m.RuntimeClassName == ""
}

// Intersect returns what both changes add to a pod, or nil if that is nothing. It leaves out the parts that replace something of a template,
// since these belong to one workload.
func (m *Mutation) Intersect(other *Mutation) *Mutation {
	if m == nil || other == nil {
		return nil
	}
	shared := &Mutation{
		Labels:                    sharedItems(m.Labels, other.Labels),
		NodeSelector:              sharedItems(m.NodeSelector, other.NodeSelector),
		Tolerations:               sharedBy(m.Tolerations, other.Tolerations, semanticEqual),
		TopologySpreadConstraints: sharedBy(m.TopologySpreadConstraints, other.TopologySpreadConstraints, semanticEqual),
		Volumes:                   sharedBy(m.Volumes, other.Volumes, semanticEqual),
		ResourceClaims:            sharedBy(m.ResourceClaims, other.ResourceClaims, semanticEqual),
		Containers:                sharedBy(m.Containers, other.Containers, sameContainer),
		FirstInitContainers:       sharedBy(m.FirstInitContainers, other.FirstInitContainers, sameContainer),
		LastInitContainers:        sharedBy(m.LastInitContainers, other.LastInitContainers, sameContainer),
	}
	if shared.isEmpty() {
		return nil
	}
	return shared
}

// Injected returns the containers and volumes of the change, or nil if it has none.
func (m *Mutation) Injected() *Mutation {
	if m == nil {
		return nil
	}
	injected := &Mutation{Volumes: m.Volumes, Containers: m.Containers, FirstInitContainers: m.FirstInitContainers, LastInitContainers: m.LastInitContainers}
	if injected.isEmpty() {
		return nil
	}
	return injected
}

// sameContainer compares names and resources. It ignores what differs from pod to pod, such as the environment variables of an injected
// proxy.
func sameContainer(a, b v1.Container) bool {
	return a.Name == b.Name && sameResources(a.Resources, b.Resources)
}

func semanticEqual[T any](a, b T) bool { return apiequality.Semantic.DeepEqual(a, b) }

// sharedBy returns the items of the first list that are also in the second.
func sharedBy[T any](a, b []T, same func(T, T) bool) []T {
	return list.Where(a, func(item T) bool { return slices.ContainsFunc(b, func(other T) bool { return same(item, other) }) })
}

// sharedItems returns the items of the first map that are also in the second, with the same values.
func sharedItems(a, b map[string]string) map[string]string {
	return dropItems(a, func(key, value string) bool { other, found := b[key]; return !found || other != value })
}

// changedItems returns the items of the second map that the first lacks or has with another value.
func changedItems(was, is map[string]string) map[string]string {
	return dropItems(is, func(key, value string) bool { old, found := was[key]; return found && old == value })
}

// dropItems returns the items that are not dropped, or nil if there are none.
func dropItems(items map[string]string, drop func(key, value string) bool) map[string]string {
	kept := maps.Clone(items)
	maps.DeleteFunc(kept, drop)
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// addedItems returns the items of the second list that the first lacks.
func addedItems[T any](was, is []T) []T {
	return list.Without(is, func(item T) bool {
		return slices.ContainsFunc(was, func(old T) bool { return semanticEqual(old, item) })
	})
}

// Apply changes a new pod in place. The pod must own its containers; Apply copies whatever else the pod shares with other pods. It does not
// add what the pod already has.
func (m *Mutation) Apply(pod *v1.Pod) {
	if m == nil {
		return
	}
	spec := &pod.Spec
	pod.Labels = mergeItems(pod.Labels, m.Labels)
	spec.NodeSelector = mergeItems(spec.NodeSelector, m.NodeSelector)
	spec.Tolerations = slices.Concat(spec.Tolerations, addedItems(spec.Tolerations, m.Tolerations))
	spec.TopologySpreadConstraints = slices.Concat(spec.TopologySpreadConstraints, addedItems(spec.TopologySpreadConstraints, m.TopologySpreadConstraints))
	spec.Volumes = slices.Concat(spec.Volumes, withoutNamesakes(m.Volumes, spec.Volumes, func(v v1.Volume) string { return v.Name }))
	spec.ResourceClaims = slices.Concat(spec.ResourceClaims, withoutNamesakes(m.ResourceClaims, spec.ResourceClaims, func(c v1.PodResourceClaim) string { return c.Name }))
	name := func(c v1.Container) string { return c.Name }
	first, last := withoutNamesakes(m.FirstInitContainers, spec.InitContainers, name), withoutNamesakes(m.LastInitContainers, spec.InitContainers, name)
	spec.InitContainers = slices.Concat(first, spec.InitContainers, last)
	spec.Containers = slices.Concat(spec.Containers, withoutNamesakes(m.Containers, spec.Containers, name))
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			if resources, found := m.Resources[containers[i].Name]; found {
				claims := containers[i].Resources.Claims
				containers[i].Resources = resources
				containers[i].Resources.Claims = claims
			}
		}
	}
	if m.PodResources != nil {
		spec.Resources = m.PodResources
	}
	if m.Affinity != nil {
		spec.Affinity = m.Affinity
	}
	if m.PriorityClassName != "" {
		spec.PriorityClassName, spec.Priority, spec.PreemptionPolicy = m.PriorityClassName, nil, nil
	}
	if m.SchedulerName != "" {
		spec.SchedulerName = m.SchedulerName
	}
	if m.RuntimeClassName != "" {
		spec.RuntimeClassName = &m.RuntimeClassName
	}
}

// withoutNamesakes returns the items whose names no item of the others has.
func withoutNamesakes[T any](items, others []T, name func(T) string) []T {
	return list.Without(items, func(item T) bool {
		return slices.ContainsFunc(others, func(other T) bool { return name(other) == name(item) })
	})
}

// mergeItems returns the first map with the items of the second added. It copies the first.
func mergeItems(to, items map[string]string) map[string]string {
	if len(items) == 0 {
		return to
	}
	with := maps.Clone(to)
	if with == nil {
		with = map[string]string{}
	}
	maps.Copy(with, items)
	return with
}
