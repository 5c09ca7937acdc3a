package scenario

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/words"
)

// Expect is what must hold after a step. Give at least one of its fields; a field that is left out is not checked.
type Expect struct {
	// Pending is the exact number of Pending pods, 0 or more.
	Pending *int `json:"pending,omitempty" jsonschema:"minimum=0"`
	// PendingAtMost is the largest number of Pending pods, 0 or more. It cannot be given together with pending.
	PendingAtMost *int `json:"pendingAtMost,omitempty" jsonschema:"minimum=0"`
	// NotCreated is the exact number of pods that the API server refuses to create, because of a RuntimeClass, a LimitRange or a
	// ResourceQuota, 0 or more.
	NotCreated *int `json:"notCreated,omitempty" jsonschema:"minimum=0"`
	// Message is a text that kube-scheduler's message for at least one Pending pod contains.
	Message string `json:"message,omitempty"`
	// Domains lists bounds for the number of running pods in each failure domain.
	Domains []Domains `json:"domains,omitempty"`
	// Nodes lists on which nodes running pods must be, and must not be.
	Nodes []PodsOnNodes `json:"nodes,omitempty"`
	// Rollouts is true if every rollout must be complete, and false if one must not be.
	Rollouts *bool `json:"rollouts,omitempty"`
	// Drained is true if every drain must end, and false if one must not. It is for steps that drain nodes.
	Drained *bool `json:"drained,omitempty"`
	// DrainLeaves lists all pods that the drains of the step leave on their nodes, as namespace/name or as name in the namespace default;
	// [] means none. It is for steps that drain nodes.
	DrainLeaves []string `json:"drainLeaves,omitempty"`
	// RoomMade is true if the step makeRoom must move every pod that it names, and false if one must stay. It is for steps that make room.
	RoomMade *bool `json:"roomMade,omitempty"`
	// NewlyPending says which pods must be Pending that were not before the step; {} means none.
	NewlyPending *NewlyPending `json:"newlyPending,omitempty"`
	// Workloads bounds how many pods of workloads run, and how many are Pending.
	Workloads []WorkloadPods `json:"workloads,omitempty"`
	// NodesGone lists names of nodes that must not exist.
	NodesGone []string `json:"nodesGone,omitempty"`
	// NodeCounts gives exact numbers of nodes, by label selector as for kubectl -l: pool=general: 5.
	NodeCounts map[string]int `json:"nodeCounts,omitempty"`
	// Failures lists bounds for what the failures of a level may take after the step.
	Failures []FailureBounds `json:"failures,omitempty"`
	// Peak bounds how many pods have no node if the load grows to its peak after the step, and a domain is lost then.
	Peak *PeakBounds `json:"peak,omitempty"`
	// Findings is the largest number of findings of the step, 0 or more: workloads with Pending or refused pods and rollouts that are stuck,
	// as in the report's SARIF. Expectations that are not met do not count.
	Findings *int `json:"findings,omitempty" jsonschema:"minimum=0"`
	// Bindings lists what Karmada must have decided about workloads, in a federation.
	Bindings []ExpectedBinding `json:"bindings,omitempty"`
}

// NewlyPending are the pods that are Pending although no pod was Pending in their place before, by workload. The place of a StatefulSet's
// pod is its name, that of a DaemonSet's pod its node. The pods of any other workload are interchangeable: as many are newly Pending as the
// workload has more Pending pods, or fewer pods with a node, than before. A pod of another workload that is no longer Pending makes up for
// none.
type NewlyPending struct {
	// Since is the name of the step after which the comparison starts. Default: the step before, or the start.
	Since string `json:"since,omitempty"`
	// Pods are all workloads with such pods, as kind/name or namespace/kind/name, each with the exact number. It cannot be given together
	// with atLeast. Default: there are none.
	Pods map[string]int `json:"pods,omitempty"`
	// AtLeast is the smallest number of such pods of all workloads, 1 or more. Default: pods gives the numbers.
	AtLeast *int `json:"atLeast,omitempty" jsonschema:"minimum=1"`
}

