package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
)

const (
	rack = "rack"
	gpu  = v1.ResourceName("example.com/gpu")
)

// world is a random cluster and the templates of its pods. Everything follows from the seed.
type world struct {
	*rand.Rand
	seed   uint64
	config *Config
	first  *cluster.State
	apps   []*v1.Pod // one pod of each, with its name
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed}
	w.config = one(w, configs(t)...)
	state := &cluster.State{Now: cluster.Epoch, TerminationSeconds: one[int64](w, 0, 1)}
	nodes := 2 + w.IntN(8)
	if seed%16 == 1 { // the search for feasible nodes stops early
		nodes = 101 + w.IntN(30)
	}
	for i := range nodes {
		state = state.With(w.node(fmt.Sprint("n", i)))
	}
	for _, name := range []string{"default", "east", "west"} {
		state = state.With(w.namespace(name))
	}
	state = state.With(w.budget(), class(one(w, "ebs.csi.aws.com", "kubernetes.io/no-provisioner")), sharedClaim("shared", v1.ReadWriteMany), sharedClaim("alone", v1.ReadWriteOncePod))
	for i := range 2 * len(state.Namespaces) {
		state = state.With(localVolume(fmt.Sprint("pv", i), one(w, state.Nodes...).Name, one(w, "1Gi", "2Gi", "4Gi")))
	}
	for i := range 2 + w.IntN(5) {
		app, owner := w.app(i)
		w.apps = append(w.apps, app)
		if owner != nil {
			state = state.With(owner)
		}
	}
	if w.chance(3) {
		state = state.With(w.service())
	}
	w.first = w.withDevices(state)
	return w
}

// one returns one of the values.
func one[T any](w *world, values ...T) T { return values[w.IntN(len(values))] }

// chance is true with the probability 1/n.
func (w *world) chance(n int) bool { return w.IntN(n) == 0 }

// configs returns the scheduler configurations of the worlds, under the current release. They are read once per release, since building one
// takes a while.
func configs(t testing.TB) []*Config {
	read, found := knownConfigs[currentRelease()]
	if !found {
		var err error
		if read, err = readConfigs(); err != nil {
			t.Fatal(err)
		}
		knownConfigs[currentRelease()] = read
	}
	return read
}

var knownConfigs = map[Release][]*Config{}

func readConfigs() ([]*Config, error) {
	standard, err := DefaultConfig()
	configs := []*Config{standard, standard, standard}
	for _, profiles := range []string{
		`[{schedulerName: default-scheduler}, {schedulerName: other, pluginConfig: [
		{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [
			{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway},
			{maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]}},
		{name: InterPodAffinity, args: {hardPodAffinityWeight: 100}}]}]`,
		`[{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}},
		{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: example.com/gpu, weight: 1}]}}}],
		plugins: {score: {disabled: [{name: ImageLocality}, {name: VolumeBinding}], enabled: [{name: PodTopologySpread, weight: 7}]}}}]`,
		`[{percentageOfNodesToScore: 10, plugins: {multiPoint: {disabled: [{name: TaintToleration}, {name: NodeResourcesBalancedAllocation}]}},
		pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: []}},
		{name: NodeAffinity, args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
			{weight: 30, preference: {matchExpressions: [{key: rack, operator: In, values: [a]}]}}]}}}]}]`,
		`[{plugins: {filter: {disabled: [{name: InterPodAffinity}]}, preScore: {disabled: [{name: PodTopologySpread}]}, score: {disabled: [{name: PodTopologySpread}]}}}]`,
	} {
		config, readErr := LoadConfig(ConfigOptions{}, "world", []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: "+profiles))
		if readErr != nil {
			return nil, readErr
		}
		configs = append(configs, config)
	}
	return configs, err
}

func (w *world) node(name string) *v1.Node {
	labels := map[string]string{}
	for key, value := range map[string]string{zone: one(w, "z1", "z2", "z3"), rack: one(w, "a", "b")} {
		labels[key] = value
	}
	if w.chance(5) {
		delete(labels, zone)
	}
	if w.chance(3) {
		delete(labels, rack)
	}
	n := node(name, labels)
	if w.chance(12) {
		delete(n.Labels, hostname)
	}
	n.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(1+w.Int64N(6), resource.DecimalSI), v1.ResourceMemory: resource.MustParse("8Gi"),
		v1.ResourcePods: *resource.NewQuantity(2+w.Int64N(8), resource.DecimalSI), gpu: *resource.NewQuantity(w.Int64N(3), resource.DecimalSI),
	}
	n.Status.Capacity = n.Status.Allocatable
	if w.chance(4) {
		n.Spec.Taints = w.taints()
	}
	n.Spec.Unschedulable = w.chance(15)
	n.Status.Images = w.images()
	return n
}

func (w *world) taints() []v1.Taint {
	effect := one(w, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)
	return []v1.Taint{{Key: one(w, "dedicated", "spot"), Effect: effect}}
}

func (w *world) images() (images []v1.ContainerImage) {
	for i, name := range []string{"web:latest", "model:1"} {
		if w.chance(3) {
			images = append(images, v1.ContainerImage{Names: []string{name}, SizeBytes: int64(i+1) * 200 << 20})
		}
	}
	return images
}

func (w *world) namespace(name string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": one(w, "a", "b")}}}
}

func (w *world) budget() *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "budget", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: w.selector()},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: w.Int32N(2)},
	}
}

func sharedClaim(name string, mode v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	c := claim(name)
	c.Spec.AccessModes = []v1.PersistentVolumeAccessMode{mode}
	return c
}

// localVolume returns a volume on a node.
func localVolume(name, node, size string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName: "class", Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
			AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteMany, v1.ReadWriteOncePod},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/" + name}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: hostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
}

