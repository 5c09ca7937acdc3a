package loader

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/variant"
)

// variantReader reads the variants of a file and the points of its sweep.
type variantReader struct {
	*loader     // of the scenario's file
	base        *scenario.Scenario
	baseContent *scenarioContent
	maker       *variant.Maker
	clusters    map[string]variantCluster
	configs     map[string]*sched.Config
}

// variantCluster is a cluster that variants have in place of the scenario's.
type variantCluster struct {
	objects   []cluster.Object
	levelKeys []string
	read      []sourceContent
	flaws     []manifest.Flaw
}

func newVariantReader(l *loader, base *scenario.Scenario) *variantReader {
	return &variantReader{loader: l, base: base, baseContent: l.inputContent, maker: variant.NewMaker(base), clusters: map[string]variantCluster{}, configs: map[string]*sched.Config{}}
}

// readVariants reads the variants of the file.
func (v *variantReader) readVariants(variants []scenario.Variant) {
	if err := scenario.CheckLimit("variants", len(variants), v.opts.Limits.Versions); err != nil {
		v.stop(err)
	}
	for i := 0; i < len(variants) && !v.ended(); i++ {
		p := &scenario.Problems{File: fmt.Sprintf("%s: variants[%d]", v.problems.File, i), Flags: v.problems.Flags}
		v.base.Variants = append(v.base.Variants, *v.deriveVariant(p, &variants[i]))
		v.problems.AddDerived(p)
	}
}

// deriveVariant derives the scenario of a variant whose fields are valid by themselves.
func (v *variantReader) deriveVariant(p *scenario.Problems, change *scenario.Variant) *scenario.LoadedVariant {
	// The variant has a loader of its own, so that the base scenario stays as it was read.
	l := &loader{ctx: v.ctx, stop: v.stop, nodeCount: v.nodeCount, deviceCount: v.deviceCount, problems: p, dir: v.dir, fsys: v.fsys, stdin: v.stdin, opts: v.opts, namedFiles: v.namedFiles, federation: v.federation, inputContent: v.baseContent, storageMode: v.storageMode, kindMembers: v.kindMembers, syntheticMembers: v.syntheticMembers, hasDeciders: v.hasDeciders}
	varied := scenario.NewVariant(v.base, change)
	read := *v.baseContent
	if len(change.Cluster) > 0 && v.federation != nil {
		p.Add(field.NewPath("cluster"), "cannot take the place of the clusters of a federation; make it a scenario of its own")
	} else if len(change.Cluster) > 0 {
		read.cluster = v.replaceCluster(l, varied.Scenario, change.Cluster)
	}
	if change.Scheduler != nil {
		varied.Scenario.Config = v.cachedSchedulerConfig(l, change.Scheduler)
	}
	if v.ended() {
		return varied
	}
	if change.Autoscaler != nil && v.federation != nil {
		p.Add(field.NewPath("autoscaler"), "is for a single cluster; leave it out")
	} else if change.Autoscaler != nil {
		varied.Scenario.Autoscaler = change.Autoscaler
		l.nodeGroups(varied.Scenario)
	}
	l.checkResources(varied.Scenario)
	l.patchResources(varied, &read, change.Patches)
	v.maker.ChangeAndCheck(v.ctx, p, varied, change, func(patch *scenario.Patch) bool { return read.holdsResource(patch.Target) })
	return varied
}

// replaceCluster replaces the cluster of a variant's scenario. Each cluster is read once for all variants that have it.
func (v *variantReader) replaceCluster(l *loader, s *scenario.Scenario, sources []scenario.Source) []sourceContent {
	key := encodeKey(sources)
	other, found := v.clusters[key]
	if !found {
		others := &scenario.Scenario{}
		other.read = l.readClusterSources(field.NewPath("cluster"), sources)
		l.assemble(others, &scenarioContent{cluster: other.read})
		l.prices, l.pricesFile = v.prices, v.pricesFile
		l.annotatePrices(others.Cluster)
		other.objects, other.levelKeys, other.flaws = others.Cluster, l.levelKeys, l.flaws
		v.clusters[key] = other
	}
	s.Cluster, s.LevelKeys, l.flaws = other.objects, other.levelKeys, other.flaws
	if (&scenarioContent{cluster: other.read}).hasKindNodes() {
		l.addKindClass(s)
	}
	l.addAssumedClasses(s, (&scenarioContent{cluster: other.read}).onlySyntheticNodes())
	l.adaptDump(s)
	return other.read
}

// cachedSchedulerConfig returns the scheduler configuration of a variant. Equal configurations share one value, since a scheduler is built for each
// value.
func (v *variantReader) cachedSchedulerConfig(l *loader, given *scenario.Scheduler) *sched.Config {
	key := encodeKey(given)
	if v.configs[key] == nil {
		v.configs[key] = l.readSchedulerConfig(given)
	}
	return v.configs[key]
}

// encodeKey returns a key of the value: its JSON.
func encodeKey(value any) string {
	key, err := json.Marshal(value)
	if err != nil { // it has been read from JSON
		panic(err)
	}
	return string(key)
}

// patchResources applies the patches of a variant to the custom resources that they target, wherever the scenario has them. Operators then
// make all objects again.
func (l *loader) patchResources(varied *scenario.LoadedVariant, read *scenarioContent, patches []scenario.Patch) {
	patched := false
	for i := range patches {
		if kind, _, karmada := scenario.ParseKarmada(patches[i].Target.Target); l.federation != nil && karmada && kind != federation.KindCluster && !read.holdsResource(patches[i].Target) {
			l.reportMissingPolicy(field.NewPath("patches").Index(i).Child("target"), patches[i].Target, kind)
		}
	}
	for _, part := range []*[]sourceContent{&read.cluster, &read.workloads, &read.steps} {
		*part = slices.Clone(*part)
		for r := range *part {
			resources := slices.Clone((*part)[r].resources)
			(*part)[r].resources = resources
			for j := range resources {
				for i := range patches {
					if !isResource(patches[i].Target, resources[j]) {
						continue
					}
					patched = true
					after, err := patches[i].ApplyToResource(resources[j])
					if err != nil {
						l.problems.Add(field.NewPath("patches").Index(i).Child("patch"), "%s", err)
						continue
					}
					if l.isKarmada(after) { // the expander decodes it again
						after.Source = manifest.Source{File: l.problems.File, Path: field.NewPath("patches").Index(i).Child("patch").String()}
					}
					resources[j] = after
				}
			}
		}
	}
	if !patched {
		return
	}
	s := varied.Scenario
	before := list.IndexBy(s.Objects(), cluster.RefTo)
	s.Steps = slices.Clone(s.Steps)
	l.assemble(s, read)
	l.adaptDump(s)
	for _, obj := range s.Objects() {
		owner := cluster.RefTo(obj)
		if was := before[owner]; was == nil || was == obj || equality.Semantic.DeepEqual(was, obj) {
			continue
		}
		varied.AddWorkload(owner)
		*s = *variant.Unplace(s, owner)
	}
}
