package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// details returns the field and the text of each error, without the value.
func details(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Field+": "+err.Detail)
	}
	return all
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/validation/validation_test.go, TestValidateWorkloadAffinity
func TestValidateWorkloadAffinity(t *testing.T) {
	term := func(key string) *GroupTerm { return &GroupTerm{GroupByLabelKey: key} }
	const invalid = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	for _, test := range []struct {
		name     string
		affinity *WorkloadAffinity
		want     []string
	}{
		{"none", nil, nil},
		{"affinity", &WorkloadAffinity{Affinity: term("app.group")}, nil},
		{"anti-affinity", &WorkloadAffinity{AntiAffinity: term("app.group")}, nil},
		{"both, with two keys", &WorkloadAffinity{Affinity: term("app.group"), AntiAffinity: term("app.region")}, nil},
		{"both, with one key", &WorkloadAffinity{Affinity: term("app.group"), AntiAffinity: term("app.group")},
			[]string{"spec.placement.workloadAffinity: affinity and antiAffinity must not use the same groupByLabelKey"}},
		{"an invalid key of affinity", &WorkloadAffinity{Affinity: term("INVALID KEY!")},
			[]string{"spec.placement.workloadAffinity.affinity.groupByLabelKey: " + invalid}},
		{"an invalid key of anti-affinity", &WorkloadAffinity{AntiAffinity: term("INVALID KEY!")},
			[]string{"spec.placement.workloadAffinity.antiAffinity.groupByLabelKey: " + invalid}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, details(test.affinity.validate(placementPath().Child("workloadAffinity")))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/validation/validation_test.go, TestValidatePropagationSpec,
// TestValidatePlacement and TestValidateClusterTolerations
func TestValidate(t *testing.T) {
	pods := []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Namespace: "default"}}
	fields := func(all ...string) ClusterAffinity { // a key and an operator each
		s := &FieldSelector{}
		for i := 0; i < len(all); i += 2 {
			s.MatchExpressions = append(s.MatchExpressions, v1.NodeSelectorRequirement{Key: all[i], Operator: v1.NodeSelectorOperator(all[i+1]), Values: []string{"fooCloud"}})
		}
		return ClusterAffinity{FieldSelector: s}
	}
	affinity := func(a ClusterAffinity) PolicySpec { return PolicySpec{Placement: Placement{ClusterAffinity: &a}} }
	terms := func(all ...ClusterAffinityTerm) PolicySpec {
		return PolicySpec{Placement: Placement{ClusterAffinities: all}}
	}
	spread := func(all ...SpreadConstraint) PolicySpec {
		return PolicySpec{Placement: Placement{SpreadConstraints: all}}
	}
	tolerate := func(operators ...v1.TolerationOperator) PolicySpec {
		var p Placement
		for _, operator := range operators {
			p.ClusterTolerations = append(p.ClusterTolerations, v1.Toleration{Key: "key1", Operator: operator, Value: "100"})
		}
		return PolicySpec{Placement: p}
	}
	suspend := func(dispatching *bool, names ...string) PolicySpec {
		return PolicySpec{Suspension: &Suspension{Dispatching: dispatching, DispatchingOnClusters: &SuspendedNames{names}}}
	}
	m1, m2 := clustersNamed("m1"), clustersNamed("m2")
	divide := func(r ReplicaScheduling) PolicySpec { return PolicySpec{Placement: Placement{ReplicaScheduling: &r}} }
	const (
		constraints = "spec.placement.spreadConstraints"
		noCluster   = constraints + ": the cluster spread constraint must be enabled in one of the constraints in case of SpreadByField is enabled"
		operators   = `operator: supported values: "", "Exists", "Equal"`
	)
	for _, test := range []struct {
		name string
		spec PolicySpec
		want []string
	}{
		{"valid", PolicySpec{Placement: Placement{
			ClusterAffinity:   affinity(fields("provider", "In", "region", "NotIn", "zone", "NotIn")).Placement.ClusterAffinity,
			SpreadConstraints: []SpreadConstraint{{SpreadByField: SpreadByRegion, MinGroups: 1, MaxGroups: 2}, {SpreadByField: SpreadByCluster}},
		}}, nil},
		{"field", affinity(fields("foo", "In")), []string{`spec.placement.clusterAffinity.fieldSelector: unsupported key "foo", must be provider, region, or zone`}},
		{"operator", affinity(fields("provider", "Exists")), []string{`spec.placement.clusterAffinity.fieldSelector: unsupported operator "Exists", must be In or NotIn`}},
		{"affinity and affinities", PolicySpec{Placement: Placement{ClusterAffinity: &m1, ClusterAffinities: []ClusterAffinityTerm{{AffinityName: "group1", ClusterAffinity: m1}}}},
			[]string{"spec.placement: clusterAffinities cannot co-exist with clusterAffinity"}},
		{"two affinities of one name", terms(ClusterAffinityTerm{AffinityName: "group1", ClusterAffinity: m1}, ClusterAffinityTerm{AffinityName: "group1", ClusterAffinity: m2}),
			[]string{"spec.placement.clusterAffinities: each affinity term in a policy must have a unique name"}},
		{"field of affinities", terms(ClusterAffinityTerm{AffinityName: "group1", ClusterAffinity: fields("foo", "In")}),
			[]string{`spec.placement.clusterAffinities[0].fieldSelector: unsupported key "foo", must be provider, region, or zone`}},
		{"operator of affinities", terms(ClusterAffinityTerm{AffinityName: "group1", ClusterAffinity: fields("provider", "Exists")}),
			[]string{`spec.placement.clusterAffinities[0].fieldSelector: unsupported operator "Exists", must be In or NotIn`}},

		{"by field and label", spread(SpreadConstraint{SpreadByField: SpreadByCluster, SpreadByLabel: "foo"}), []string{constraints + "[0]: spreadByLabel should not co-exist with spreadByField"}},
		{"maxGroups below minGroups", spread(SpreadConstraint{MaxGroups: 1, MinGroups: 2}), []string{constraints + "[0]: maxGroups lower than minGroups is not allowed"}},
		{"maxGroups below 0", spread(SpreadConstraint{MaxGroups: -1, MinGroups: 1}), []string{constraints + "[0]: maxGroups lower than 0 is not allowed"}},
		{"minGroups below 0", spread(SpreadConstraint{MaxGroups: 2, MinGroups: -2}), []string{constraints + "[0]: minGroups lower than 0 is not allowed"}},
		{"two by cluster", spread(
			SpreadConstraint{SpreadByField: SpreadByCluster, MaxGroups: 2, MinGroups: -2}, SpreadConstraint{SpreadByField: SpreadByCluster, MaxGroups: 5, MinGroups: 3},
			SpreadConstraint{SpreadByLabel: "grouped-by-net", MaxGroups: 5, MinGroups: 3}),
			[]string{constraints + "[0]: minGroups lower than 0 is not allowed", constraints + ": multiple cluster spread constraints are not allowed"}},
		{"three by region", spread(
			SpreadConstraint{SpreadByField: SpreadByRegion, MaxGroups: 1, MinGroups: 3}, SpreadConstraint{SpreadByField: SpreadByRegion, MaxGroups: 4, MinGroups: 2},
			SpreadConstraint{SpreadByField: SpreadByRegion, MaxGroups: 6, MinGroups: 5}, SpreadConstraint{SpreadByField: SpreadByCluster, MaxGroups: 10, MinGroups: 5}),
			[]string{constraints + "[0]: maxGroups lower than minGroups is not allowed", constraints + ": multiple region spread constraints are not allowed"}},
		{"region without cluster", spread(SpreadConstraint{SpreadByField: SpreadByRegion}), []string{noCluster}},
		{"a field that does not exist", spread(SpreadConstraint{SpreadByField: "rack"}),
			[]string{constraints + `[0].spreadByField: supported values: "cluster", "region", "zone", "provider"`, noCluster}},

		{"no name, with preemption", PolicySpec{Preemption: "Always", ResourceSelectors: pods},
			[]string{"spec.resourceSelectors[0].name: name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"}},
		{"suspension of all and of some", suspend(ptr.To(true), "cluster-name"),
			[]string{"spec.suspension.suspension: suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"}},
		{"suspension of all", PolicySpec{Suspension: &Suspension{Dispatching: ptr.To(true)}}, nil},
		{"suspension of all and of none", suspend(ptr.To(true)), nil},
		{"suspension of some", suspend(nil, "cluster-name"), nil},
		{"suspension of not all, but of some", suspend(ptr.To(false), "cluster-name"), nil},
		{"failover of applications", PolicySpec{Failover: &Failover{Application: &ApplicationFailover{}}},
			[]string{"spec.propagateDeps: application failover is set, propagateDeps must be true"}},
		{"failover of applications and what they depend on", PolicySpec{PropagateDeps: true, Failover: &Failover{Application: &ApplicationFailover{}}}, nil},
		{"a purge mode that does not exist", PolicySpec{Failover: &Failover{Cluster: &ClusterFailover{PurgeMode: "Never"}}},
			[]string{`spec.failover.cluster.purgeMode: supported values: "Directly", "Gracefully"`}},

		{"no toleration", tolerate(), nil},
		{"tolerations", tolerate(v1.TolerationOpExists, v1.TolerationOpEqual, ""), nil},
		{"toleration Lt", tolerate(v1.TolerationOpLt), []string{"spec.placement.clusterTolerations[0]." + operators}},
		{"toleration Gt", tolerate(v1.TolerationOpGt), []string{"spec.placement.clusterTolerations[0]." + operators}},
		{"tolerations Equal and Lt", tolerate(v1.TolerationOpEqual, v1.TolerationOpLt), []string{"spec.placement.clusterTolerations[1]." + operators}},

		{"a division that does not exist", divide(ReplicaScheduling{ReplicaSchedulingType: "Split", ReplicaDivisionPreference: "Even"}), []string{
			`spec.placement.replicaScheduling.replicaSchedulingType: supported values: "Divided", "Duplicated"`,
			`spec.placement.replicaScheduling.replicaDivisionPreference: supported values: "Aggregated", "Weighted"`}},
		{"weights", divide(ReplicaScheduling{WeightPreference: &WeightPreference{DynamicWeight: "Cores", StaticWeightList: []StaticWeight{{fields("foo", "In"), 0}}}}), []string{
			`spec.placement.replicaScheduling.weightPreference.dynamicWeight: supported values: "AvailableReplicas"`,
			`spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight: should be greater than or equal to 1`,
			`spec.placement.replicaScheduling.weightPreference.staticWeightList[0].targetCluster.fieldSelector: unsupported key "foo", must be provider, region, or zone`}},

		{"another namespace", PolicySpec{ResourceSelectors: []ResourceSelector{{APIVersion: "v1", Kind: "Pod", Namespace: "other"}}},
			[]string{"spec.resourceSelectors[0].namespace: namespace of resource selector must be the same as the namespace of the policy"}},
		{"a selector of nothing", PolicySpec{ResourceSelectors: []ResourceSelector{{LabelSelector: labelled("a", "")}, {LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a"}}}}}},
			[]string{"spec.resourceSelectors[0].apiVersion: ", "spec.resourceSelectors[0].kind: ", "spec.resourceSelectors[1].apiVersion: ", "spec.resourceSelectors[1].kind: ",
				"spec.resourceSelectors[1].labelSelector.matchExpressions[0].operator: not a valid selector operator"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Policy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: test.spec}
			if p.Spec.ResourceSelectors == nil {
				p.Spec.ResourceSelectors = pods
			}
			if diff := cmp.Diff(test.want, details(p.Validate())); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff([]string{"spec.resourceSelectors: a policy without selectors selects nothing"}, details((&Policy{}).Validate())); diff != "" {
		t.Error(diff)
	}
}

func parsePolicy(t *testing.T, text string) *Policy {
	t.Helper()
	p := &Policy{}
	if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/helper/policy.go, SetDefaultSpreadConstraints and SetReplicaDivisionPreferenceWeighted
func TestDefault(t *testing.T) {
	for _, test := range []struct{ name, policy, want string }{
		{"namespaced", `{metadata: {namespace: a}, spec: {resourceSelectors: [{kind: Pod}, {kind: Pod, namespace: b}]}}`,
			`{metadata: {namespace: a}, spec: {resourceSelectors: [{kind: Pod, namespace: a}, {kind: Pod, namespace: b}]}}`},
		{"of all namespaces", `{spec: {resourceSelectors: [{kind: Pod}]}}`, `{spec: {resourceSelectors: [{kind: Pod}]}}`},
		{"spread", `{spec: {placement: {spreadConstraints: [{}, {spreadByLabel: a, minGroups: 2}, {spreadByField: region}]}}}`,
			`{spec: {placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1}, {spreadByLabel: a, minGroups: 2}, {spreadByField: region, minGroups: 1}]}}}`},
		{"division", `{spec: {placement: {replicaScheduling: {}}}}`,
			`{spec: {placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}}}`},
		{"duplication", `{spec: {placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}}}`,
			`{spec: {placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := parsePolicy(t, test.policy)
			got.Default()
			if diff := cmp.Diff(parsePolicy(t, test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// https://github.com/karmada-io/karmada/tree/f8fdd02d/docs/proposals/scheduling/anti-affinity-scheduling-support
func TestReleased(t *testing.T) {
	of := func(affinity string) string {
		return `{metadata: {namespace: a, name: p}, spec: {placement: {workloadAffinity: ` + affinity + `}}}`
	}
	for _, test := range []struct {
		name, affinity, want string
		translated           bool
		err                  string
	}{
		{"the release", `{affinity: {groupByLabelKey: a}}`, `{affinity: {groupByLabelKey: a}}`, false, ""},
		{"none", `null`, `null`, false, ""},
		{"one key for both", `{affinityLabelKey: a, affinity: {requireSameGroup: true}, antiAffinity: {rejectSameGroup: true}}`,
			`{affinity: {groupByLabelKey: a}, antiAffinity: {groupByLabelKey: a}}`, true, ""},
		{"a term that is off", `{affinityLabelKey: a, affinity: {requireSameGroup: false}, antiAffinity: {}}`, `{antiAffinity: {groupByLabelKey: a}}`, true, ""},
		{"a key of its own", `{affinityLabelKey: a, affinity: {groupByLabelKey: b, allowBootstrap: true}}`, `{affinity: {groupByLabelKey: b}}`, true, ""},
		{"no bootstrap", `{affinityLabelKey: a, affinity: {allowBootstrap: false}}`, `{affinityLabelKey: a, affinity: {allowBootstrap: false}}`, false,
			"spec.placement.workloadAffinity.affinity.allowBootstrap: Invalid value: false: a released Karmada always lets the first workload of a group in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := parsePolicy(t, of(test.affinity))
			notes, err := got.TranslateProposal()
			if diff := cmp.Diff(parsePolicy(t, of(test.want)), got); diff != "" || len(notes) > 0 != test.translated || message(err) != test.err {
				t.Error(notes, err, diff)
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	for _, test := range []struct {
		policy string
		want   []string
	}{
		{`{spec: {schedulerName: default-scheduler, schedulePriority: {priorityClassSource: KubePriorityClass, priorityClassName: high}}}`, nil},
		{`{spec: {schedulerName: mine, suspension: {dispatching: true}, schedulePriority: {priorityClassSource: FederatedPriorityClass, priorityClassName: high},
			placement: {clusterAffinities: [{affinityName: a}, {affinityName: b, overflowAffinities: [{affinityName: c}]}]}}}`,
			[]string{"spec.placement.clusterAffinities[1].overflowAffinities", "spec.schedulerName", "spec.suspension", "spec.schedulePriority.priorityClassSource"}},
	} {
		if diff := cmp.Diff(test.want, parsePolicy(t, test.policy).UnsupportedFields()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestIgnored(t *testing.T) {
	for _, test := range []struct {
		policy string
		want   []string
	}{
		{`{kind: PropagationPolicy, metadata: {namespace: a, name: b}, spec: {preemption: Never, failover: {cluster: {purgeMode: Directly}}}}`, nil},
		{`{kind: PropagationPolicy, metadata: {namespace: a, name: b}, spec: {preemption: Always, activationPreference: Lazy, failover: {application: {}}}}`, []string{
			"PropagationPolicy a/b: preemption is not simulated: a workload keeps the policy that has claimed it.",
			"PropagationPolicy a/b: activationPreference is not simulated: a policy that changes takes effect at once.",
			"PropagationPolicy a/b: failover.application is not simulated: no application fails by itself.",
		}},
	} {
		if diff := cmp.Diff(test.want, parsePolicy(t, test.policy).IgnoredNotes()); diff != "" {
			t.Error(diff)
		}
	}
}

// No input makes reading panic, and defaulting twice changes nothing.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{metadata: {namespace: a}, spec: {resourceSelectors: [{apiVersion: v1, kind: Pod}], placement: {spreadConstraints: [{maxGroups: 1}],
		replicaScheduling: {weightPreference: {dynamicWeight: AvailableReplicas}}, workloadAffinity: {affinityLabelKey: a, affinity: {requireSameGroup: true}}}}}`))
	f.Add([]byte(`{spec: {placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: zone}]}}, clusterAffinities: [{}], clusterTolerations: [{operator: Lt}],
		replicaScheduling: {weightPreference: {staticWeightList: [{weight: -1}]}}}, suspension: {}, failover: {application: {}, cluster: {purgeMode: x}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &Policy{}
		if err := yaml.UnmarshalStrict(data, p); err != nil {
			return
		}
		if _, err := p.TranslateProposal(); err != nil {
			return
		}
		p.Default()
		_ = p.Validate().ToAggregate()
		p.UnsupportedFields()
		before, err := yaml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		notes, err := p.TranslateProposal()
		p.Default()
		after, _ := yaml.Marshal(p)
		if diff := cmp.Diff(string(before), string(after)); diff != "" || err != nil || notes != nil {
			t.Error(notes, err, diff)
		}
	})
}
