package lint

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// singleReplica finds workloads with one replica. It skips workloads that an autoscaler scales, workloads whose strategy forbids a second pod, and
// members of a group of workloads below one budget, such as a StatefulSet for each zone.
func singleReplica(l *inspection, s *subject) []Finding {
	d, isDeployment := s.object.(*appsv1.Deployment)
	if s.replicas+l.countReplicasElsewhere(s) != 1 || s.isAutoscaled() || isDeployment && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	if slices.ContainsFunc(s.budgets(), func(b *policyv1.PodDisruptionBudget) bool { return len(l.coveredSubjects(s.step, b)) > 1 }) {
		return nil
	}
	replicas, with := 2, "a rule that keeps them apart"
	for _, b := range s.budgets() {
		replicas = max(replicas, replicasAllowingEviction(b))
	}
	if len(s.budgets()) == 0 {
		with += " and a PodDisruptionBudget"
	}
	return []Finding{{Field: "spec.replicas", Message: "there is one replica: the failure or the drain of its node takes all of it",
		Fix: fmt.Sprintf("run %d replicas or more, with %s; if only one may run, say so: %s: \"one-replica: REASON\"", replicas, with, IgnoreAnnotation)}}
}

// budgetMissing finds workloads of several replicas without a budget that keeps drains from evicting all replicas together.
func budgetMissing(_ *inspection, s *subject) []Finding {
	if s.replicas < 2 || len(s.budgets()) > 0 {
		return nil
	}
	budget := "maxUnavailable: 1"
	if owner, is := s.object.(*cluster.UnknownOwner); is && owner.Spec.Unscaled { // a budget with maxUnavailable would allow no eviction
		budget = fmt.Sprintf("minAvailable: %d", s.replicas-1)
	}
	return []Finding{{Field: "spec", Brief: fmt.Sprintf("no budget covers its %s", words.Count(s.replicas, "replica")), Message: fmt.Sprintf("no PodDisruptionBudget covers the %s: drains may evict all at the same time", words.Count(s.replicas, "replica")),
		Fix: "add a PodDisruptionBudget with " + budget + " and the selector " + matchLabels(s.identityLabels())}}
}

// requestsMissing finds containers that request nothing, so that the scheduler assumes they need nothing. A request of the whole pod counts
// for all its containers, and a default request of a LimitRange counts as well.
func requestsMissing(_ *inspection, s *subject) []Finding {
	const effect = ": the scheduler counts what is not requested as nothing, and puts such pods on nodes that have nothing left"
	spec := &s.pod.Spec
	if pod, err := s.createdPod(); err == nil {
		spec = &pod.Spec
	}
	cpu, memory := containersWithoutRequest(spec, v1.ResourceCPU), containersWithoutRequest(spec, v1.ResourceMemory)
	var lack []string
	switch {
	case len(cpu) > 0 && slices.Equal(cpu, memory):
		lack = []string{phraseRequest(cpu) + " neither cpu nor memory"}
	default:
		if len(cpu) > 0 {
			lack = append(lack, phraseRequest(cpu)+" no cpu")
		}
		if len(memory) > 0 {
			lack = append(lack, phraseRequest(memory)+" no memory")
		}
	}
	if len(lack) == 0 {
		return nil
	}
	return []Finding{{Field: s.field("containers"), Brief: strings.Join(lack, ", and "), Fix: "set resources.requests to what the containers use",
		Message: strings.Join(lack, ", and ") + effect + s.describeBlindScalers(map[v1.ResourceName]bool{v1.ResourceCPU: len(cpu) > 0, v1.ResourceMemory: len(memory) > 0})}}
}

// describeBlindScalers says which autoscalers of the subject know no utilisation of a resource that containers do not request; "" if all do. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/podautoscaler/replica_calculator.go.
func (s *subject) describeBlindScalers(lacks map[v1.ResourceName]bool) string {
	for _, hpa := range s.scalers() {
		for _, metric := range hpa.Spec.Metrics {
			if of := metric.Resource; of != nil && of.Target.Type == autoscalingv2.UtilizationMetricType && lacks[of.Name] {
				return fmt.Sprintf("; the HorizontalPodAutoscaler %s knows no utilisation of %s without a request, and changes nothing by it", hpa.Name, of.Name)
			}
		}
	}
	return ""
}

// containersWithoutRequest returns the names of the containers that run as long as the pod and do not request the resource. The API server copies a limit
// into a missing request.
func containersWithoutRequest(spec *v1.PodSpec, name v1.ResourceName) []string {
	if spec.Resources != nil {
		if _, whole := spec.Resources.Requests[name]; whole {
			return nil
		}
	}
	var names []string
	for _, c := range longRunning(spec) {
		_, requested := c.Resources.Requests[name]
		_, limited := c.Resources.Limits[name]
		if !requested && !limited {
			names = append(names, c.Name)
		}
	}
	return names
}

// phraseRequest returns "container web requests" or "containers web and proxy request".
func phraseRequest(containers []string) string {
	if len(containers) == 1 {
		return "container " + containers[0] + " requests"
	}
	return "containers " + words.Few(containers) + " request"
}

// longRunning returns the containers that run as long as the pod.
func longRunning(spec *v1.PodSpec) []v1.Container {
	sidecars := list.Without(spec.InitContainers, func(c v1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways
	})
	return slices.Concat(spec.Containers, sidecars)
}

// ruleMissing finds workloads of several replicas without any rule that places the replicas relative to each other. It does not apply to a
// single node, nor if the scheduler's own default constraints are required.
func ruleMissing(l *inspection, s *subject) []Finding {
	if s.replicas < 2 || len(l.nodesFor(s)) < 2 || l.result.Scenario.Config.SpreadsHard(s.pod.Spec.SchedulerName) {
		return nil
	}
	if slices.ContainsFunc(rule.List(&s.pod.Spec), placesPods) {
		return nil
	}
	return []Finding{{Field: s.path, Fix: s.spreadFix(widestKey(l.nodesFor(s))),
		Message: fmt.Sprintf("no rule keeps the %s apart: only the scheduler's own scores do, and any other score can outvote them", words.Count(s.replicas, "replica"))}}
}

// widestKey returns the widest key over which pods can spread on the nodes: the key of zones or, if there is one zone or none is known,
// hostname.
func widestKey(nodes []*v1.Node) string {
	if key := topology.ZoneKey(nodes); countDomains(nodes, key) > 1 {
		return key
	}
	return v1.LabelHostname
}

// placesPods reports whether the rule keeps pods apart, or requires them to be together. Other checks examine whether it selects its own
// pods.
func placesPods(r rule.Rule) bool {
	return r.Kind == rule.AntiAffinity || r.Kind == rule.Spread || r.Kind == rule.Affinity && r.Hard
}
