package dumptest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// addDaemonSets adds DaemonSets that run on every node.
func (c *dumpBuilder) addDaemonSets() {
	for _, name := range []string{"kube-proxy", "cni", "node-exporter"} {
		c.addDaemonSet(name, name != "node-exporter")
	}
}

// addDaemonSet adds a DaemonSet with a pod on every node. Its pods are privileged if they set up the node's network.
func (c *dumpBuilder) addDaemonSet(name string, network bool) {
	app := map[string]string{"k8s-app": name}
	spec := podSpec("50m", "64Mi")
	spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	if network {
		spec.HostNetwork, spec.PriorityClassName = true, "system-node-critical"
		spec.Containers[0].SecurityContext = &v1.SecurityContext{Privileged: ptr.To(true)}
		spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: int32(10249 + len(name)), HostPort: int32(10249 + len(name)), Protocol: v1.ProtocolTCP}}
	}
	set := &appsv1.DaemonSet{ObjectMeta: c.newMeta("kube-system", name, app), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: app}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: spec},
		UpdateStrategy:       appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType},
		RevisionHistoryLimit: ptr.To[int32](10),
	}}
	set.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "1"}
	n := int32(len(c.nodes))
	set.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: n, CurrentNumberScheduled: n, UpdatedNumberScheduled: n, NumberReady: n, NumberAvailable: n}
	c.appendObject("apps/v1", "DaemonSet", set)
	for _, node := range c.nodes {
		meta := c.newMeta("kube-system", name+"-"+c.randomSuffix(), map[string]string{"k8s-app": name, "controller-revision-hash": "5f8c7d9b6", "pod-template-generation": "1"})
		meta.GenerateName, meta.OwnerReferences = name+"-", controllerRef("DaemonSet", "apps/v1", set.ObjectMeta)
		running := *spec.DeepCopy()
		running.Affinity = nodeAffinityTo(node.Name)
		if running.PriorityClassName != "" {
			running.Priority = ptr.To[int32](2000001000)
		}
		c.addPod(meta, running, node.Name)
	}
}

// addStatefulSets adds StatefulSets whose claims are bound in the zones of their pods; one claim is not in the dump.
func (c *dumpBuilder) addStatefulSets() {
	for i, name := range []string{"ledger", "kafka", "postgres", "redis", "search"} {
		c.addStatefulSet(name, i > 0)
	}
}

// addStatefulSet adds a StatefulSet of three pods with a claim each, with or without a budget.
func (c *dumpBuilder) addStatefulSet(name string, guarded bool) {
	app := map[string]string{"app": name}
	spec := podSpec("500m", "2Gi")
	set := &appsv1.StatefulSet{ObjectMeta: c.newMeta("data", name, app), Spec: appsv1.StatefulSetSpec{
		Replicas: ptr.To[int32](3), ServiceName: name, PodManagementPolicy: appsv1.OrderedReadyPodManagement, RevisionHistoryLimit: ptr.To[int32](10),
		Selector: &metav1.LabelSelector{MatchLabels: app}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: spec},
		VolumeClaimTemplates: []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec("")}},
		UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
	}}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, CurrentReplicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3,
		CurrentRevision: name + "-6b9", UpdateRevision: name + "-6b9", CollisionCount: ptr.To[int32](0)}
	c.appendObject("apps/v1", "StatefulSet", set)
	c.addService("data", name, v1.ServiceTypeClusterIP, v1.ClusterIPNone)
	if guarded {
		c.addBudget("data", name, 1)
	}
	avoid := map[string]bool{}
	for ordinal := range 3 {
		pod := fmt.Sprintf("%s-%d", name, ordinal)
		node := c.randomNodeFor(spec, avoid)
		avoid[node] = true
		c.addClaim("data-"+pod, node)
		meta := c.newMeta("data", pod, map[string]string{"app": name, "controller-revision-hash": name + "-6b9",
			"statefulset.kubernetes.io/pod-name": pod, "apps.kubernetes.io/pod-index": fmt.Sprint(ordinal)})
		meta.GenerateName, meta.OwnerReferences = name+"-", controllerRef("StatefulSet", "apps/v1", set.ObjectMeta)
		running := *spec.DeepCopy()
		running.Hostname, running.Subdomain = pod, name
		running.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + pod}}}}
		c.addPod(meta, running, node)
	}
}

