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

// varier reads the variants of a file and the points of its sweep.
type varier struct {
	*loader  // of the scenario's file
	base     *scenario.Scenario
	read     *contents
	maker    *variant.Maker
	clusters map[string]otherCluster
	configs  map[string]*sched.Config
}

// otherCluster is a cluster that variants have in place of the scenario's.
type otherCluster struct {
	objects   []cluster.Object
	levelKeys []string
	read      []content
	flaws     []manifest.Flaw
}

func newVarier(l *loader, base *scenario.Scenario) *varier {
	return &varier{loader: l, base: base, read: l.given, maker: variant.NewMaker(base), clusters: map[string]otherCluster{}, configs: map[string]*sched.Config{}}
}

// variants reads the variants of the file.
func (v *varier) variants(variants []scenario.Variant) {
	if err := scenario.Exceeds("variants", len(variants), v.opts.Limits.Versions); err != nil {
		v.stop(err)
	}
	for i := 0; i < len(variants) && !v.ended(); i++ {
		p := &scenario.Problems{File: fmt.Sprintf("%s: variants[%d]", v.problems.File, i), Flags: v.problems.Flags}
		v.base.Variants = append(v.base.Variants, *v.vary(p, &variants[i]))
		v.problems.AddAll(p)
	}
}

// vary derives the scenario of a variant whose fields are valid by themselves.
func (v *varier) vary(p *scenario.Problems, change *scenario.Variant) *scenario.LoadedVariant {
	// The variant has a loader of its own, so that the base scenario stays as it was read.
	l := &loader{ctx: v.ctx, stop: v.stop, nodes: v.nodes, devices: v.devices, problems: p, dir: v.dir, fsys: v.fsys, stdin: v.stdin, opts: v.opts, named: v.named, federation: v.federation, given: v.read, storage: v.storage, ofKind: v.ofKind, madeUp: v.madeUp}
	varied := scenario.NewVariant(v.base, change)
	read := *v.read
	if len(change.Cluster) > 0 && v.federation != nil {
		p.Add(field.NewPath("cluster"), "cannot take the place of the clusters of a federation; make it a scenario of its own")
	} else if len(change.Cluster) > 0 {
		read.cluster = v.cluster(l, varied.Scenario, change.Cluster)
	}
	if change.Scheduler != nil {
		varied.Scenario.Config = v.scheduler(l, change.Scheduler)
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
	l.patchResources(varied, &read, change.Patches)
	v.maker.Change(v.ctx, p, varied, change, func(patch *scenario.Patch) bool { return read.holds(patch.Target) })
	return varied
}

// cluster replaces the cluster of a variant's scenario. Each cluster is read once for all variants that have it.
func (v *varier) cluster(l *loader, s *scenario.Scenario, sources []scenario.Source) []content {
	key := keyOf(sources)
	other, found := v.clusters[key]
	if !found {
		others := &scenario.Scenario{}
		other.read = l.clusterSources(field.NewPath("cluster"), sources)
		l.assemble(others, &contents{cluster: other.read})
		l.prices, l.pricesFile = v.prices, v.pricesFile
		l.price(others.Cluster)
		other.objects, other.levelKeys, other.flaws = others.Cluster, l.levelKeys, l.flaws
		v.clusters[key] = other
	}
	s.Cluster, s.LevelKeys, l.flaws = other.objects, other.levelKeys, other.flaws
	if (&contents{cluster: other.read}).kind() {
		l.kindStorage(s)
	}
	l.makeStorage(s, (&contents{cluster: other.read}).madeUp())
	l.dump(s)
	return other.read
}

// scheduler returns the scheduler configuration of a variant. Equal configurations share one value, since a scheduler is built for each
// value.
func (v *varier) scheduler(l *loader, given *scenario.Scheduler) *sched.Config {
	key := keyOf(given)
	if v.configs[key] == nil {
		v.configs[key] = l.scheduler(given)
	}
	return v.configs[key]
}

// keyOf returns a key of the value: its JSON.
func keyOf(value any) string {
	key, err := json.Marshal(value)
	if err != nil { // it has been read from JSON
		panic(err)
	}
	return string(key)
}

// patchResources applies the patches of a variant to the custom resources that they target, wherever the scenario has them. Operators then
// make all objects again.
func (l *loader) patchResources(varied *scenario.LoadedVariant, read *contents, patches []scenario.Patch) {
	patched := false
	for i := range patches {
		if kind, _, karmada := scenario.ParseKarmada(patches[i].Target.Target); l.federation != nil && karmada && kind != federation.KindCluster && !read.holds(patches[i].Target) {
			l.notThere(field.NewPath("patches").Index(i).Child("target"), patches[i].Target, kind)
		}
	}
	for _, part := range []*[]content{&read.cluster, &read.workloads, &read.steps} {
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
					if l.ofKarmada(after) { // the expander decodes it again
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
	before := list.By(s.Objects(), cluster.RefTo)
	s.Steps = slices.Clone(s.Steps)
	l.assemble(s, read)
	l.dump(s)
	for _, obj := range s.Objects() {
		owner := cluster.RefTo(obj)
		if was := before[owner]; was == nil || was == obj || equality.Semantic.DeepEqual(was, obj) {
			continue
		}
		varied.About(owner)
		*s = *variant.Unplace(s, owner)
	}
}
