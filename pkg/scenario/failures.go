package scenario

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/words"
)

// Failures says which failures simulate blast examines. The flags of simulate blast take precedence.
type Failures struct {
	// Levels lists the topology keys whose domains fail, for example rack; cluster, region, zone and node are short for the well-known
	// keys. Default: every level that the nodes have.
	Levels []string `json:"levels,omitempty"`
	// Simultaneous is the number of domains of a level that fail together, 1 or more. Default: 1.
	Simultaneous *int `json:"simultaneous,omitempty" jsonschema:"minimum=1"`
	// Mode is how the nodes fail, as in a step that fails nodes. Default: unreachable.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
	// Recover says whether the recovery is simulated, which shows the pods that come back. Default: true.
	Recover *bool `json:"recover,omitempty"`
	// Worst is the number of failures of a level, the most harmful ones, whose recovery is simulated if the level has more; 0 means all.
	// Default: 12 for simulate blast, 100 for compare, sweep and advise.
	Worst *int `json:"worst,omitempty" jsonschema:"minimum=0"`
	// Quorum lists workloads that need a majority of their pods, as kind/name or namespace/kind/name: Deployments, ReplicaSets,
	// StatefulSets and ReplicationControllers. A workload can also say so itself, by the annotation faultline.dev/quorum: a number, or
	// majority. The StatefulSets of etcd, ZooKeeper, Kafka controllers and HDFS journal nodes are recognized by their pods' labels.
	// Default: none.
	Quorum []string `json:"quorum,omitempty"`
	// Rates says how often the domains of a level fail and how long they stay down, by topology key or by region, zone or node. With rates,
	// the report says how likely each workload is to be down. Default: no such figures.
	Rates map[string]Rate `json:"rates,omitempty"`
}

// validateFailures reports problems of the failures that do not depend on objects.
func validateFailures(p *Problems, f *Failures) {
	path := field.NewPath("failures")
	if f.Simultaneous != nil && *f.Simultaneous < 1 {
		p.Add(path.Child("simultaneous"), "%d is less than 1; give the number of domains that fail together", *f.Simultaneous)
	}
	validateMode(p, path.Child("mode"), f.Mode)
	if f.Worst != nil {
		validateNotNegative(p, path.Child("worst"), *f.Worst)
	}
	for i, target := range f.Quorum {
		validateWorkload(p, path.Child("quorum").Index(i), target, "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
	}
	if f.Rates != nil {
		for _, err := range Rates(f.Rates).Validate(path.Child("rates")) {
			p.Add(nil, "%s", err)
		}
	}
}

// validateWorkload checks a workload that is named as kind/name or namespace/kind/name.
func validateWorkload(p *Problems, path *field.Path, target string, kinds ...string) {
	if wanted, err := ParseWorkload(target); err != nil {
		p.Add(path, "%s", err)
	} else if !slices.Contains(kinds, wanted.Kind) && !isOtherKind(wanted.String()) { // the objects decide whether another kind exists
		p.Add(path, "%q is a %s; name a %s", target, wanted.Kind, words.Or(kinds))
	}
}
