package stackable

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/input/operator"
)

// group turns a role group into a workload.
type group struct {
	*cluster
	role             *role
	name             string // empty for a role without role groups
	roleLevel, level *Level
	replicas         int32
}

func (g *group) path() string {
	if g.role.flat {
		return "spec." + g.role.key
	}
	return fmt.Sprintf("spec.%s.roleGroups.%s", g.role.key, g.name)
}

// makeWorkload adds the workload of the role group to the expansion, and the Service of a StatefulSet.
func (g *group) makeWorkload() {
	if g.role.workload == taskPods {
		g.warn("%s: the pods of tasks come and go with the tasks, and none is made", g.path())
		return
	}
	claims := g.claimTemplates()
	template, origins := g.podTemplate(claims)
	name, labels := g.workloadName(), g.labels()
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	selector := &metav1.LabelSelector{MatchLabels: g.selectorLabels()}
	replicas := g.replicas
	if g.stopped {
		replicas = 0
	}
	add := func(obj operator.WrittenObject) { g.expansion.Objects = append(g.expansion.Objects, obj) }
	switch g.role.workload {
	case parallelStatefulSet, orderedStatefulSet:
		policy := appsv1.ParallelPodManagement
		if g.role.workload == orderedStatefulSet {
			policy = appsv1.OrderedReadyPodManagement
		}
		service := name + "-headless"
		add(operator.WrittenObject{Object: &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: service, Labels: labels},
			Spec:       v1.ServiceSpec{ClusterIP: v1.ClusterIPNone, Selector: g.selectorLabels(), PublishNotReadyAddresses: true},
		}})
		add(operator.WrittenObject{Object: &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: service, PodManagementPolicy: policy, Selector: selector,
			Template: template, VolumeClaimTemplates: claims,
		}}, Origins: origins})
	case deployment:
		add(operator.WrittenObject{Object: &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: selector, Template: template,
		}}, Origins: origins})
	case daemonSet:
		// Only OPA has a DaemonSet: rust/operator-binary/src/controller/build/resource/daemonset/mod.rs of opa-operator at d877bbf.
		surge, unavailable := intstr.FromInt32(1), intstr.FromInt32(0)
		add(operator.WrittenObject{Object: &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: &surge, MaxUnavailable: &unavailable},
			},
		}}, Origins: origins})
	case job:
		template.Spec.RestartPolicy = v1.RestartPolicyNever
		add(operator.WrittenObject{Object: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
			Parallelism: &g.replicas, Completions: &g.replicas, Suspend: &g.stopped, Template: template,
		}}, Origins: origins})
		if g.role.key == "executor" {
			g.assume("Spark's executors are shown as a Job, since Spark itself makes their pods and replaces lost ones")
		}
	case singlePod:
		template.Spec.RestartPolicy = v1.RestartPolicyNever
		template.ObjectMeta.Name = name
		add(operator.WrittenObject{Object: &v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}, Origins: origins})
	}
}

// workloadName returns <cluster>-<role>-<role group>, cut to 52 characters.
func (g *group) workloadName() string {
	name := g.resource.Name
	if g.role.key != "job" { // spark-submit's Job is named after the application
		name += "-" + g.role.component
	}
	if g.name != "" {
		name += "-" + g.name
	}
	const longest = 52
	if len(name) <= longest {
		return name
	}
	g.assume("the hash at the end of a name that is cut to 52 characters is not the operators' own")
	return fmt.Sprintf("%s-%x", name[:longest-7], sha256.Sum256([]byte(name)))[:longest]
}

// selectorLabels returns the labels by which the workload selects its pods.
func (g *group) selectorLabels() map[string]string {
	labels := map[string]string{nameLabel: g.app, instanceLabel: g.resource.Name, componentLabel: g.role.component}
	if name := cmp.Or(g.name, g.roleGroup); name != "" {
		labels[roleGroupLabel] = name
	}
	if g.ownLabels {
		labels["role"], labels["group"] = g.role.component, g.name
	}
	return labels
}

// labels returns the labels of the workload and, except for HDFS, of its pods.
func (g *group) labels() map[string]string {
	labels := g.selectorLabels()
	labels["app.kubernetes.io/managed-by"] = cmp.Or(g.operatorName, g.product.group) + "_" + cmp.Or(g.controller, strings.ToLower(g.kind))
	labels["stackable.tech/vendor"] = "Stackable"
	if version := g.image.version(); version != "" {
		labels["app.kubernetes.io/version"] = version
	}
	return labels
}

