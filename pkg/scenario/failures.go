package scenario

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/topology"
)

// Failures says which failures simulate blast looks at. Its flags win over this.
type Failures struct {
	// Levels lists the topology keys whose domains fail, for example rack; region, zone and node are short for the well-known
	// keys. Default: every level that the nodes have.
	Levels []string `json:"levels,omitempty"`
	// Simultaneous is the number of domains of a level that fail together, 1 or more. Default: 1.
	Simultaneous *int `json:"simultaneous,omitempty" jsonschema:"minimum=1"`
	// Mode is how their nodes fail, as in a step that fails nodes. Default: unreachable.
	Mode string `json:"mode,omitempty" jsonschema:"enum=unreachable,enum=out-of-service,enum=deleted"`
	// Recover says whether the lost pods are replaced, to see what comes back. Default: true.
	Recover *bool `json:"recover,omitempty"`
	// Worst is how many failures of a level are recovered, those that take the largest share of a workload, where it has more; 0 for all. Default: 12 for simulate
	// blast, 100 for compare, sweep and advise.
	Worst *int `json:"worst,omitempty" jsonschema:"minimum=0"`
	// Quorum lists workloads that need a majority of their pods, as kind/name or namespace/kind/name: Deployments, ReplicaSets
	// and StatefulSets. A workload can also say so itself, by the annotation faultline.dev/quorum: a number, or majority. The
	// StatefulSets of etcd, ZooKeeper, Kafka controllers and HDFS journal nodes are known by their pods' labels.
	// Default: none.
	Quorum []string `json:"quorum,omitempty"`
	// Rates says how often the domains of a level fail and how long they stay down, by topology key or by region, zone or node.
	// Then the report says how likely each workload is to be down. Default: no such figures.
	Rates map[string]Rate `json:"rates,omitempty"`
}

// shapeOfFailures finds what is wrong with the failures whatever the objects are.
func (l *loader) shapeOfFailures(f *Failures) {
	path := field.NewPath("failures")
	if f.Simultaneous != nil && *f.Simultaneous < 1 {
		l.problem(path.Child("simultaneous"), "%d is less than 1; give the number of domains that fail together", *f.Simultaneous)
	}
	l.shapeOfMode(path.Child("mode"), f.Mode)
	if f.Worst != nil {
		l.atLeast0(path.Child("worst"), *f.Worst)
	}
	for i, target := range f.Quorum {
		l.shapeOfWorkload(path.Child("quorum").Index(i), target, "Deployment", "ReplicaSet", "StatefulSet")
	}
	if f.Rates != nil {
		for _, err := range Rates(f.Rates).Validate(path.Child("rates")) {
			l.problem(nil, "%s", err)
		}
	}
}

// shapeOfWorkload checks a workload that is named as kind/name or namespace/kind/name.
func (l *loader) shapeOfWorkload(path *field.Path, target string, kinds ...string) {
	if _, wanted, err := parseWorkload(target); err != nil {
		l.problem(path, "%q is neither kind/name nor namespace/kind/name; give for example statefulset/db", target)
	} else if !slices.Contains(kinds, wanted.Kind) {
		l.problem(path, "%q is a %s, which is none of %s", target, wanted.Kind, strings.Join(kinds, ", "))
	}
}

// parseWorkload splits kind/name or namespace/kind/name; anywhere tells that no namespace is given.
func parseWorkload(target string) (anywhere bool, wanted cluster.Ref, err error) {
	anywhere = true
	if strings.Count(target, "/") == 2 {
		anywhere = false
		wanted.Namespace, target, _ = strings.Cut(target, "/")
	}
	wanted.Kind, wanted.Name, err = ParseTarget(target)
	return anywhere, wanted, err
}

// failures reports levels and workloads that the scenario never has.
func (w *walk) failures(f *Failures, s *Scenario) {
	path := field.NewPath("failures")
	nodes := labelsOf(s.Nodes())
	carried := func(key string) bool {
		return slices.ContainsFunc(nodes, func(set labels.Set) bool { return set.Has(topology.Key(key)) })
	}
	for i, key := range f.Levels {
		switch path := path.Child("levels").Index(i); {
		case !carried(key):
			w.problem(path, "%s", labelHint(key, "node", nodes))
		case slices.IndexFunc(f.Levels, func(other string) bool { return topology.Key(other) == topology.Key(key) }) < i:
			w.problem(path, "%q is there already", key)
		}
	}
	for i, target := range f.Quorum {
		w.workload(path.Child("quorum").Index(i), target, "Deployment", "ReplicaSet", "StatefulSet")
	}
	for _, key := range sortedKeys(f.Rates) {
		if topology.Key(key) != topology.Key("node") && !carried(key) { // a node is a node without any label, too
			w.problem(path.Child("rates").Key(key), "%s", labelHint(key, "node", nodes))
		}
	}
}

// workload reports a workload of one of these kinds that the scenario never has.
func (w *walk) workload(path *field.Path, target string, kinds ...string) {
	anywhere, wanted, err := parseWorkload(target)
	if err != nil || !slices.Contains(kinds, wanted.Kind) {
		return // said already
	}
	for known := range w.known.objects {
		if known.Kind == wanted.Kind && known.Name == wanted.Name && (anywhere || known.Namespace == wanted.Namespace) {
			return
		}
	}
	if anywhere {
		wanted.Namespace = "default"
	}
	w.problem(path, "there is no %s in the scenario; %s", wanted.Describe(), w.known.of(wanted))
}
