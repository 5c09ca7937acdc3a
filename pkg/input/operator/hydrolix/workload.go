package hydrolix

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// components resolves a resource's settings for its components.
type components struct {
	spec    *spec
	profile *Profile
	result  *operator.Expansion // receives warnings and assumptions
}

// workload is a component or a pool, with its resolved settings.
type workload struct {
	name, service, pool string // pool is "" for a component
	kind                string
	replicas            int32
	cpu, memory         resource.Quantity
	storage, data       resource.Quantity
	sidecars            []v1.Container
	priorityClass       string
	classFrom           string
	scheduler           string
	// The assumed settings come from the shipped profile, not from the resource or a user's profile.
	replicasAssumed, sizeAssumed, classAssumed bool
}

// minimalServices lists the components that scale_min keeps. See
// https://docs.hydrolix.io/latest/self-managed/scale-cluster/autoscaler/scale-to-minimal
var minimalServices = []string{"traefik", "ui", "turbine-api", "turbine-api-worker", "zookeeper", keycloak, "prometheus", "validator", "version"}

// resolveWorkloads returns the components, sorted by name, then the pools in order. A pool with the name of its component replaces the component.
// A component without replicas is left out, unless spec.scale names it.
func (c *components) resolveWorkloads() ([]workload, error) {
	var problems []error
	if p := c.spec.ScaleProfile; p != "" && !slices.Contains(c.profile.ScaleProfiles, p) {
		problems = append(problems, fmt.Errorf("spec.scale_profile: the profile has no %q, only %s%s",
			p, strings.Join(c.profile.ScaleProfiles, ", "), manifest.DidYouMean(p, c.profile.ScaleProfiles)))
	}
	c.noteScale()
	var made []workload
	for _, name := range c.profile.serviceNames() {
		if slices.ContainsFunc(c.spec.Pools, func(p pool) bool { return p.Name == name }) {
			continue
		}
		w := c.resolveWorkload(name, nil)
		_, asked := c.spec.Scale[name]
		if asked || w.replicas > 0 {
			made = append(made, c.applyScaleDown(w))
		}
	}
	seen := map[string]bool{}
	for i := range c.spec.Pools {
		p, path := &c.spec.Pools[i], fmt.Sprintf("spec.pools[%d]", i)
		_, known := c.profile.Services[p.Service]
		_, takes := c.profile.Services[p.Name]
		switch {
		case p.Name == "":
			problems = append(problems, fmt.Errorf("%s.name: Required value", path))
		case seen[p.Name]:
			problems = append(problems, fmt.Errorf("%s.name: Duplicate value: %q", path, p.Name))
		case takes && p.Name != p.Service:
			problems = append(problems, fmt.Errorf("%s.name: %q is the name of another component; give the pool its own name", path, p.Name))
		}
		seen[p.Name] = true
		switch {
		case p.Service == "":
			problems = append(problems, fmt.Errorf("%s.service: Required value", path))
			continue
		case !known:
			problems = append(problems, fmt.Errorf("%s.service: the profile has no component %q%s",
				path, p.Service, manifest.DidYouMean(p.Service, c.profile.serviceNames())))
			continue
		}
		if s := p.ScaleProfile; s != "" && c.spec.profiles[s] == nil && !slices.Contains(c.profile.ScaleProfiles, s) {
			c.warn("%s.scale_profile: there is no %q under spec.scale.profile and none in the profile, so that the pool is scaled as its service is%s",
				path, s, manifest.DidYouMean(s, slices.Sorted(maps.Keys(c.spec.profiles))))
		}
		made = append(made, c.applyScaleDown(c.resolveWorkload(p.Name, p)))
	}
	return made, errors.Join(problems...)
}

func (c *components) warn(format string, args ...any) {
	c.result.Warnings = append(c.result.Warnings, fmt.Sprintf(format, args...))
}

func (c *components) assume(format string, args ...any) {
	c.result.Assumptions = append(c.result.Assumptions, fmt.Sprintf(format, args...))
}

// noteScale warns about entries of spec.scale and spec.priority_classes that have no effect, and notes the assumed meaning of scale_off
// and scale_min.
func (c *components) noteScale() {
	for _, name := range slices.Sorted(maps.Keys(c.spec.Scale)) {
		if _, known := c.profile.Services[name]; !known && !c.profile.hasSidecar(name) {
			c.warn("spec.scale[%s] is no component of the profile and no container beside one, and changes nothing%s",
				name, manifest.DidYouMean(name, c.profile.serviceNames()))
		}
	}
	var pools []string
	for i := range c.spec.Pools {
		pools = append(pools, c.spec.Pools[i].Name)
	}
	for _, field := range []struct{ name, kind string }{{"deployments", "Deployment"}, {"statefulset", "StatefulSet"}, {"daemonset", "DaemonSet"}} {
		for _, name := range slices.Sorted(maps.Keys(c.spec.PriorityClasses.forKind(field.kind))) {
			service, known := c.profile.Services[name]
			switch {
			case slices.Contains(pools, name):
			case !known:
				c.warn("spec.priority_classes.%s[%s] is no component of the profile, and has no effect%s",
					field.name, name, manifest.DidYouMean(name, c.profile.serviceNames()))
			case service.Kind != field.kind:
				c.warn("spec.priority_classes.%s[%s] has no effect: %s is a %s in the profile", field.name, name, name, service.Kind)
			}
		}
	}
	switch {
	case c.spec.ScaleOff:
		c.assume("with scale_off every component and every pool has 0 replicas")
	case c.spec.ScaleMin || c.spec.ScaleMinimal:
		c.assume("with scale_min %s keep their replicas, and everything else has 0", strings.Join(minimalServices, ", "))
	}
}