func claimSpec(volume string) v1.PersistentVolumeClaimSpec {
	return v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: ptr.To("gp3"), VolumeName: volume,
		VolumeMode: ptr.To(v1.PersistentVolumeFilesystem), Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("20Gi")}}}
}

// addClaim adds a claim that is bound to a volume in the zone of the node.
func (c *dumpBuilder) addClaim(name, node string) {
	if name == MissingClaim {
		return
	}
	zone := c.domainOf(node, v1.LabelTopologyZone)
	claim := &v1.PersistentVolumeClaim{ObjectMeta: c.newMeta("data", name, nil), Spec: claimSpec("pvc-" + name), Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
	c.appendObject("v1", "PersistentVolumeClaim", claim)
	c.appendObject("v1", "PersistentVolume", &v1.PersistentVolume{ObjectMeta: c.newMeta("", "pvc-"+name, nil), Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}, Spec: v1.PersistentVolumeSpec{
		Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("20Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: "gp3",
		PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete, VolumeMode: ptr.To(v1.PersistentVolumeFilesystem),
		ClaimRef:               &v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "data", Name: name, UID: claim.UID},
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name, FSType: "ext4"}},
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}}}},
	}})
}

// addDeployments adds Deployments of one replica, of a few, and of many, with the rules of typical charts.
func (c *dumpBuilder) addDeployments() {
	for i := range c.countServices() {
		replicas := []int{1, 1, 2, 3, 5, 8, 40}[i%7]
		name := fmt.Sprintf("svc-%02d", i)
		spec := podSpec([]string{"100m", "250m", "500m", "1"}[i%4], []string{"128Mi", "512Mi", "1Gi"}[i%3])
		apart, apartOver := []v1.PodAffinityTerm{{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}, ""
		switch i % 5 {
		case 1:
			spec = withLimitsOnly(spec)
		case 2:
			spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: apart[0]}}}}
		case 3:
			replicas, apartOver = min(replicas, len(c.nodes)/3), v1.LabelHostname
			spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: apart}}
		case 4:
			spec.PriorityClassName = "high"
		}
		c.addDeployment("shop", name, replicas, spec, apartOver, i%6 == 0, webhookChanges[i%8])
		if replicas > 2 || c.scaling && replicas == 1 {
			c.addBudget("shop", name, min(1, replicas-1))
		}
		if c.scaling && isJustScaled(replicas) {
			c.addAutoscaler("shop", name, 2*replicas)
		}
		kind := v1.ServiceTypeClusterIP
		if i%10 == 0 {
			kind = v1.ServiceTypeLoadBalancer
		}
		c.addService("shop", name, kind, "")
	}
	giant := podSpec("64", "1Gi")
	c.addDeployment("shop", Unschedulable, 2, giant, "", false, nil)
	if !c.scaling {
		c.addAutoscaler("shop", "svc-03", 9)
	}
}

// isJustScaled reports whether an autoscaler has just scaled a Deployment to this number.
func isJustScaled(replicas int) bool { return replicas > 2 && replicas < 9 }

func (c *dumpBuilder) addAutoscaler(namespace, deployment string, most int) {
	c.appendObject("autoscaling/v2", "HorizontalPodAutoscaler", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: c.newMeta(namespace, deployment, nil), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment}, MinReplicas: ptr.To[int32](2), MaxReplicas: int32(most)}})
}