func (w *world) service() *v1.Service {
	selector := one(w, map[string]string{"app": w.name()}, map[string]string{"track": "canary"}, map[string]string{"late": "x"}, nil)
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: one(w, "s1", "s2"), Namespace: w.space()}, Spec: v1.ServiceSpec{Selector: selector}}
}

// Few names, so that the rules of one app are about others, too.
func (w *world) name() string  { return one(w, "web", "db", "batch") }
func (w *world) space() string { return one(w, "default", "default", "east", "west") }
func (w *world) key() string   { return one(w, hostname, zone, zone, rack) }

func (w *world) selector() *metav1.LabelSelector {
	switch w.IntN(12) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		key := one(w, "app", "track", "late", appsv1.StatefulSetPodNameLabel)
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: one(w, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	case 3:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{w.name()}}}}
	case 4:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"track": "canary"}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.name()}}
}

// term returns a term as it is stored: admission has merged the label keys into its selector.
func (w *world) term(pod *v1.Pod) v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{TopologyKey: w.key(), LabelSelector: w.selector()}
	if w.chance(4) {
		term.Namespaces = []string{w.space()}
	}
	if w.chance(4) {
		term.NamespaceSelector = one(w, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}})
	}
	if term.LabelSelector != nil && w.chance(5) {
		operator := metav1.LabelSelectorOpIn
		if w.chance(2) {
			term.MatchLabelKeys = []string{"track"}
		} else {
			term.MismatchLabelKeys, operator = []string{"track"}, metav1.LabelSelectorOpNotIn
		}
		term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: "track", Operator: operator, Values: []string{pod.Labels["track"]}})
	}
	return term
}

func (w *world) affinity(pod *v1.Pod) *v1.Affinity {
	a := &v1.Affinity{}
	if w.chance(5) {
		a.NodeAffinity = w.nodeAffinity()
	}
	weighted := func() []v1.WeightedPodAffinityTerm {
		return []v1.WeightedPodAffinityTerm{{Weight: 1 + w.Int32N(100), PodAffinityTerm: w.term(pod)}}
	}
	switch w.IntN(8) {
	case 0:
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{w.term(pod)}}
	case 1:
		a.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
	case 2, 3:
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{w.term(pod)}}
	case 4:
		a.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: append(weighted(), weighted()...)}
	case 5:
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{w.term(pod), w.term(pod)}, PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
		a.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted()}
	case 6:
		return nil
	}
	return a
}

func (w *world) nodeAffinity() *v1.NodeAffinity {
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: one(w, zone, rack), Operator: one(w, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist)}}}
	switch w.IntN(3) {
	case 0:
		return &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1 + w.Int32N(100), Preference: term}}}
	case 1: // as the DaemonSet controller writes it
		term = v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{one(w, "n0", "n1")}}}}
	}
	return &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
}

func (w *world) constraints() (all []v1.TopologySpreadConstraint) {
	for _, key := range []string{hostname, zone, rack}[w.IntN(3):] {
		c := v1.TopologySpreadConstraint{MaxSkew: 1 + w.Int32N(2), TopologyKey: key, WhenUnsatisfiable: one(w, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: w.selector()}
		if c.WhenUnsatisfiable == v1.DoNotSchedule && w.chance(3) {
			c.MinDomains = new(int32)
			*c.MinDomains = 1 + w.Int32N(4)
		}
		policy := func() *v1.NodeInclusionPolicy {
			return one(w, nil, new(v1.NodeInclusionPolicyHonor), new(v1.NodeInclusionPolicyIgnore))
		}
		c.NodeAffinityPolicy, c.NodeTaintsPolicy = policy(), policy()
		if c.LabelSelector != nil && w.chance(4) {
			c.MatchLabelKeys = []string{one(w, "track", "late")}
		}
		all = append(all, c)
	}
	return all
}

// app returns one pod of an app, named after it, and its controller if it has one.
func (w *world) app(i int) (*v1.Pod, cluster.Object) {
	name := w.name()
	id := fmt.Sprint("app", i)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: id, Namespace: w.space(), Labels: map[string]string{"app": name, "track": one(w, "stable", "canary")}}}
	spec := &pod.Spec
	spec.SchedulerName = one(w, w.config.SchedulerNames()...)
	spec.Containers = []v1.Container{{Name: "c", Image: one(w, "web", "model:1", "pause"), Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(100*w.Int64N(20), resource.DecimalSI), v1.ResourceMemory: resource.MustParse("128Mi")}}}}
	if w.chance(8) {
		spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
	}
	if w.chance(8) {
		spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: one[int32](w, 80, 81), Protocol: v1.ProtocolTCP}}
	}
	if w.chance(2) {
		priority := one[int32](w, 0, 10, 10, 1000)
		spec.Priority = &priority
	}
	if w.chance(3) {
		spec.Tolerations = []v1.Toleration{one(w, v1.Toleration{Operator: v1.TolerationOpExists}, v1.Toleration{Key: "spot", Operator: v1.TolerationOpExists})}
	}
	if w.chance(8) {
		spec.NodeSelector = map[string]string{zone: "z1"}
	}
	if w.chance(8) {
		spec.Volumes = []v1.Volume{{Name: "image", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: one(w, "web", "model:1")}}}}
	}
	if w.chance(3) {
		spec.Affinity = w.affinity(pod)
	} else if w.chance(2) {
		spec.TopologySpreadConstraints = w.constraints()
	}
	if w.chance(6) {
		claims(pod, one(w, "shared", "alone"))
	}
	meta := metav1.ObjectMeta{Name: id, Namespace: pod.Namespace, UID: types.UID(id)}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	switch w.IntN(4) {
	case 0:
		set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector}}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		return pod, set
	case 1, 2:
		set := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector}}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		return pod, set
	}
	return pod, nil
}
