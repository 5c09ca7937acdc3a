package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	resourcehelper "k8s.io/component-helpers/resource"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// topologyLabelMissing finds topology keys that are missing on nodes that accept the pods.
func topologyLabelMissing(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		nodes := l.nodesFor(s)
		domains, unlabelled := topology.Domains(nodes, t.TopologyKey)
		if len(unlabelled) == 0 {
			continue
		}
		f := Finding{Field: t.field() + ".topologyKey", Fix: fmt.Sprintf("label the nodes with %s, or give the topologyKey that they have", t.TopologyKey)}
		if len(domains) == 0 {
			f.Message = fmt.Sprintf("no node that takes %s has the label %s of the %s; %s", s.describePods(), t.TopologyKey, t.Rule,
				map[bool]string{true: "no pod gets a node", false: "it has no effect"}[t.Hard && t.Kind != rule.AntiAffinity])
			if !t.Hard {
				f.Severity = Warning
			}
		} else {
			f.Severity = Warning
			f.Message = fmt.Sprintf("%d of %s that may run %s lack the label %s of the %s (%s), and %s",
				len(unlabelled), words.Count(len(nodes), "node"), s.describePods(), t.TopologyKey, t.Rule, nodeNames(unlabelled), t.describeUnlabelledNode())
		}
		found = append(found, f)
	}
	return found
}

// describeUnlabelledNode says what happens on a node that lacks the term's topology key.
func (t *term) describeUnlabelledNode() string {
	switch {
	case t.Hard && t.Kind == rule.AntiAffinity:
		return "a node without it takes any number of such pods"
	case t.Hard:
		return "a node without it takes no such pod"
	case t.Kind == rule.Spread:
		return "a node without it scores 0"
	}
	return "the rule says nothing of a node without it"
}

// roomFor returns the number of domains in which required anti-affinity allows one pod each. limited is false if a node lacks the label: such
// a node takes any number of pods.
func (l *inspection) roomFor(t *term) (domains int, limited bool) {
	all, unlabelled := topology.Domains(l.nodesFor(t.subject), t.TopologyKey)
	return len(all), len(unlabelled) == 0
}

// moreReplicasThanDomains finds required anti-affinity that cannot hold for all replicas. [moreReplicasAssigned] does this for replicas that Karmada
// divides.
func moreReplicasThanDomains(l *inspection, s *subject) []Finding {
	if l.bindingOf(s) != nil {
		return nil
	}
	return replicasAboveDomains(l, s)
}

func replicasAboveDomains(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		if !t.Hard || !t.keepsOwnPodsApart() {
			continue
		}
		if domains, limited := l.roomFor(&t); limited && domains > 0 && s.replicas > domains { // noNodeTakesPods reports none
			found = append(found, Finding{Field: t.field(),
				Message: fmt.Sprintf("the %s allows one pod in each domain, and %s take such pods: %s Pending",
					t.Rule, words.Count(domains, "domain"), phraseStay(s.replicas-domains, s.replicas)),
				Fix: fmt.Sprintf("run at most %d replicas%s, or add domains of %s, or spread with topologySpreadConstraints, which allow several pods in a domain",
					domains, s.oldFirstRemark(domains, domains), t.TopologyKey)})
		}
	}
	return found
}

// moreReplicasThanHostPorts finds workloads whose pods take a port of their node, and of which there are more than nodes that such a pod may use. An
// autoscaler of the scenario can add nodes.
func moreReplicasThanHostPorts(l *inspection, s *subject) []Finding {
	ports := cause.HostPortsOf(s.pod)
	nodes := len(l.nodesFor(s))
	if len(ports) == 0 || cluster.ReplicasOf(s.object) == nil || s.replicas <= nodes || nodes == 0 || l.bindingOf(s) != nil || l.result.Scenario.Autoscaler != nil {
		return nil
	}
	leave := "leave hostPort out"
	if s.pod.Spec.HostNetwork {
		leave = "leave hostNetwork out"
	}
	return []Finding{{Field: s.field("containers"),
		Message: fmt.Sprintf("each node has host port %d once, and %s such pods: %s Pending", ports[0].HostPort, words.Pick(nodes, "1 node takes", fmt.Sprintf("%d nodes take", nodes)), phraseStay(s.replicas-nodes, s.replicas)),
		Fix:     fmt.Sprintf("run at most %d replicas%s, or %s, since a Service finds the pods without it", nodes, s.oldFirstRemark(nodes, nodes), leave)}}
}

