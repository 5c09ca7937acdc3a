package dumptest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Levers make a cluster difficult in one way or another. Numbers are for 120 nodes and grow with the nodes; percentages and the number of
// DaemonSets do not. Zero changes nothing.
type Levers struct {
	// Services is the number of Deployments of 1 to 40 pods in namespace shop; 120 by default.
	Services int
	// Filled is the smallest percentage of the CPU of untainted nodes that pods request.
	Filled int
	// Waiting is the number of additional Pending pods: pods that are too large for the free room, pods that are too large beside the
	// DaemonSets of any node, so that no preemption helps, or pods that must be apart by zone.
	Waiting int
	// Budgets is the number of Deployments of two pods with a PodDisruptionBudget each. Every third budget allows no eviction.
	Budgets int
	// DaemonSets is the number of DaemonSets that run a pod on every node, in addition to three.
	DaemonSets int
	// Giant is the number of pods of one Deployment, spread over zones and nodes.
	Giant int
	// Namespaces is the number of namespaces with a quota, a range of limits and a Deployment of one or two pods.
	Namespaces int
	// Tainted is the percentage of nodes with a taint, for control planes, GPUs or one of four teams. A team has a Deployment of five pods for
	// each of its nodes; half of these Deployments run only on the team's nodes.
	Tainted int
	// Volumes is the number of StatefulSets of three pods, and also of Deployments of one pod, whose claims are bound in the zones of their
	// pods.
	Volumes int
	// GPUs is the percentage of nodes, without control planes, that have four GPUs; 10 by default. If GPUs is set, Deployments request 105 %
	// of the GPUs.
	GPUs int
}

// Shape is a cluster that is difficult in one way, with the objects to ask about.
type Shape struct {
	Name    string
	Options Options
	// Workload is a workload, as TYPE/NAME, in Namespace that the difficulty affects.
	Workload, Namespace string
	// Node has pods of the cluster's workloads.
	Node string
}

// Shapes returns the clusters of benchmarks, since a search that is fast in one may be slow in another. All have about the same number of
// pods.
func Shapes() []Shape {
	shape := func(name, namespace, workload string, levers Levers) Shape {
		return Shape{name, Options{Seed: 1, Levers: levers}, workload, namespace, "ip-10-0-1-4"}
	}
	scaling := shape("scaling", "shop", "deployment/svc-05", Levers{})
	scaling.Options.Scaling = true
	return []Shape{
		scaling,
		shape("roomy", "shop", "deployment/svc-05", Levers{Services: 60}),
		shape("tight", "shop", "deployment/svc-05", Levers{Services: 60, Filled: 95, Waiting: 50}),
		shape("waiting", "shop", "deployment/svc-05", Levers{Services: 60, Filled: 75, Waiting: 400}),
		shape("budgets", "shop", "deployment/guarded-001", Levers{Services: 60, Budgets: 300}),
		shape("daemonsets", "shop", "deployment/svc-05", Levers{Services: 60, DaemonSets: 20}),
		shape("giant", "shop", "deployment/giant-fleet", Levers{Services: 30, Giant: 1000}),
		shape("namespaces", "team-001", "deployment/app", Levers{Services: 30, Namespaces: 400}),
		shape("tainted", "shop", "deployment/team-a-00", Levers{Services: 60, Tainted: 40}),
		shape("volumes", "data", "statefulset/volume-00", Levers{Services: 30, Volumes: 150}),
		shape("gpus", "ml", "deployment/model-00", Levers{Services: 60, GPUs: 40}),
	}
}

// scaleLever scales a number for 120 nodes to the cluster's nodes.
func (c *dumpBuilder) scaleLever(lever int) int { return (lever*len(c.nodes) + 119) / 120 }

// countServices returns the number of Deployments in namespace shop, by default about one for each node.
func (c *dumpBuilder) countServices() int {
	if c.levers.Services > 0 {
		return c.scaleLever(c.levers.Services)
	}
	return len(c.nodes)
}