// applyScaleDown returns the workload with 0 replicas if scale_off or scale_min removes it, and unchanged otherwise.
func (c *components) applyScaleDown(w workload) workload {
	if c.spec.ScaleOff || (c.spec.ScaleMin || c.spec.ScaleMinimal) && !slices.Contains(minimalServices, w.service) {
		w.replicas = 0
	}
	return w
}

// resolveWorkload resolves the settings of a component, or of a pool of it. The first of these that has a setting wins: the pool's own field, the
// custom profile with that name, spec.scale, the scale profile. See https://docs.hydrolix.io/docs/custom-profiles
func (c *components) resolveWorkload(name string, p *pool) workload {
	base := cmp.Or(c.spec.ScaleProfile, "eval")
	w := workload{name: name, service: name}
	named := base
	if p != nil {
		w.service, w.pool = p.Service, p.Name
		named = cmp.Or(p.ScaleProfile, base)
		if slices.Contains(c.profile.ScaleProfiles, p.ScaleProfile) {
			base = p.ScaleProfile
		}
	}
	service := c.profile.Services[w.service]
	shipped := c.profile.file == ""
	w.kind, w.priorityClass, w.classFrom, w.classAssumed = service.Kind, service.PriorityClass, "operator default", shipped && service.PriorityClass != ""
	given := []scale{c.spec.profiles[named][w.service], c.spec.Scale[w.service]}
	if p != nil {
		given = slices.Insert(given, 0, scale{Replicas: p.Replicas})
	}
	if replicas := firstGiven(given, func(s scale) *replicaCount { return s.Replicas }); replicas != nil {
		w.replicas = replicas.low
		if replicas.ranged {
			c.assume("%s has the least of its range of replicas, %d; an autoscaler would add more by load", name, replicas.low)
		}
	} else {
		w.replicas, w.replicasAssumed = service.Replicas[base], shipped
	}
	w.cpu, w.memory, w.data = service.CPU, service.Memory, service.DataStorage
	cpu := firstGiven(given, func(s scale) *resource.Quantity { return s.CPU })
	memory := firstGiven(given, func(s scale) *resource.Quantity { return s.Memory })
	if cpu != nil {
		w.cpu = *cpu
	}
	if memory != nil {
		w.memory = *memory
	}
	w.sizeAssumed = shipped && (cpu == nil || memory == nil)
	if storage := firstGiven(given, func(s scale) *byteSize { return s.Storage }); storage != nil {
		w.storage = storage.Quantity
	}
	if data := firstGiven(given, func(s scale) *byteSize { return s.DataStorage }); data != nil {
		w.data = data.Quantity
	}
	for _, name := range slices.Sorted(maps.Keys(service.Sidecars)) {
		w.sidecars = append(w.sidecars, sidecar(name, service.Sidecars[name], []scale{c.spec.profiles[named][name], c.spec.Scale[name]}))
	}
	override := c.spec.PriorityClasses.forKind(w.kind)
	if class := cmp.Or(override[w.name], override[w.service]); class != "" {
		w.priorityClass, w.classFrom, w.classAssumed = class, "spec.priority_classes", false
	}
	if scheduler := firstGiven(given, func(s scale) *string { return s.SchedulerName }); scheduler != nil && *scheduler != "" {
		w.scheduler = *scheduler
		c.warnScheduler(&w)
	}
	return w
}

// sidecar returns a container beside a component's own, sized by the resource.
func sidecar(name string, own Sidecar, given []scale) v1.Container {
	if cpu := firstGiven(given, func(s scale) *resource.Quantity { return s.CPU }); cpu != nil {
		own.CPU = *cpu
	}
	if memory := firstGiven(given, func(s scale) *resource.Quantity { return s.Memory }); memory != nil {
		own.Memory = *memory
	}
	if storage := firstGiven(given, func(s scale) *byteSize { return s.Storage }); storage != nil {
		own.Storage = storage.Quantity
	}
	return container(name, own.CPU, own.Memory, own.Storage)
}