// oldFirstRemark returns what a required rule also needs if so many replicas leave no domain for the pod with which a rollout begins; "" if the
// rollout ends without.
func (s *subject) oldFirstRemark(replicas, domains int) string {
	d, is := s.object.(*appsv1.Deployment)
	if !is || !deploymentutil.IsRollingUpdate(d) {
		return ""
	}
	d = d.DeepCopy()
	d.Spec.Replicas = ptr.To(int32(replicas))
	if deploymentutil.MaxUnavailable(*d) > 0 || replicas < domains {
		return ""
	}
	return " with maxUnavailable: 1 and maxSurge: 0 in spec.strategy.rollingUpdate, so that rollouts end"
}

// rolloutNeedsMoreDomains finds rollouts whose surge pods have no domain of their own. They proceed only thanks to maxUnavailable; [rolloutDeadlock] finds
// the rollouts that never end.
func rolloutNeedsMoreDomains(l *inspection, s *subject) []Finding {
	d, ok := s.object.(*appsv1.Deployment)
	if !ok || d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate == nil || s.replicas < 2 {
		return nil
	}
	rolling := d.Spec.Strategy.RollingUpdate
	more, _ := intstr.GetScaledValueFromIntOrPercent(rolling.MaxSurge, s.replicas, true)
	fewer, _ := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, s.replicas, false)
	var found []Finding
	for _, t := range s.terms() {
		if !t.Hard || !t.keepsOwnPodsApart() || t.isPerRevision() || fewer == 0 {
			continue
		}
		if domains, limited := l.roomFor(&t); limited && s.replicas <= domains && s.replicas+more > domains {
			found = append(found, Finding{Field: "spec.strategy.rollingUpdate.maxSurge",
				Message: fmt.Sprintf("during a rollout %s are wanted, and the %s leaves room for %d, so that %s Pending until old pods go",
					words.Count(s.replicas+more, "pod"), t.Rule, domains, phraseAre(s.replicas+more-domains)),
				Fix: fmt.Sprintf("set maxSurge to %d, or give the rule matchLabelKeys: [%s]", domains-s.replicas, appsv1.DefaultDeploymentUniqueLabelKey)})
		}
	}
	return found
}

// phraseStay returns, for example, "1 of 4 replicas stays".
func phraseStay(pods, of int) string {
	if pods == 1 {
		return fmt.Sprintf("1 of %s stays", words.Count(of, "replica"))
	}
	return fmt.Sprintf("%d of %s stay", pods, words.Count(of, "replica"))
}

func phraseAre(pods int) string {
	if pods == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", pods)
}

// unusableDomains finds hard spread constraints that count domains which accept no pod of the workload.
func unusableDomains(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		if t.Kind != rule.Spread || !t.Hard || !t.selectsOwnPods() {
			continue
		}
		nodes := l.countedNodes(&t)
		domains, _ := topology.Domains(nodes, t.TopologyKey)
		pods := podsPerDomain(s.pods(), nodes, t.TopologyKey)
		var dead []string
		var unusable []*v1.Node
		least := 0 // the fewest pods in a dead domain; pods may run on a node that was cordoned later
		for _, domain := range domains {
			if slices.ContainsFunc(domain.Nodes, func(node *v1.Node) bool { return s.unusableReason(node) == "" }) {
				continue
			}
			if n := pods[domain.Value]; len(dead) == 0 || n < least {
				least = n
			}
			dead, unusable = append(dead, domain.Value), append(unusable, domain.Nodes...)
		}
		// A domain without pods allows maxSkew pods in each of the others: with maxSkew 1, 3 domains of which 1 is dead and empty allow 2*(1+0) =
		// 2 pods.
		running := 0
		for _, domain := range dead {
			running += pods[domain]
		}
		if len(dead) == len(domains) && running == 0 {
			continue // noNodeTakesPods or requestAboveNodes reports it
		}
		most := (len(domains)-len(dead))*(int(t.MaxSkew)+least) + running
		if len(dead) > 0 && s.replicas > most {
			found = append(found, Finding{Field: t.field(), Fix: s.unusableDomainsFix(unusable),
				Message: fmt.Sprintf("the %s counts %s, which %s no such pod (%s): at most %d of %s get a node",
					t.Rule, words.Few(dead), map[bool]string{true: "takes", false: "take"}[len(dead) == 1], s.unusableReason(unusable[0]), most, words.Count(s.replicas, "replica"))})
		}
	}
	return found
}

