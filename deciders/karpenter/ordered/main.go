// Command ordered writes a copy of Karpenter's module that decides the same for the same input. Where Karpenter takes the order of a Go map,
// which is drawn anew at each run, the copy takes an order that the seed gives; and what Karpenter does at once in several goroutines, the copy
// does one after the other. Nothing else is changed: [edits] has every line. A build takes the copy by
//
//	go run ./ordered && go build -tags ordered -modfile .ordered/go.mod .
package main

import (
	_ "embed"
	"fmt"
	"os"

	"github.com/faultline/faultline/deciders/kit/ordered"
)

//go:embed order.txt
var order []byte

type edit struct {
	File     string
	Times    int
	Old, New string
}

var edits = []edit{
	{"pkg/scheduling/requirement.go", 1, "return r.values.UnsortedList()[0]", "return Ordered(r.values)[0]"},
	{"pkg/scheduling/requirement.go", 1, "return r.values.UnsortedList()\n", "return Ordered(r.values)\n"},
	{"pkg/scheduling/requirement.go", 1, "rand.Intn(max-min)", "int(Salt%uint64(max-min))"},
	{"pkg/scheduling/requirement.go", 1, "\t\"math/rand\"\n", ""},
	{"pkg/scheduling/requirements.go", 1, "\t\"slices\"\n", "\t\"maps\"\n\t\"slices\"\n"},
	{"pkg/scheduling/requirements.go", 1, "\tfor _, req := range r {\n\t\tif req.gte != nil",
		"\tfor _, key := range slices.Sorted(maps.Keys(r)) {\n\t\treq := r[key]\n\t\tif req.gte != nil"},
	{"pkg/scheduling/requirements.go", 1, "\t// Custom Labels must intersect, but if not defined are denied.\n",
		"\t// Custom Labels must intersect, but if not defined are denied.\n\tfirst := \"\"\n"},
	{"pkg/scheduling/requirements.go", 1, "\t\t// break early so we only report the first error\n\t\treturn fmt.Errorf(\"label %q does not have known values%s\", key, labelHint(r, key, opts.AllowUndefined))\n\t}\n",
		"\t\tif first == \"\" || key < first {\n\t\t\tfirst = key\n\t\t}\n\t}\n\tif key := first; key != \"\" {\n\t\treturn fmt.Errorf(\"label %q does not have known values%s\", key, labelHint(r, key, opts.AllowUndefined))\n\t}\n"},
	{"pkg/scheduling/requirements.go", 1, "for wellKnown := range allowedUndefined {", "for _, wellKnown := range sets.List(allowedUndefined) {"},
	{"pkg/scheduling/requirements.go", 1, "for existing := range r {", "for _, existing := range slices.Sorted(maps.Keys(r)) {"},
	{"pkg/scheduling/requirements.go", 1, "\tfor key := range r.intersectKeys(requirements) {\n", "\tvar failed []badKeyError\n\tfor key := range r.intersectKeys(requirements) {\n"},
	{"pkg/scheduling/requirements.go", 1, "errs = multierr.Append(errs, badKeyError{\n\t\t\t\tkey:      key,\n\t\t\t\tincoming: incoming,\n\t\t\t\texisting: existing,\n\t\t\t})\n\t\t}\n\t}\n",
		"failed = append(failed, badKeyError{\n\t\t\t\tkey:      key,\n\t\t\t\tincoming: incoming,\n\t\t\t\texisting: existing,\n\t\t\t})\n\t\t}\n\t}\n\tslices.SortFunc(failed, func(a, b badKeyError) int { return strings.Compare(a.key, b.key) })\n\tfor _, err := range failed {\n\t\terrs = multierr.Append(errs, err)\n\t}\n"},

	{"pkg/controllers/provisioning/scheduling/topologygroup.go", 1, "for domain := range t.domains {\n\t\t\t// but we can only choose", "for _, domain := range scheduling.Ordered(t.domains) {\n\t\t\t// but we can only choose"},
	{"pkg/controllers/provisioning/scheduling/topologygroup.go", 1, "for domain := range t.domains {\n\t\t\tif intersected.Has(domain)", "for _, domain := range scheduling.Ordered(t.domains) {\n\t\t\tif intersected.Has(domain)"},
	{"pkg/controllers/provisioning/scheduling/topologygroup.go", 1, "for domain := range t.domains {\n\t\t\tif podDomains.Has(domain) {\n", "for _, domain := range scheduling.Ordered(t.domains) {\n\t\t\tif podDomains.Has(domain) {\n"},
	{"pkg/controllers/provisioning/scheduling/topology.go", 1, "\t\"math\"\n", "\t\"math\"\n\t\"slices\"\n"},
	{"pkg/controllers/provisioning/scheduling/topology.go", 1, "\tfor _, tg := range t.topologyGroups {\n\t\tif tg.IsOwnedBy(p.UID) {\n\t\t\tmatchingTopologies = append(matchingTopologies, tg)\n\t\t}\n\t}\n",
		"\tvar hashes []uint64\n\tfor hash, tg := range t.topologyGroups {\n\t\tif tg.IsOwnedBy(p.UID) {\n\t\t\thashes = append(hashes, hash)\n\t\t}\n\t}\n\tslices.Sort(hashes)\n\tfor _, hash := range hashes {\n\t\tmatchingTopologies = append(matchingTopologies, t.topologyGroups[hash])\n\t}\n\thashes = nil\n"},
	{"pkg/controllers/provisioning/scheduling/topology.go", 1, "\tfor _, tg := range t.inverseTopologyGroups {\n\t\tif tg.Counts(p, taints, requirements, compatibilityOptions...) {\n\t\t\tmatchingTopologies = append(matchingTopologies, tg)\n\t\t}\n\t}\n",
		"\tfor hash, tg := range t.inverseTopologyGroups {\n\t\tif tg.Counts(p, taints, requirements, compatibilityOptions...) {\n\t\t\thashes = append(hashes, hash)\n\t\t}\n\t}\n\tslices.Sort(hashes)\n\tfor _, hash := range hashes {\n\t\tmatchingTopologies = append(matchingTopologies, t.inverseTopologyGroups[hash])\n\t}\n"},
	{"pkg/controllers/provisioning/scheduling/scheduler.go", 1, "\t\"fmt\"\n\t\"math\"\n\t\"sort\"\n", "\t\"fmt\"\n\t\"maps\"\n\t\"math\"\n\t\"slices\"\n\t\"sort\"\n"},
	{"pkg/controllers/provisioning/scheduling/scheduler.go", 1, "\tfor k, err := range errs {\n",
		"\tfor _, k := range slices.SortedFunc(maps.Keys(errs), func(a, b *corev1.Pod) int { return strings.Compare(a.Namespace+\"/\"+a.Name, b.Namespace+\"/\"+b.Name) }) {\n\t\terr := errs[k]\n"},
	{"pkg/controllers/provisioning/scheduling/scheduler.go", 1, "lo.Map(lo.Values(groups), func(g *DaemonOverheadGroup, _ int) DaemonOverheadGroup { return *g })",
		"lo.Map(slices.Sorted(maps.Keys(groups)), func(key string, _ int) DaemonOverheadGroup { return *groups[key] })"},

	{"pkg/cloudprovider/types.go", 1, "\"label(s)\", lo.Keys(incompatibleKeys))", "\"label(s)\", scheduling.Ordered(incompatibleKeys))"},
	{"pkg/controllers/state/cluster.go", 1, "\t\"maps\"\n", "\t\"maps\"\n\t\"slices\"\n"},
	{"pkg/controllers/state/cluster.go", 1, "lo.Map(lo.Values(c.nodes), func(n *StateNode, _ int) *StateNode {\n\t\treturn n.DeepCopy()\n",
		"lo.Map(slices.Sorted(maps.Keys(c.nodes)), func(id string, _ int) *StateNode {\n\t\treturn c.nodes[id].DeepCopy()\n"},
	{"pkg/controllers/disruption/singlenodeconsolidation.go", 1, "lo.Filter(lo.Keys(nodePoolCandidates), ", "lo.Filter(scheduling.Ordered(nodePoolCandidates), "},
	{"pkg/controllers/disruption/singlenodeconsolidation.go", 1, "\tv1 \"sigs.k8s.io/karpenter/pkg/apis/v1\"\n", "\tv1 \"sigs.k8s.io/karpenter/pkg/apis/v1\"\n\t\"sigs.k8s.io/karpenter/pkg/scheduling\"\n"},

	{"pkg/controllers/disruption/queue.go", 2, "ParallelizeUntil(ctx, len(cmd.Candidates), len(cmd.Candidates), ", "ParallelizeUntil(ctx, 1, len(cmd.Candidates), "},
	{"pkg/controllers/provisioning/provisioner.go", 1, "ParallelizeUntil(ctx, len(nodeClaims), len(nodeClaims), ", "ParallelizeUntil(ctx, 1, len(nodeClaims), "},
	{"pkg/controllers/nodeclaim/garbagecollection/controller.go", 1, "ParallelizeUntil(ctx, 20, ", "ParallelizeUntil(ctx, 1, "},
}

func main() {
	c := ordered.Copy{
		Module: "sigs.k8s.io/karpenter", Keep: []string{"kwok", "pkg"}, Extensions: []string{".go", ".mod", ".json", ".yaml"},
		Add: map[string][]byte{"pkg/scheduling/order.go": order},
	}
	for _, e := range edits {
		c.Edits = append(c.Edits, ordered.Edit(e))
	}
	if err := c.Write(); err != nil {
		fmt.Fprintln(os.Stderr, "ordered:", err)
		os.Exit(1)
	}
}
