package lint

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/simulation"
)

// Check is one way in which a rule may not do what it says.
type Check struct {
	// ID is the check's stable name, in kebab-case.
	ID string `json:"id"`
	// Severity is the highest severity of the check's findings.
	Severity Severity `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	// Title briefly describes what the check finds.
	Title string `json:"title"`
	// Simulated means that the check examines the effects of rules, not only the rules.
	Simulated bool `json:"simulated,omitempty"`
	// Page is the address of the check's page.
	Page string `json:"page"`

	neededKinds      []string                                       // kinds; the check is left out if one of them may not be read, since an unread object is not a missing one
	needsRestarts    bool                                           // the check asks what a restart does
	find             func(*inspection, *subject) ([]Finding, error) // finds problems of a workload; nil for checks of annotations, see ignore.go, and for the following
	findInKarmada    func(*karmadaControl) []Finding                // finds problems in Karmada's control plane, see federation.go
	findInNodeGroups func(*simulation.Result) []Finding             // finds problems in the node groups of an autoscaler
}

// Page returns the address of the page of the check with that ID. README is the page of all checks.
func Page(id string) string {
	return fmt.Sprintf("https://github.com/faultline/faultline/blob/main/docs/lint/%s.md", id)
}

// Kinds that checks need.
var (
	budgetKinds    = []string{"PodDisruptionBudget"}
	namespaceKinds = []string{"Namespace"}
	scalerKinds    = []string{"HorizontalPodAutoscaler"}
	bindingKinds   = []string{"ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"}
)

// Checks returns all checks: first about missing objects, then about pods' rules, budgets, the effects of rules, Karmada, node groups and
// annotations.
func Checks() []Check {
	all := []Check{
		{ID: "one-replica", Severity: Warning, Title: "A workload has one replica", neededKinds: scalerKinds, find: static(singleReplica)},
		{ID: "budget-missing", Severity: Warning, Title: "No budget covers several replicas", neededKinds: budgetKinds, find: static(budgetMissing)},
		{ID: "requests-missing", Severity: Warning, Title: "Containers request no CPU or memory", neededKinds: []string{"LimitRange"}, find: static(requestsMissing)},
		{ID: "rule-missing", Severity: Note, Title: "No rule keeps several replicas apart", find: static(ruleMissing)},
		{ID: "selector-drift", Severity: Error, Title: "Anti-affinity selects other pods than its own", find: static(selectorDrift)},
		{ID: "spread-selector-misses-pods", Severity: Error, Title: "A spread constraint does not count the pods that it spreads", find: static(spreadSelectorMissesPods)},
		{ID: "spread-selector-empty", Severity: Warning, Title: "A spread constraint counts no pod before Kubernetes 1.38, and then all of them", find: static(spreadSelectorEmpty)},
		{ID: "reference-resolves-to-nothing", Severity: Warning, Title: "A rule refers to pods that do not exist", neededKinds: namespaceKinds, find: static(referenceResolvesToNothing)},
		{ID: "namespace-missing", Severity: Warning, Title: "A rule names a namespace that does not exist", neededKinds: namespaceKinds, find: static(namespaceMissing)},
		{ID: "pod-group-incomplete", Severity: Error, Title: "Pods wait forever for their pod group", Simulated: true, neededKinds: []string{"PodGroup"}, find: static(podGroupIncomplete)},
		{ID: "job-pods-match-selector", Severity: Warning, Title: "A selector matches the pods of a Job as well", find: static(jobPodsMatchSelector)},
		{ID: "no-node-takes-pods", Severity: Error, Title: "The rules of a pod exclude every node", find: noNodeTakesPods},
		{ID: "request-above-nodes", Severity: Error, Title: "A pod requests more than any node has", find: requestAboveNodes},
		{ID: "topology-label-missing", Severity: Error, Title: "Nodes lack the topology key of a rule", find: static(topologyLabelMissing)},
		{ID: "more-replicas-than-domains", Severity: Error, Title: "Required anti-affinity with more replicas than domains", find: static(moreReplicasThanDomains)},
		{ID: "more-replicas-than-host-ports", Severity: Error, Title: "More replicas than nodes with the host port", find: static(moreReplicasThanHostPorts)},
		{ID: "rollout-needs-more-domains", Severity: Note, Title: "A rollout surges by more pods than there are domains left", find: static(rolloutNeedsMoreDomains)},
		{ID: "unusable-domains", Severity: Error, Title: "A hard spread constraint counts domains that take no such pod", find: static(unusableDomains)},
		{ID: "min-domains-above-domains", Severity: Warning, Title: "minDomains exceeds the number of domains", find: static(minDomainsAboveDomains)},
		{ID: "hard-rule-on-one-replica", Severity: Note, Title: "A hard rule applies to a single replica", find: static(hardRuleOnOneReplica)},
		{ID: "autoscaler-target-missing", Severity: Warning, Title: "An autoscaler names a workload that does not exist", neededKinds: scalableKinds, find: static(autoscalerTargetMissing)},
		{ID: "autoscalers-overlap", Severity: Error, Title: "Several autoscalers scale one workload", neededKinds: scalerKinds, find: static(autoscalersOverlap)},
		{ID: "service-selects-nothing", Severity: Warning, Title: "A Service selects no pod", neededKinds: cluster.WorkloadKinds, find: static(serviceSelectsNothing)},
		{ID: "replicas-set-twice", Severity: Warning, Title: "A manifest and an autoscaler both set the replicas", neededKinds: scalerKinds, find: static(replicasSetTwice)},
		{ID: "zonal-volumes", Severity: Warning, Title: "Volumes choose the zone before the rule does", find: static(zonalVolumes)},
		{ID: "global-override", Severity: Warning, Title: "A setting for all services removes a required rule", find: static(globalOverride)},
		{ID: "default-replaced", Severity: Warning, Title: "An unrelated setting removes a default rule", find: static(defaultReplaced)},
		{ID: "claim-without-class", Severity: Warning, Title: "A claim finds neither a StorageClass nor a volume", Simulated: true, neededKinds: []string{"StorageClass", "PersistentVolume", "PersistentVolumeClaim"}, find: static(claimWithoutClass)},
		{ID: "device-claim-missing", Severity: Error, Title: "A claim on devices, its template or its class does not exist", neededKinds: []string{"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}, find: static(deviceClaimMissing)},
		{ID: "no-such-device", Severity: Error, Title: "No node has a device that a claim asks for", neededKinds: []string{"ResourceClaim", "ResourceSlice"}, find: static(noSuchDevice)},
		{ID: "device-claim-unused", Severity: Note, Title: "No pod uses a claim on devices", neededKinds: cluster.WorkloadKinds, find: static(deviceClaimUnused)},
		{ID: "pods-refused", Severity: Error, Title: "The API server refuses the pods of a template", Simulated: true, find: static(podsRefused)},
		{ID: "admission-policy-unmatched", Severity: Note, Title: "No object matches an admission policy", neededKinds: slices.Concat(cluster.WorkloadKinds, bindingKinds), find: static(admissionPolicyUnmatched)},
		{ID: "admission-policy-unmet", Severity: Error, Title: "An admission policy gives pods a rule that no node meets", find: static(admissionPolicyUnmet)},
		{ID: "budgets-overlap", Severity: Error, Title: "Several budgets select the same pod", neededKinds: budgetKinds, find: static(budgetsOverlap)},
		{ID: "budget-selects-nothing", Severity: Warning, Title: "A budget selects no pod", neededKinds: cluster.WorkloadKinds, find: static(budgetSelectsNothing)},
		{ID: "budget-forbids-eviction", Severity: Error, Title: "A budget allows no eviction, ever", Simulated: true, neededKinds: budgetKinds, find: static(budgetForbidsEviction)},
		{ID: "budget-broken-by-zone", Severity: Warning, Title: "The loss of one zone breaks a budget", Simulated: true, neededKinds: budgetKinds, find: budgetBrokenByZone},
		{ID: "budget-broken-by-node", Severity: Warning, Title: "The loss of one node breaks a budget", Simulated: true, neededKinds: budgetKinds, find: budgetBrokenByNode},
		{ID: "rollout-deadlock", Severity: Error, Title: "A restart would never end", Simulated: true, needsRestarts: true, find: rolloutDeadlock},
		{ID: "match-label-keys-missing", Severity: Warning, Title: "A restart leaves the pods skewed", Simulated: true, needsRestarts: true, find: matchLabelKeysMissing},
		{ID: "locked-out", Severity: Error, Title: "Other pods' anti-affinity keeps these pods Pending", Simulated: true, find: static(lockedOut)},
		{ID: "daemonset-low-priority", Severity: Warning, Title: "Pods of a DaemonSet find their nodes full", Simulated: true, neededKinds: []string{"PriorityClass"}, find: daemonSetLowPriority},
		{ID: "all-in-one-domain", Severity: Warning, Title: "All replicas share one failure domain, or can", Simulated: true, find: allInOneDomain},
		{ID: "outvoted", Severity: Note, Title: "A preferred rule loses to other scores", Simulated: true, find: outvoted},
		{ID: "term-decides-nothing", Severity: Note, Title: "A preferred rule changes no placement", Simulated: true, find: termDecidesNothing},
		{ID: "policy-selects-nothing", Severity: Warning, Title: "A policy of Karmada selects nothing", findInKarmada: policySelectsNothing},
		{ID: "workload-unclaimed", Severity: Warning, Title: "No policy of Karmada selects a workload", findInKarmada: workloadUnclaimed},
		{ID: "spread-without-max-groups", Severity: Error, Title: "A spread constraint of Karmada selects no cluster", findInKarmada: spreadWithoutMaxGroups},
		{ID: "workload-affinity-off", Severity: Warning, Title: "Workload affinity without its feature gate", findInKarmada: workloadAffinityOff},
		{ID: "group-label-missing", Severity: Warning, Title: "No workload has the label of its policy's groups", findInKarmada: groupLabelMissing},
		{ID: "group-member-invisible", Severity: Warning, Title: "A workload has a group's label, and is not in the group", findInKarmada: groupMemberInvisible},
		{ID: "anti-affinity-unlimited", Severity: Warning, Title: "The first workload of a group can take every cluster", findInKarmada: antiAffinityUnlimited},
		{ID: "weight-of-no-cluster", Severity: Warning, Title: "A weight is for no cluster", findInKarmada: weightOfNoCluster},
		{ID: "override-matches-nothing", Severity: Warning, Title: "An override changes nothing", findInKarmada: overrideMatchesNothing},
		{ID: "more-replicas-assigned", Severity: Error, Title: "Karmada gives a cluster more replicas than required anti-affinity allows", find: static(moreReplicasAssigned)},
		{ID: "node-group-above-max", Severity: Warning, Title: "A node group has more nodes than its maximum", findInNodeGroups: nodeGroupAboveMax},
		{ID: "node-group-helps-no-pod", Severity: Warning, Title: "No Pending pod fits onto a new node of a group", Simulated: true, findInNodeGroups: nodeGroupHelpsNoPod},
		{ID: ignoreReason, Severity: Warning, Title: "An annotation ignores a finding without giving a reason"},
		{ID: ignoreUnknown, Severity: Warning, Title: "An annotation ignores a check that does not exist"},
		{ID: ignoreUnused, Severity: Note, Title: "An annotation ignores a check that finds nothing"},
	}
	for i := range all {
		all[i].Page = Page(all[i].ID)
	}
	return all
}

// static wraps a check that cannot fail.
func static(find func(*inspection, *subject) []Finding) func(*inspection, *subject) ([]Finding, error) {
	return func(l *inspection, s *subject) ([]Finding, error) { return find(l, s), nil }
}