// podTemplate returns the finished pod template, and the origins of its rules.
func (g *group) podTemplate(claims []v1.PersistentVolumeClaim) (v1.PodTemplateSpec, []operator.Origin) {
	levels := []level{
		{"role group " + g.name, g.level.affinity()},
		{"role " + g.role.key, g.roleLevel.affinity()},
		{"spec", affinity{NodeSelector: g.nodeSelector}},
		{"operator default", g.defaultAffinity(g.role)},
	}
	if g.role.flat {
		levels[0].name = levels[1].name
	}
	placed, origins := resolveAffinity(levels)
	enableServiceLinks := false
	template := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: g.labels()},
		Spec: v1.PodSpec{
			Affinity:           &v1.Affinity{PodAffinity: placed.PodAffinity, PodAntiAffinity: placed.PodAntiAffinity, NodeAffinity: placed.NodeAffinity},
			NodeSelector:       placed.NodeSelector,
			EnableServiceLinks: &enableServiceLinks,
			Containers:         g.containers(),
			InitContainers:     g.newContainers(g.role.initContainers),
		},
	}
	if g.ownLabels {
		template.Labels = g.selectorLabels()
	}
	if !g.role.flat {
		origins = g.applyPodOverrides("spec."+g.role.key+".podOverrides", &template, claims, g.roleLevel.PodOverrides, levels[1].name, origins)
	}
	origins = g.applyPodOverrides(g.path()+".podOverrides", &template, claims, g.level.PodOverrides, levels[0].name, origins)
	if g.stopped && g.role.workload == daemonSet {
		// A DaemonSet has no replicas: crates/stackable-operator/src/cluster_resources.rs of the library.
		template.Spec.NodeSelector = map[string]string{"stackable.tech/do-not-schedule": "cluster-stopped"}
		origins = addOrigin(origins, "nodeSelector", "clusterOperation.stopped")
	}
	return template, origins
}

// claimTemplates returns the templates of the persistent volume claims: the role's volumes, with the sizes of the resource.
func (g *group) claimTemplates() []v1.PersistentVolumeClaim {
	merged := map[string]storage{}
	for _, l := range []*Level{g.roleLevel, g.level} {
		for name, s := range l.Config.Resources.Storage {
			m := merged[name]
			merged[name] = storage{Capacity: cmp.Or(s.Capacity, m.Capacity), StorageClass: cmp.Or(s.StorageClass, m.StorageClass), Count: cmp.Or(s.Count, m.Count)}
		}
	}
	volumes := slices.Clone(g.role.volumes)
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		known := slices.ContainsFunc(volumes, func(v volume) bool { return v.field == name })
		if !known && g.role.moreVolumes {
			volumes = append(volumes, volume{field: name, claim: name, capacity: g.role.volumes[0].capacity})
		} else if !known && len(volumes) > 0 {
			g.warn("%s: config.resources.storage has no %s, so that it has no effect", g.path(), name)
		}
	}
	var claims []v1.PersistentVolumeClaim
	for _, v := range volumes {
		s, count := merged[v.field], 1
		if s.Count != nil && g.role.moreVolumes {
			count = *s.Count
		}
		for i := range count {
			name := v.claim
			if i > 0 {
				name = fmt.Sprintf("%s-%d", v.claim, i)
			}
			claims = append(claims, v1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: v1.PersistentVolumeClaimSpec{
					AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
					StorageClassName: s.StorageClass,
					Resources: v1.VolumeResourceRequirements{
						Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(quantityOr(s.Capacity, v.capacity))},
					},
				},
			})
		}
	}
	return claims
}

// addBudget adds the role's PodDisruptionBudget, which covers the pods of all its role groups.
func (c *cluster) addBudget(r *role, given budget, replicas int32) {
	if r.noBudget || given.Enabled != nil && !*given.Enabled {
		return
	}
	most := int32(1)
	if r.disruptions != nil {
		most = max(1, r.disruptions(c, replicas))
	}
	if given.MaxUnavailable != nil {
		most = *given.MaxUnavailable
	}
	maxUnavailable := intstr.FromInt32(most)
	c.expansion.Objects = append(c.expansion.Objects, operator.WrittenObject{Object: &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: c.resource.Name + "-" + r.component},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &maxUnavailable,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{
				nameLabel: c.app, instanceLabel: c.resource.Name, componentLabel: r.component,
			}},
		},
	}})
}
