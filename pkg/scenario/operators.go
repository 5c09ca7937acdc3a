package scenario

import "k8s.io/apimachinery/pkg/runtime"

// Operators has options of operators beyond their resources.
type Operators struct {
	// KafScale is for KafScale, whose resource is KafscaleCluster.
	KafScale *KafScale `json:"kafscale,omitempty"`
	// Stackable is for the operators of the Stackable Data Platform. Default: the operators' own behaviour.
	Stackable StackableOptions `json:"stackable,omitempty"`
	// Hydrolix is for HydrolixCluster resources. Default: the profile that is shipped.
	Hydrolix *HydrolixOptions `json:"hydrolix,omitempty"`
}

// KafScale is a release of KafScale's Helm chart. Its workloads exist before those of the scenario.
type KafScale struct {
	// Release is the release's name. Default: kafscale.
	Release string `json:"release,omitempty"`
	// Namespace is the namespace of the release. Default: default.
	Namespace string `json:"namespace,omitempty"`
	// Values is the path of a file of chart values. Default: the chart's own.
	Values string `json:"values,omitempty"`
	// ValuesInline are chart values, written out. They override the values of the file, as with Helm. Default: none.
	ValuesInline *runtime.RawExtension `json:"valuesInline,omitempty"`
	// Revision selects one of three revisions of the chart, which differ in the rule that keeps the replicas of the proxy apart: before,
	// without a rule; drifted, with a selector that is written out and misses the pods under nameOverride; or fixed, with the pods' own
	// labels as the selector. Default: fixed.
	Revision string `json:"revision,omitempty" jsonschema:"enum=before,enum=drifted,enum=fixed"`
}

// HydrolixOptions are options for HydrolixCluster resources.
type HydrolixOptions struct {
	// Profile is the path of a file with the values that Hydrolix does not publish: replicas of scale profiles, sizes, labels and weights.
	// Default: the file that is shipped, whose values the report lists as assumed.
	Profile string `json:"profile,omitempty"`
}

// StackableOptions are options of the operators of the Stackable Data Platform.
type StackableOptions struct {
	// ADR asks for the rules of the platform's decision record ADR026 where the operators' code deviates from it: true or false. Default:
	// false, as the operators behave.
	ADR bool `json:"adr,omitempty"`
}
