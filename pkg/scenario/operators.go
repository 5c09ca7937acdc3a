package scenario

import "k8s.io/apimachinery/pkg/runtime"

// Operators says what operators are given besides their resources.
type Operators struct {
	// KafScale is for KafScale, whose resource is KafscaleCluster.
	KafScale *KafScale `json:"kafscale,omitempty"`
	// Stackable is for the operators of the Stackable Data Platform. Default: as they are.
	Stackable StackableOptions `json:"stackable,omitempty"`
	// Hydrolix is for HydrolixCluster resources. Default: what is shipped holds.
	Hydrolix *HydrolixOptions `json:"hydrolix,omitempty"`
}

// KafScale is a release of KafScale's Helm chart. Its workloads are there before those of the scenario.
type KafScale struct {
	// Release is the release's name. Default: kafscale.
	Release string `json:"release,omitempty"`
	// Namespace is where it is installed. Default: default.
	Namespace string `json:"namespace,omitempty"`
	// Values is the path of a file of chart values. Default: the chart's own.
	Values string `json:"values,omitempty"`
	// ValuesInline are chart values, written out. They are put over those of the file, as Helm does. Default: none.
	ValuesInline *runtime.RawExtension `json:"valuesInline,omitempty"`
	// Revision is the chart's, by the rule that keeps the replicas of its proxy apart: before, without any; drifted, whose selector is
	// written out and misses the pods under nameOverride; or fixed, whose selector is the pods' own labels. Default: fixed.
	Revision string `json:"revision,omitempty" jsonschema:"enum=before,enum=drifted,enum=fixed"`
}

// HydrolixOptions are for HydrolixCluster resources.
type HydrolixOptions struct {
	// Profile is the path of a file with what Hydrolix does not publish: replicas of scale profiles, sizes, labels and weights.
	// Default: the file that is shipped, whose values the report lists as assumed.
	Profile string `json:"profile,omitempty"`
}

// StackableOptions are what the operators of the Stackable Data Platform are given besides their resources.
type StackableOptions struct {
	// ADR asks for the rules of the platform's decision record ADR026 where the operators' code parts from it: true or false.
	// Default: false, as the operators are.
	ADR bool `json:"adr,omitempty"`
}