// WorkloadPods bounds the pods of a workload. Give at least one of running, atLeast, atMost and pending.
type WorkloadPods struct {
	// Workload is kind/name or namespace/kind/name, such as statefulset/db. It can be any kind that has pods, and pod/NAME.
	Workload string `json:"workload"`
	// Running is the exact number of its pods that have a node and are neither completed nor Terminating, 0 or more.
	Running *int `json:"running,omitempty" jsonschema:"minimum=0"`
	// AtLeast is the smallest number of such pods, 0 or more.
	AtLeast *int `json:"atLeast,omitempty" jsonschema:"minimum=0"`
	// AtMost is the largest number of such pods, 0 or more.
	AtMost *int `json:"atMost,omitempty" jsonschema:"minimum=0"`
	// Pending is the exact number of its Pending pods, 0 or more.
	Pending *int `json:"pending,omitempty" jsonschema:"minimum=0"`
}

// ExpectedBinding is what Karmada must have decided about a workload. Give at least one of clusters, notScheduled and message.
type ExpectedBinding struct {
	// Target is the workload, or the custom resource, as kind/name: deployment/web or flinkdeployment/a.
	Target string `json:"target"`
	// Namespace is the target's. Default: default.
	Namespace string `json:"namespace,omitempty"`
	// Clusters are all clusters that have the workload, each with the number of replicas there; 0 for a workload without replicas.
	Clusters map[string]int `json:"clusters,omitempty"`
	// NotScheduled is true if Karmada must find no cluster for the workload, or no room, and false if it must find some.
	NotScheduled *bool `json:"notScheduled,omitempty"`
	// Message is a text that the message of the binding's condition Scheduled contains.
	Message string `json:"message,omitempty"`
}

// Matches reports whether the binding is that of the template.
func (e *ExpectedBinding) Matches(t *federation.Template) bool {
	word, name, _ := strings.Cut(e.Target, "/")
	known, is := kinds[strings.ToLower(word)]
	same := is && known == t.Kind || strings.EqualFold(word, t.Kind)
	return same && name == t.Name && (t.Namespace == "" || t.Namespace == cmp.Or(e.Namespace, v1.NamespaceDefault))
}

// Domains bounds the number of running pods in each failure domain, empty domains included. Give at least one of min, max,
// skew, used and exactly.
type Domains struct {
	// TopologyKey is the node label whose values are the domains, for example topology.kubernetes.io/zone.
	TopologyKey string `json:"topologyKey"`
	// Selector is a label selector for the pods that count, as for kubectl -l. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// Min is the smallest number of pods that a domain may have, 0 or more.
	Min *int `json:"min,omitempty" jsonschema:"minimum=0"`
	// Max is the largest number of pods that a domain may have, 0 or more.
	Max *int `json:"max,omitempty" jsonschema:"minimum=0"`
	// Skew is the most by which the fullest domain may exceed the emptiest, 0 or more.
	Skew *int `json:"skew,omitempty" jsonschema:"minimum=0"`
	// Used is the smallest number of domains that must have a pod, 1 or more.
	Used *int `json:"used,omitempty" jsonschema:"minimum=1"`
	// Exactly gives the exact number of pods in domains, by the value of the label.
	Exactly map[string]int `json:"exactly,omitempty"`
}

// PodsOnNodes says on which nodes running pods must be, and must not be. Pending pods do not count. Give at least one of onlyOn and
// notOn.
type PodsOnNodes struct {
	// Selector is a label selector for the pods, as for kubectl -l. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// OnlyOn selects nodes: each pod must be on one of them.
	OnlyOn *Nodes `json:"onlyOn,omitempty"`
	// NotOn selects the nodes on which no pod may be.
	NotOn *Nodes `json:"notOn,omitempty"`
}

