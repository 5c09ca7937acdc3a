package check

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// checkFailures reports levels and workloads that never exist.
func (w *walker) checkFailures(f *scenario.Failures) {
	path := field.NewPath("failures")
	nodes := scenario.NodeLabels(w.scenario.Nodes())
	carried := func(key string) bool {
		return slices.ContainsFunc(nodes, func(set labels.Set) bool { _, found := topology.Value(set, key); return found })
	}
	for i, key := range f.Levels {
		switch path := path.Child("levels").Index(i); {
		case !carried(topology.ResolveKey(w.scenario.Nodes(), key)):
			w.Add(path, "%s", scenario.LabelHint(key, "node", nodes))
		case slices.IndexFunc(f.Levels, func(other string) bool { return topology.Key(other) == topology.Key(key) }) < i:
			w.Add(path, "%q is listed twice", key)
		}
	}
	for i, target := range f.Quorum {
		w.checkWorkload(path.Child("quorum").Index(i), target)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Rates)) {
		if topology.Key(key) != topology.Key("node") && !carried(topology.Key(key)) { // even a node without labels is a domain of the level node
			w.Add(path.Child("rates").Key(key), "%s", scenario.LabelHint(key, "node", nodes))
		}
	}
}

// checkWorkload reports a workload that never exists.
func (w *walker) checkWorkload(path *field.Path, target string) {
	wanted, err := scenario.ParseWorkload(target)
	if err != nil || w.Reported(path) || w.partial {
		return // the problem is reported already, or the objects are not all known
	}
	for _, names := range []map[cluster.Ref]bool{w.known.objects, w.known.owners} {
		for known := range names {
			if scenario.MatchesName(known, wanted) {
				return
			}
		}
	}
	w.scenario.NotFound(w.Problems, path, wanted)
}
