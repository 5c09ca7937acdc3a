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
	*loader  // of the scenario's file
	base     *scenario.Scenario
	maker    *variant.Maker
	clusters map[string]*otherCluster
	configs  map[string]*sched.Config
}

// otherCluster is a cluster that variants have in place of the scenario's.
type otherCluster struct {
	scenario *scenario.Scenario // the scenario with this cluster
	read     []sourceContent
	flaws    []manifest.Flaw
}

func newVariantReader(l *loader, base *scenario.Scenario) *variantReader {
	return &variantReader{loader: l, base: base, maker: variant.NewMaker(base), clusters: map[string]*otherCluster{}, configs: map[string]*sched.Config{}}
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
	l, base, read := v.variantLoader(p), v.base, *v.inputContent
	if len(change.Cluster) > 0 && v.federation != nil {
		p.Add(field.NewPath("cluster"), "cannot take the place of the clusters of a federation; make it a scenario of its own")
	} else if len(change.Cluster) > 0 {
		other := v.cachedCluster(l, change.Cluster)
		base, read.cluster, l.flaws = other.scenario, other.read, other.flaws
	}
	varied := scenario.NewVariant(base, change)
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
	if l.patchResources(&read, change.Patches) {
		before := list.IndexBy(varied.Scenario.Objects(), cluster.RefTo)
		varied.Scenario.Steps = slices.Clone(varied.Scenario.Steps)
		l.assemble(varied.Scenario, &read)
		l.assumeClaims(varied.Scenario)
		l.adoptDump(varied.Scenario)
		unplaceChanged(varied, before)
	}
	v.maker.ChangeAndCheck(v.ctx, p, varied, change, func(patch *scenario.Patch) bool { return read.holdsResource(patch.Target) })
	return varied
}

// cachedCluster returns the cluster of these sources. Each cluster is read once for all variants that have it.
func (v *variantReader) cachedCluster(l *loader, sources []scenario.Source) *otherCluster {
	key := encodeKey(sources)
	if v.clusters[key] == nil {
		v.clusters[key] = v.readCluster(l, sources)
	}
	return v.clusters[key]
}

// readCluster reads a cluster, and puts it into the scenario in place of the scenario's own.
func (v *variantReader) readCluster(l *loader, sources []scenario.Source) *otherCluster {
	alone := &scenario.Scenario{}
	content := &scenarioContent{cluster: l.readClusterSources(field.NewPath("cluster"), sources)}
	l.assemble(alone, content)
	l.annotatePrices(alone.Cluster)
	s := *v.base
	s.Cluster, s.LevelKeys = alone.Cluster, l.levelKeys
	if content.hasKindNodes() {
		l.addKindClass(&s)
	}
	l.addAssumedClasses(&s, content.onlySyntheticNodes())
	l.assumeClaims(&s)
	l.adoptDump(&s)
	return &otherCluster{&s, content.cluster, l.flaws}
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

// patchResources applies the patches of a variant to the custom resources that they target, wherever the scenario has them, and reports
// whether there are any. If so, operators make all objects again.
func (l *loader) patchResources(read *scenarioContent, patches []scenario.Patch) (patched bool) {
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
	return patched
}

// unplaceChanged lists the workloads that have changed among the changes of the variant, and takes their pods off their nodes. The objects
// before are indexed by name.
func unplaceChanged(varied *scenario.LoadedVariant, before map[cluster.Ref]cluster.Object) {
	s := varied.Scenario
	for _, obj := range s.Objects() {
		owner := cluster.RefTo(obj)
		if was := before[owner]; was == nil || was == obj || equality.Semantic.DeepEqual(was, obj) {
			continue
		}
		varied.AddWorkload(owner)
		*s = *variant.Unplace(s, owner)
	}
}