// FailureBounds bounds what every failure of a level may take, and what may stay away after it. All failures of the level are simulated,
// and the recovery of all of them if stranded or unreplaced is given. Give at least one of radius, lost, stranded, unreplaced and
// quorumLost.
type FailureBounds struct {
	// Level is the topology key whose domains fail, for example rack; cluster, region, zone and node are short for the well-known keys.
	Level string `json:"level"`
	// Simultaneous is the number of domains of the level that fail together, 1 or more. If there are very many sets of domains, only the
	// worst sets for each workload are simulated: radius, lost and quorumLost are exact even then, and stranded and unreplaced are about
	// those sets. Default: that of failures of the scenario, or 1.
	Simultaneous *int `json:"simultaneous,omitempty" jsonschema:"minimum=1"`
	// Mode is how the nodes fail, as in a step that fails nodes. Default: that of failures of the scenario, or unreachable.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
	// Workload restricts this to one workload, as kind/name or namespace/kind/name. Default: all workloads.
	Workload string `json:"workload,omitempty"`
	// Kind restricts this to workloads of one kind, such as StatefulSet. Default: all kinds.
	Kind string `json:"kind,omitempty"`
	// MinReplicas restricts this to workloads with at least this number of running pods, 1 or more; 2 leaves out the workloads that any
	// failure takes as a whole. Default: all workloads.
	MinReplicas *int `json:"minReplicas,omitempty" jsonschema:"minimum=1"`
	// Radius is the largest share of a workload's running pods that a failure may take, from 0 to 1.
	Radius *float64 `json:"radius,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Lost is the largest number of pods that a failure may take, 0 or more. Without a workload, pods of DaemonSets and bare pods
	// count, too.
	Lost *int `json:"lost,omitempty" jsonschema:"minimum=0"`
	// Stranded is the largest number of replacements that may stay Pending after a failure, 0 or more.
	Stranded *int `json:"stranded,omitempty" jsonschema:"minimum=0"`
	// Unreplaced is the largest number of lost pods that no controller may replace, 0 or more. Without a workload, bare pods count, too,
	// but not pods of DaemonSets, which live and die with their nodes.
	Unreplaced *int `json:"unreplaced,omitempty" jsonschema:"minimum=0"`
	// QuorumLost is false if no failure may take a quorum, and true if one must.
	QuorumLost *bool `json:"quorumLost,omitempty"`
}

// PeakBounds bounds how many pods have no node at the peak of the load: Pending pods in whose place no pod was Pending before, and pods that do
// not exist although their controllers want them. The peak is tried after the step, and leaves the next step as it is.
type PeakBounds struct {
	Peak `json:",inline"`
	// Pending is the largest number of such pods, 0 or more, at the peak and after each loss.
	Pending *int `json:"pending" jsonschema:"minimum=0"`
	// Level is the topology key of which any one domain is lost at the peak, for example rack; cluster, region, zone and node are short for the
	// well-known keys. Default: nothing is lost.
	Level string `json:"level,omitempty"`
	// Mode is how the nodes of the domain fail, as in a step that fails nodes. Default: that of failures of the scenario, or unreachable.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
}

// ReplicatedKinds lists the kinds of workloads whose losses are counted.
var ReplicatedKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job", "CronJob"}

// Covers reports whether the bounds are for this workload.
func (f *FailureBounds) Covers(workload cluster.Ref) bool {
	if kind, known := kinds[strings.ToLower(f.Kind)]; f.Kind != "" && !strings.EqualFold(workload.Kind, f.Kind) && !(known && strings.EqualFold(workload.Kind, kind)) {
		return false
	}
	if f.Workload == "" {
		return true
	}
	wanted, err := ParseWorkload(f.Workload)
	return err == nil && MatchesName(workload, wanted)
}

// DomainCount returns the number of domains that fail together, with the scenario's own number as the default.
func (f *FailureBounds) DomainCount(of *Failures) int {
	switch {
	case f.Simultaneous != nil:
		return *f.Simultaneous
	case of.Simultaneous != nil:
		return *of.Simultaneous
	}
	return 1
}

// validateExpect reports problems of an expectation that do not depend on objects.
func validateExpect(p *Problems, path *field.Path, expect *Expect) {
	var names []string
	nothing := true
	for field, value := range reflect.ValueOf(*expect).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
		list := value.Kind() == reflect.Slice || value.Kind() == reflect.Map
		nothing = nothing && (value.IsZero() || list && value.Len() == 0)
	}
	if nothing {
		p.Add(path, "expects nothing; give %s", words.Or(names))
	}
	validatePodCounts(p, path, expect)
	validateAtLeast(p, path.Child("pending"), expect.Pending, 0)
	validateAtLeast(p, path.Child("pendingAtMost"), expect.PendingAtMost, 0)
	validateAtLeast(p, path.Child("notCreated"), expect.NotCreated, 0)
	validateAtLeast(p, path.Child("findings"), expect.Findings, 0)
	if expect.Pending != nil && expect.PendingAtMost != nil {
		p.Add(path, "give pending or pendingAtMost, not both")
	}
	for _, bound := range []struct {
		name  string
		value *int
	}{{"pending", expect.Pending}, {"pendingAtMost", expect.PendingAtMost}, {"findings", expect.Findings}} {
		if bound.value != nil && *bound.value == 0 && expect.Message != "" {
			p.Add(path.Child("message"), "expects a Pending pod, but %s: 0 allows none; remove one of them", bound.name)
		}
	}
	for i := range expect.Domains {
		validateDomains(p, path.Child("domains").Index(i), &expect.Domains[i])
	}
	for i := range expect.Nodes {
		validatePodsOnNodes(p, path.Child("nodes").Index(i), &expect.Nodes[i])
	}
	for i := range expect.Failures {
		validateFailureBounds(p, path.Child("failures").Index(i), &expect.Failures[i])
	}
	if expect.Peak != nil {
		validatePeakBounds(p, path.Child("peak"), expect.Peak)
	}
	for i := range expect.Bindings {
		validateBinding(p, path.Child("bindings").Index(i), &expect.Bindings[i])
	}
}

// drainField returns the name of a field that is only for drains and is given, or "" if there is none.
func (e *Expect) drainField() string {
	switch {
	case e.Drained != nil:
		return "drained"
	case e.DrainLeaves != nil:
		return "drainLeaves"
	}
	return ""
}

// validatePodCounts reports problems of the expectations about pods by workload, and about nodes.
func validatePodCounts(p *Problems, path *field.Path, expect *Expect) {
	if newly := expect.NewlyPending; newly != nil {
		path := path.Child("newlyPending")
		if validateAtLeast(p, path.Child("atLeast"), newly.AtLeast, 1); newly.AtLeast != nil && len(newly.Pods) > 0 {
			p.Add(path, "give pods or atLeast, not both")
		}
		for _, name := range slices.Sorted(maps.Keys(newly.Pods)) {
			n := newly.Pods[name]
			validateWorkloadName(p, path.Child("pods").Key(name), name)
			validateAtLeast(p, path.Child("pods").Key(name), &n, 1)
		}
	}
	for i := range expect.Workloads {
		of, path := &expect.Workloads[i], path.Child("workloads").Index(i)
		validateWorkloadName(p, path.Child("workload"), of.Workload)
		if of.Running == nil && of.AtLeast == nil && of.AtMost == nil && of.Pending == nil {
			p.Add(path, "expects nothing; give running, atLeast, atMost or pending")
		}
		validateAtLeast(p, path.Child("running"), of.Running, 0)
		validateAtLeast(p, path.Child("atLeast"), of.AtLeast, 0)
		validateAtLeast(p, path.Child("atMost"), of.AtMost, 0)
		validateAtLeast(p, path.Child("pending"), of.Pending, 0)
	}
	for _, selector := range slices.Sorted(maps.Keys(expect.NodeCounts)) {
		validateSelector(p, path.Child("nodeCounts").Key(selector), selector)
		validateNotNegative(p, path.Child("nodeCounts").Key(selector), expect.NodeCounts[selector])
	}
}

// validateWorkloadName reports a name that cannot be that of a workload of any kind.
func validateWorkloadName(p *Problems, path *field.Path, name string) {
	if _, err := ParseWorkload(name); err != nil {
		p.Add(path, "%s", err)
	}
}

func validateBinding(p *Problems, path *field.Path, b *ExpectedBinding) {
	if kind, name, _ := strings.Cut(b.Target, "/"); kind == "" || name == "" || strings.Contains(name, "/") {
		p.Add(path.Child("target"), "%q does not name a workload; give kind/name, such as deployment/web", b.Target)
	}
	if len(b.Clusters) == 0 && b.NotScheduled == nil && b.Message == "" {
		p.Add(path, "expects nothing; give clusters, notScheduled or message")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Clusters)) {
		validateNotNegative(p, path.Child("clusters").Key(name), b.Clusters[name])
	}
}

func validateDomains(p *Problems, path *field.Path, domains *Domains) {
	if domains.TopologyKey == "" {
		p.Add(path.Child("topologyKey"), "is missing; give a node label such as topology.kubernetes.io/zone")
	}
	validateSelector(p, path.Child("selector"), domains.Selector)
	if domains.Min == nil && domains.Max == nil && domains.Skew == nil && domains.Used == nil && len(domains.Exactly) == 0 {
		p.Add(path, "expects nothing; give min, max, skew, used or exactly")
	}
	validateAtLeast(p, path.Child("min"), domains.Min, 0)
	validateAtLeast(p, path.Child("max"), domains.Max, 0)
	validateAtLeast(p, path.Child("skew"), domains.Skew, 0)
	validateAtLeast(p, path.Child("used"), domains.Used, 1)
	if domains.Min != nil && domains.Max != nil && *domains.Min > *domains.Max {
		p.Add(path.Child("min"), "%d is more than max, %d", *domains.Min, *domains.Max)
	}
	for _, name := range slices.Sorted(maps.Keys(domains.Exactly)) {
		validateNotNegative(p, path.Child("exactly").Key(name), domains.Exactly[name])
	}
}

func validatePodsOnNodes(p *Problems, path *field.Path, nodes *PodsOnNodes) {
	validateSelector(p, path.Child("selector"), nodes.Selector)
	if nodes.OnlyOn == nil && nodes.NotOn == nil {
		p.Add(path, "expects nothing; give onlyOn or notOn")
	}
	if nodes.OnlyOn != nil {
		validateNodes(p, path.Child("onlyOn"), *nodes.OnlyOn)
	}
	if nodes.NotOn != nil {
		validateNodes(p, path.Child("notOn"), *nodes.NotOn)
	}
}

func validateFailureBounds(p *Problems, path *field.Path, f *FailureBounds) {
	if f.Level == "" {
		p.Add(path.Child("level"), "is missing; give cluster, region, zone, node, or another node label such as rack")
	}
	if f.Simultaneous != nil && *f.Simultaneous < 1 {
		p.Add(path.Child("simultaneous"), "%d is less than 1; give the number of domains that fail together", *f.Simultaneous)
	}
	validateMode(p, path.Child("mode"), f.Mode)
	if f.Workload != "" {
		validateWorkload(p, path.Child("workload"), f.Workload, ReplicatedKinds...)
	}
	// A kind that is unknown here may be that of an operator's resource, which may own pods, too.
	if kind, known := kinds[strings.ToLower(f.Kind)]; known && !slices.Contains(ReplicatedKinds, kind) {
		p.Add(path.Child("kind"), "%q owns no replicas; give one of %s", f.Kind, words.Or(ReplicatedKinds))
	}
	validateAtLeast(p, path.Child("minReplicas"), f.MinReplicas, 1)
	if f.Radius == nil && f.Lost == nil && f.Stranded == nil && f.Unreplaced == nil && f.QuorumLost == nil {
		p.Add(path, "expects nothing; give radius, lost, stranded, unreplaced or quorumLost")
	}
	if f.Radius != nil && !(*f.Radius >= 0 && *f.Radius <= 1) {
		p.Add(path.Child("radius"), "%v is not between 0 and 1; give a share such as 0.5", *f.Radius)
	}
	validateAtLeast(p, path.Child("lost"), f.Lost, 0)
	validateAtLeast(p, path.Child("stranded"), f.Stranded, 0)
	validateAtLeast(p, path.Child("unreplaced"), f.Unreplaced, 0)
}

// validateAtLeast checks a bound, if it is given.
func validateAtLeast(p *Problems, path *field.Path, value *int, least int) {
	switch {
	case value == nil:
	case least == 0:
		validateNotNegative(p, path, *value)
	case *value < least:
		p.Add(path, "%d is less than %d; give %[2]d or more", *value, least)
	}
}

func validatePeakBounds(p *Problems, path *field.Path, b *PeakBounds) {
	b.Peak.validateLoad(p, path)
	if b.Pending == nil {
		p.Add(path.Child("pending"), "is missing; give the largest number of pods that may have no node, such as 0")
	}
	validateAtLeast(p, path.Child("pending"), b.Pending, 0)
	validateMode(p, path.Child("mode"), b.Mode)
	if b.Mode != "" && b.Level == "" {
		p.Add(path.Child("mode"), "has no effect without a level; give the level of which a domain is lost, such as zone")
	}
}