// webhookChanges has the changes of webhooks to the pods of some Deployments, by the remainder of the Deployment's number divided by 8: a mesh
// injects a sidecar, and the Vertical Pod Autoscaler sets requests.
var webhookChanges = map[int]func(*v1.PodSpec){
	5: func(spec *v1.PodSpec) {
		sidecar := podSpec("100m", "128Mi").Containers[0]
		sidecar.Name, sidecar.Image, sidecar.Ports = Sidecar, "registry.example.com/proxy:1.26", nil
		spec.Containers = append(spec.Containers, sidecar)
		spec.Volumes = append(spec.Volumes, v1.Volume{Name: "proxy-data", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
	},
	6: func(spec *v1.PodSpec) {
		resources := &spec.Containers[0].Resources
		resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("375m"), v1.ResourceMemory: resource.MustParse("300Mi")}
		if resources.Limits != nil {
			resources.Limits = resources.Requests
		}
	},
}

// addDeployment adds a Deployment with pods of the spec after the webhooks have changed it. If apart is a topology key, each pod is in a
// domain of its own. A pod for which no node has room is Pending. deployment returns the last pod's node.
func (c *dumpBuilder) addDeployment(namespace, name string, replicas int, spec v1.PodSpec, apart string, newer bool, webhooks func(*v1.PodSpec)) (node string) {
	app := map[string]string{"app": name}
	hash := fmt.Sprintf("%x", 0x5d4f8c7b+len(c.items))
	hashed := map[string]string{"app": name, "pod-template-hash": hash}
	n := int32(replicas)
	ready := n
	if name == Unschedulable {
		ready = 0
	}
	d := &appsv1.Deployment{ObjectMeta: c.newMeta(namespace, name, app), Spec: appsv1.DeploymentSpec{
		Replicas: &n, RevisionHistoryLimit: ptr.To[int32](10), ProgressDeadlineSeconds: ptr.To[int32](600), Selector: &metav1.LabelSelector{MatchLabels: app},
		Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: spec},
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromString("25%"))}},
	}}
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "2"}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: n, ReadyReplicas: ready, AvailableReplicas: ready, UpdatedReplicas: n, UnavailableReplicas: n - ready}
	c.appendObject("apps/v1", "Deployment", d)
	rs := &appsv1.ReplicaSet{ObjectMeta: c.newMeta(namespace, name+"-"+hash, hashed), Spec: appsv1.ReplicaSetSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: hashed}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: hashed}, Spec: spec},
	}, Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: n, FullyLabeledReplicas: n, ReadyReplicas: ready, AvailableReplicas: ready}}
	rs.OwnerReferences = controllerRef("Deployment", "apps/v1", d.ObjectMeta)
	known := n
	if c.scaling && isJustScaled(replicas) {
		known--
	}
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": "2", "deployment.kubernetes.io/desired-replicas": fmt.Sprint(known), "deployment.kubernetes.io/max-replicas": fmt.Sprint(known + (known+3)/4)}
	c.appendObject("apps/v1", "ReplicaSet", rs)
	c.addOldReplicaSet(d, spec)
	avoid := map[string]bool{}
	created := *spec.DeepCopy()
	if webhooks != nil {
		webhooks(&created)
	}
	for range replicas {
		if name != Unschedulable {
			node = c.randomNodeFor(created, avoid)
			c.avoidDomain(avoid, node, apart)
		}
		running := *created.DeepCopy()
		if running.PriorityClassName != "" {
			running.Priority = ptr.To[int32](1000)
		}
		meta := c.newMeta(namespace, rs.Name+"-"+c.randomSuffix(), hashed)
		meta.GenerateName, meta.OwnerReferences = rs.Name+"-", controllerRef("ReplicaSet", "apps/v1", rs.ObjectMeta)
		if newer {
			c.addPod(meta, running, node, NewPodField)
		} else {
			c.addPod(meta, running, node)
		}
	}
	return node
}

// avoidDomain adds the nodes that are in the node's domain of the key.
func (c *dumpBuilder) avoidDomain(avoid map[string]bool, node, key string) {
	domain := c.domainOf(node, key)
	for _, other := range c.nodes {
		if domain != "" && other.Labels[key] == domain {
			avoid[other.Name] = true
		}
	}
}

// domainOf returns the value of a label of a node.
func (c *dumpBuilder) domainOf(node, key string) string {
	for _, n := range c.nodes {
		if n.Name == node {
			return n.Labels[key]
		}
	}
	return ""
}

// addOldReplicaSet adds the ReplicaSet before the last rollout, which the Deployment keeps for a rollback.
func (c *dumpBuilder) addOldReplicaSet(d *appsv1.Deployment, spec v1.PodSpec) {
	hashed := map[string]string{"app": d.Name, "pod-template-hash": "0ld"}
	old := *spec.DeepCopy()
	old.Containers[0].Image = "registry.example.com/app:1.2.2"
	rs := &appsv1.ReplicaSet{ObjectMeta: c.newMeta(d.Namespace, d.Name+"-0ld", hashed), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: hashed}, Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: hashed}, Spec: old},
	}, Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1}}
	rs.OwnerReferences = controllerRef("Deployment", "apps/v1", d.ObjectMeta)
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	c.appendObject("apps/v1", "ReplicaSet", rs)
}