// choosePools returns the kinds of the nodes.
func (l Levers) choosePools(nodes int) []pool {
	pools, workers, open := make([]pool, nodes), 0, 0
	for i := range pools {
		hasGPU := i%10 == 5
		if l.GPUs > 0 {
			hasGPU = workers*l.GPUs/100 != (workers+1)*l.GPUs/100
		}
		if i%40 >= 3 {
			workers++
		}
		switch {
		case i%40 < 3:
			pools[i] = controlPlanePool
		case hasGPU:
			pools[i] = gpuPool
		case i%4 == 3:
			pools[i] = memoryPool
		default:
			pools[i] = generalPool
		}
		if pools[i].taint == "" {
			open++
		}
	}
	// The teams' nodes are spread evenly over the nodes without a taint.
	teams, at := nodes*l.Tainted/100-(nodes-open), 0
	for i := range pools {
		if pools[i].taint != "" {
			continue
		}
		if before := at * teams / open; teams > 0 && before != (at+1)*teams/open {
			pools[i].taint = team(before)
		}
		at++
	}
	return pools
}

// team returns the key of the taint of one of four teams.
func team(i int) string { return fmt.Sprintf("team-%c", 'a'+i%4) }

// pullLevers adds the objects of the levers. Pods that take the remaining room come last.
func (c *dumpBuilder) pullLevers() {
	for i := range c.levers.DaemonSets {
		c.addDaemonSet(fmt.Sprintf("agent-%02d", i), false)
	}
	c.addGiant(c.scaleLever(c.levers.Giant))
	for i := range c.scaleLever(c.levers.Budgets) {
		name := fmt.Sprintf("guarded-%03d", i)
		c.addDeployment("shop", name, 2, podSpec("100m", "128Mi"), v1.LabelHostname, false, nil)
		c.addBudget("shop", name, min(1, i%3))
	}
	for i := range c.scaleLever(c.levers.Namespaces) {
		c.addNamespace(fmt.Sprintf("team-%03d", i), 1+i%2)
	}
	c.addVolumes(c.scaleLever(c.levers.Volumes))
	if c.levers.Tainted > 0 {
		c.addTeams()
	}
	if c.levers.GPUs > 0 {
		c.addModels()
	}
	c.fillNodes()
	c.addWaiting(c.scaleLever(c.levers.Waiting))
}

// addGiant adds one Deployment with most of the pods.
func (c *dumpBuilder) addGiant(replicas int) {
	if replicas == 0 {
		return
	}
	spec, app := podSpec("250m", "256Mi"), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "giant-fleet"}}
	spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
		{MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: app},
		{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: app},
	}
	c.addDeployment("shop", "giant-fleet", replicas, spec, "", false, nil)
	c.addBudget("shop", "giant-fleet", replicas/10)
}

// addNamespace adds a namespace of a small team.
func (c *dumpBuilder) addNamespace(name string, replicas int) {
	meta := c.newMeta("", name, map[string]string{v1.LabelMetadataName: name})
	c.appendObject("v1", "Namespace", &v1.Namespace{ObjectMeta: meta, Spec: v1.NamespaceSpec{Finalizers: []v1.FinalizerName{"kubernetes"}}, Status: v1.NamespaceStatus{Phase: v1.NamespaceActive}})
	c.appendObject("v1", "ResourceQuota", &v1.ResourceQuota{ObjectMeta: c.newMeta(name, "team", nil), Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{
		"requests.cpu": resource.MustParse("20"), v1.ResourcePods: resource.MustParse("50")}}})
	c.appendObject("v1", "LimitRange", &v1.LimitRange{ObjectMeta: c.newMeta(name, "team", nil), Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{{
		Type: v1.LimitTypeContainer, DefaultRequest: v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}}}}})
	c.addDeployment(name, "app", replicas, podSpec("250m", "256Mi"), "", false, nil)
	c.addService(name, "app", v1.ServiceTypeClusterIP, "")
}

// addVolumes adds volumes with StatefulSets that claim them, and with Deployments of one pod.
func (c *dumpBuilder) addVolumes(number int) {
	for i := range number {
		c.addStatefulSet(fmt.Sprintf("volume-%02d", i), i%2 == 0)
		name := fmt.Sprintf("files-%02d", i)
		spec := podSpec("250m", "512Mi")
		spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
		c.addClaim(name, c.addDeployment("data", name, 1, spec, "", false, nil))
	}
}