// container returns a container with the given requests, except those that are zero, and the same limits.
func container(name string, cpu, memory, storage resource.Quantity) v1.Container {
	requests := v1.ResourceList{}
	for resource, quantity := range map[v1.ResourceName]resource.Quantity{
		v1.ResourceCPU: cpu, v1.ResourceMemory: memory, v1.ResourceEphemeralStorage: storage,
	} {
		if !quantity.IsZero() {
			requests[resource] = quantity
		}
	}
	return v1.Container{Name: name, Image: "hydrolix/" + name, Resources: v1.ResourceRequirements{Requests: requests, Limits: requests.DeepCopy()}}
}

// warnScheduler warns about the conditions under which the workload's scheduler exists.
func (c *components) warnScheduler(w *workload) {
	if c.spec.Scheduler == nil || !c.spec.Scheduler.Enabled {
		c.warn("the pods of %s ask for the scheduler %s, which is deployed only with spec.scheduler.enabled: true", w.name, w.scheduler)
	}
	c.warn("the pods of %s are placed by a profile named %s, which the scheduler's configuration must have; "+
		"the operator's own uses NodeResourcesFit with MostAllocated, which can outweigh a preferred anti-affinity", w.name, w.scheduler)
}

// firstGiven returns the field of the first scale that has it, or nil.
func firstGiven[T any](given []scale, field func(scale) *T) *T {
	for _, s := range given {
		if value := field(s); value != nil {
			return value
		}
	}
	return nil
}

// checkClasses reports priority classes that the documentation does not list.
func checkClasses(p *priorityClasses) error {
	allowed := []string{"system-node-critical", "hdx-critical", "hdx-highest", "hdx-high", "hdx-medium", "hdx-low", "hdx-lowest"}
	var problems []error
	for _, field := range []struct {
		name  string
		given map[string]string
	}{{"deployments", p.Deployments}, {"statefulset", p.StatefulSet}, {"daemonset", p.DaemonSet}} {
		for _, service := range slices.Sorted(maps.Keys(field.given)) {
			if class := field.given[service]; !slices.Contains(allowed, class) {
				problems = append(problems, fmt.Errorf("spec.priority_classes.%s[%s]: unknown class %q: use one of %s%s",
					field.name, service, class, strings.Join(allowed, ", "), manifest.DidYouMean(class, allowed)))
			}
		}
	}
	return errors.Join(problems...)
}

func (w *workload) labels(profile *Profile) map[string]string {
	return map[string]string{profile.Label: w.name}
}

// hasDefaultRule reports whether the operator's own anti-affinity applies to the workload: the component has one, and no selector replaces it.
func (w *workload) hasDefaultRule(c *components) bool {
	levels := w.levels(c)
	for _, level := range levels[:len(levels)-1] {
		if level.rules.PodAntiAffinity != nil {
			return false
		}
	}
	return levels[len(levels)-1].rules.PodAntiAffinity != nil
}

// levels returns the rules that cover the workload, highest precedence first: those of spec.targeting, then the operator's own.
func (w *workload) levels(c *components) []ruleLevel {
	var levels []ruleLevel
	if w.pool != "" {
		levels = append(levels, ruleLevel{"pool " + w.pool, c.spec.Targeting[w.pool]})
	}
	return append(levels,
		ruleLevel{"component " + w.service, c.spec.Targeting[w.service]},
		ruleLevel{"'*'", c.spec.Targeting[allSelector]},
		ruleLevel{"operator default", targetingRules{PodAntiAffinity: defaultRule(w.service, w.replicas, c.profile.Weight, w.labels(c.profile))}},
	)
}

// newObject returns the Deployment, StatefulSet or DaemonSet as the operator presumably writes it.
func (w *workload) newObject(c *components) operator.WrittenObject {
	pod := v1.PodSpec{
		PriorityClassName: w.priorityClass, SchedulerName: w.scheduler,
		Containers: append([]v1.Container{container(w.service, w.cpu, w.memory, w.storage)}, w.sidecars...),
	}
	made := operator.WrittenObject{Origins: resolveRules(&pod, w.levels(c))}
	if w.priorityClass != "" {
		made.Origins = append(made.Origins, operator.Origin{Field: "priorityClassName", Level: w.classFrom})
	}
	labels := w.labels(c.profile)
	meta, selector := metav1.ObjectMeta{Name: w.name, Labels: labels}, &metav1.LabelSelector{MatchLabels: labels}
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}
	switch w.kind {
	case "StatefulSet":
		set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &w.replicas, ServiceName: w.name, Selector: selector, Template: template,
		}}
		if c.profile.StorageClass != "" && !w.data.IsZero() {
			set.Spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &c.profile.StorageClass,
				Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: w.data}},
			}}}
		}
		made.Object = set
	case "DaemonSet":
		made.Object = &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	default:
		made.Object = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &w.replicas, Selector: selector, Template: template}}
	}
	return made
}