func (c *dumpBuilder) addService(namespace, name string, kind v1.ServiceType, ip string) {
	if ip == "" {
		ip = fmt.Sprintf("172.20.%d.%d", c.version/250, c.version%250)
	}
	service := &v1.Service{ObjectMeta: c.newMeta(namespace, name, nil), Spec: v1.ServiceSpec{
		Type: kind, Selector: map[string]string{"app": name}, ClusterIP: ip, ClusterIPs: []string{ip}, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
		IPFamilyPolicy: ptr.To(v1.IPFamilyPolicySingleStack), InternalTrafficPolicy: ptr.To(v1.ServiceInternalTrafficPolicyCluster), SessionAffinity: v1.ServiceAffinityNone,
		Ports: []v1.ServicePort{{Name: "http", Port: 80, Protocol: v1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}},
	}}
	if kind == v1.ServiceTypeLoadBalancer {
		service.Spec.ExternalTrafficPolicy, service.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 31000
		service.Spec.Ports[0].NodePort, service.Spec.AllocateLoadBalancerNodePorts = 31001, ptr.To(true)
	}
	c.appendObject("v1", "Service", service)
}

func (c *dumpBuilder) addBudget(namespace, name string, unavailable int) {
	c.appendObject("policy/v1", "PodDisruptionBudget", &policyv1.PodDisruptionBudget{ObjectMeta: c.newMeta(namespace, name, nil), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: ptr.To(intstr.FromInt32(int32(unavailable))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}})
}

// addBatch adds pods that run to an end, pods of another scheduler, and pods whose node is gone.
func (c *dumpBuilder) addBatch() {
	once := podSpec("500m", "1Gi")
	once.RestartPolicy = v1.RestartPolicyNever
	cron := &batchv1.CronJob{ObjectMeta: c.newMeta("ml", "nightly", nil), Spec: batchv1.CronJobSpec{Schedule: "0 3 * * *", ConcurrencyPolicy: batchv1.ForbidConcurrent,
		Suspend: ptr.To(false), SuccessfulJobsHistoryLimit: ptr.To[int32](3), FailedJobsHistoryLimit: ptr.To[int32](1),
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: v1.PodTemplateSpec{Spec: once}}}}}
	c.appendObject("batch/v1", "CronJob", cron)
	c.addJob("nightly-1", controllerRef("CronJob", "batch/v1", cron.ObjectMeta), once)
	devices := podSpec("2", "8Gi")
	devices.SchedulerName = "volcano"
	devices.Tolerations = []v1.Toleration{{Key: "nvidia.com/gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	devices.Containers[0].Resources.Limits = v1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	c.addPod(c.newMeta("ml", OtherPod, map[string]string{"app": "train"}), devices, "")
	c.addPod(c.newMeta("ml", OtherBound, map[string]string{"app": "train"}), devices, c.randomNodeFor(devices, nil))
	for i := range 2 {
		c.addPod(c.newMeta("ml", fmt.Sprintf("job-runner-%d", i), map[string]string{"app": "job-runner"}), podSpec("100m", "64Mi"), GoneNode)
	}
}

// addJob adds a Job with one pod.
func (c *dumpBuilder) addJob(name string, owner []metav1.OwnerReference, spec v1.PodSpec) {
	meta := c.newMeta("ml", name, nil)
	labels := map[string]string{"batch.kubernetes.io/controller-uid": string(meta.UID), "controller-uid": string(meta.UID), "batch.kubernetes.io/job-name": name, "job-name": name}
	meta.OwnerReferences, meta.Labels = owner, labels
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
		Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1), BackoffLimit: ptr.To[int32](6), CompletionMode: ptr.To(batchv1.NonIndexedCompletion), Suspend: ptr.To(false),
		ManualSelector: nil, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": string(meta.UID)}},
		Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}, Status: batchv1.JobStatus{Active: 1, Ready: ptr.To[int32](1), StartTime: ptr.To(minutesAfterStart(9000))}}
	c.appendObject("batch/v1", "Job", job)
	running := c.newMeta("ml", name+"-"+c.randomSuffix(), labels)
	running.GenerateName, running.OwnerReferences = name+"-", controllerRef("Job", "batch/v1", job.ObjectMeta)
	c.addPod(running, spec, c.randomNodeFor(spec, nil))
}

// randomSuffix returns five characters, as the API server adds to a generated name.
func (c *dumpBuilder) randomSuffix() string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	var name [5]byte
	for i := range name {
		name[i] = alphabet[c.rand.IntN(len(alphabet))]
	}
	return string(name[:])
}