// addTeams adds Deployments of the teams, half of which run only on their team's nodes.
func (c *dumpBuilder) addTeams() {
	i := 0
	for _, node := range c.nodes {
		key := node.Labels["team"]
		if key == "" {
			continue
		}
		spec := podSpec("500m", "1Gi")
		spec.Tolerations = []v1.Toleration{{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
		if i/4%2 == 0 {
			spec.NodeSelector = map[string]string{"team": key}
		}
		c.addDeployment("shop", fmt.Sprintf("%s-%02d", key, i/4), 5, spec, "", false, nil)
		i++
	}
}

// addModels adds Deployments that request GPUs, in total more than there are.
func (c *dumpBuilder) addModels() {
	left := int64(0)
	for _, node := range c.nodes {
		left += max(0, c.free[node.Name].gpu)
	}
	left += left / 20
	for i := 0; left > 0; i++ {
		devices := []int64{4, 2, 1, 1}[i%4]
		spec := podSpec("1", "8Gi")
		spec.Tolerations = []v1.Toleration{{Key: gpuPool.taint, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
		resources := &spec.Containers[0].Resources
		resources.Requests["nvidia.com/gpu"] = *resource.NewQuantity(devices, resource.DecimalSI)
		resources.Limits = v1.ResourceList{"nvidia.com/gpu": resources.Requests["nvidia.com/gpu"]}
		replicas := min(4, (left+devices-1)/devices)
		left -= replicas * devices
		c.addDeployment("ml", fmt.Sprintf("model-%02d", i), int(replicas), spec, "", false, nil)
	}
}

// fillNodes adds Deployments of ever smaller pods until pods request the share Filled of the CPU.
func (c *dumpBuilder) fillNodes() {
	sizes := []string{"2", "1", "500m", "250m", "100m"}
	for i := 0; len(sizes) > 0; i++ {
		all, left := c.countCPU()
		if 100*(all-left) >= int64(c.levers.Filled)*all {
			return
		}
		spec := podSpec(sizes[0], "512Mi")
		if c.randomNodeFor(spec, nil) == "" {
			sizes = sizes[1:]
			continue
		}
		if i%4 == 3 {
			spec.PriorityClassName = "high"
		}
		c.addDeployment("shop", fmt.Sprintf("crowd-%02d", i), 5, spec, "", false, nil)
	}
}

// countCPU returns the CPU of the nodes without a taint, and how much of it is free.
func (c *dumpBuilder) countCPU() (all, left int64) {
	for _, node := range c.nodes {
		if len(node.Spec.Taints) == 0 {
			all += node.Status.Allocatable.Cpu().MilliValue()
			left += c.free[node.Name].cpu
		}
	}
	return all, left
}

// addWaiting adds Deployments until that many more pods are Pending.
func (c *dumpBuilder) addWaiting(pods int) {
	most := int64(0)
	for _, node := range c.nodes {
		if len(node.Spec.Taints) == 0 {
			most = max(most, c.free[node.Name].cpu)
		}
	}
	for i, before := 0, c.pendingCount; c.pendingCount-before < pods; i++ {
		name, replicas, apart := fmt.Sprintf("queue-%02d", i), min(8, pods-(c.pendingCount-before)), ""
		spec := podSpec(fmt.Sprintf("%dm", min(most+100, generalPool.cpu*1000-400)), "1Gi")
		switch i % 3 {
		case 1: // the DaemonSets for the network have 100m of each node's CPU and a higher priority
			spec = podSpec(fmt.Sprintf("%dm", generalPool.cpu*1000-250), "1Gi")
			spec.PriorityClassName = "high"
		case 2:
			spec, replicas, apart = podSpec("100m", "128Mi"), replicas+3, v1.LabelTopologyZone
			spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				TopologyKey: apart, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}}}
		}
		c.addDeployment("shop", name, replicas, spec, apart, false, nil)
	}
}