// unusableReason says why the node never takes a pod of the subject, even if nothing else runs there, or "" if it may.
func (s *subject) unusableReason(node *v1.Node) string {
	switch {
	case node.Spec.Unschedulable && repels(node, s.pod):
		return "cordoned"
	case cluster.Repels(node, s.pod):
		return "untolerated taint " + cluster.Untolerated(node, s.pod).ToString()
	case !cluster.Attracts(node, s.pod):
		return "node affinity"
	}
	pod := s.pod
	if made, err := s.createdPod(); err == nil { // the created pod has the requests that the API server and LimitRanges add
		pod = made
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		asked := requests[name]
		if has := node.Status.Allocatable[name]; asked.Cmp(has) > 0 {
			return fmt.Sprintf("a pod asks %s %s, and %s has %s", asked.String(), name, node.Name, has.String())
		}
	}
	return ""
}

// unusableDomainsFix returns the fix that makes a spread constraint count only domains whose nodes take pods of the subject. nodes are the counted
// nodes that take none.
func (s *subject) unusableDomainsFix(nodes []*v1.Node) string {
	repelled := slices.ContainsFunc(nodes, func(node *v1.Node) bool { return repels(node, s.pod) })
	left := slices.ContainsFunc(nodes, func(node *v1.Node) bool { return !repels(node, s.pod) && !cluster.Attracts(node, s.pod) })
	small := slices.ContainsFunc(nodes, func(node *v1.Node) bool { return !repels(node, s.pod) && cluster.Attracts(node, s.pod) })
	var honor []string
	if repelled {
		honor = append(honor, "nodeTaintsPolicy: Honor")
	}
	if left {
		honor = append(honor, "nodeAffinityPolicy: Honor")
	}
	var fixes []string
	if len(honor) > 0 {
		fixes = append(fixes, "set "+words.And(honor))
	}
	if small {
		fixes = append(fixes, "give the pods a node affinity for the nodes that can take them")
	}
	return strings.Join(fixes, " and ") + ", so that domains count only where the pods may run"
}

// minDomainsAboveDomains finds constraints that require more domains than exist.
func minDomainsAboveDomains(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		if t.Kind != rule.Spread || t.spread.MinDomains == nil {
			continue
		}
		asked, domains := int(*t.spread.MinDomains), countDomains(l.countedNodes(&t), t.TopologyKey)
		if asked <= domains || domains == 0 {
			continue
		}
		f := Finding{Field: t.field() + ".minDomains", Fix: fmt.Sprintf("set minDomains to at most %d, or add domains of %s", domains, t.TopologyKey),
			Message: fmt.Sprintf("minDomains is %d and there %s %d, so that every domain takes maxSkew (%d) pods at most", asked, words.Pick(domains, "is", "are"), domains, t.MaxSkew)}
		if most := domains * int(t.MaxSkew); s.replicas > most {
			f.Message += fmt.Sprintf(": %s Pending", phraseStay(s.replicas-most, s.replicas))
		}
		found = append(found, f)
	}
	return found
}

// hardRuleOnOneReplica finds hard rules that keep a single replica apart from other replicas, of which there are none.
func hardRuleOnOneReplica(l *inspection, s *subject) []Finding {
	d, ok := s.object.(*appsv1.Deployment)
	if !ok || s.replicas+l.countReplicasElsewhere(s) != 1 || s.isAutoscaled() {
		return nil
	}
	var found []Finding
	for _, t := range s.terms() {
		if t.Hard && t.keepsOwnPodsApart() && !t.isPerRevision() {
			needs := ", and its rollouts need a second domain"
			if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
				needs = ""
			}
			found = append(found, Finding{Field: t.field(),
				Message: fmt.Sprintf("the %s keeps a single replica apart from nobody%s", t.Rule, needs),
				Fix:     "remove the rule, run more replicas below a PodDisruptionBudget, or let a HorizontalPodAutoscaler set them"})
		}
	}
	return found
}
