package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/topology"
)

// Variant is a named change to the scenario: what it would be, had something been otherwise from the start.
type Variant struct {
	// Name is the variant's name on the report. No two variants have the same, and none is called baseline.
	Name string `json:"name"`
	// Description says what the variant is about. Default: none.
	Description string `json:"description,omitempty"`
	// Cluster lists the sources of another cluster, which takes the place of the scenario's. Default: the scenario's.
	Cluster []Source `json:"cluster,omitempty"`
	// Scheduler is another configuration of the scheduler, in place of the scenario's; feature gates cannot vary. Default: the scenario's.
	Scheduler *Scheduler `json:"scheduler,omitempty"`
	// Patches change objects wherever the scenario has them: in the cluster, in the workloads and in every step that applies them.
	// Default: none.
	Patches []Patch `json:"patches,omitempty"`
	// Replicas sets numbers of replicas by workload, kind/name or namespace/kind/name, in place of what sets them last. Default: none.
	Replicas map[string]int32 `json:"replicas,omitempty"`
	// Rules set by which rules the pods of workloads keep apart. Default: the rules that they have.
	Rules []RuleChange `json:"rules,omitempty"`
}

// RuleChange sets by which rule the pods of workloads keep apart from each other. It takes the place of every anti-affinity term and
// spread constraint of theirs that is about their own pods; other rules stay.
type RuleChange struct {
	// Workload is a Deployment, ReplicaSet, StatefulSet or Job as kind/name or namespace/kind/name. Default: all of these.
	Workload string `json:"workload,omitempty"`
	// Rule is none; soft, preferred anti-affinity; hard, required anti-affinity; or spread, topology spread constraints.
	Rule string `json:"rule" jsonschema:"enum=none,enum=soft,enum=hard,enum=spread"`
	// Over lists the topology keys over whose domains the pods keep apart, a term for each. Default: those of the rules whose place
	// it takes, or kubernetes.io/hostname if there are none.
	Over []Term `json:"over,omitempty"`
	// MaxSkew is that of spread constraints, 1 or more. Default: 1.
	MaxSkew int32 `json:"maxSkew,omitempty" jsonschema:"minimum=1"`
	// WhenUnsatisfiable is that of spread constraints. Default: DoNotSchedule.
	WhenUnsatisfiable string `json:"whenUnsatisfiable,omitempty" jsonschema:"enum=DoNotSchedule,enum=ScheduleAnyway"`
	// MatchLabelKeys lists pod labels whose values must be equal for the rule to hold between two pods, such as pod-template-hash.
	// Default: none.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}

// Term is a topology key over which pods keep apart.
type Term struct {
	// TopologyKey is a node label; region, zone and node are short for the well-known ones.
	TopologyKey string `json:"topologyKey"`
	// Weight is that of a soft rule's term, 1 to 100. Default: 100.
	Weight int32 `json:"weight,omitempty" jsonschema:"minimum=1,maximum=100"`
}

// Baseline is the name of the scenario as it is, among its variants.
const Baseline = "baseline"

// LoadedVariant is the scenario with a change to it.
type LoadedVariant struct {
	Name, Description string
	Scenario          *Scenario
	// Workloads are those that the change names, in order of appearance; empty if it is about none in particular.
	Workloads []cluster.Ref
}

// Vary returns the scenario as it would be with the change. The error tells all that is wrong with it, and names what the change is
// from: a flag, for one.
func (s *Scenario) Vary(v *Variant, from string) (*LoadedVariant, error) {
	l := s.loader
	l.file = from
	l.shapeOfVariant(nil, v)
	if len(l.problems) > 0 {
		return nil, l.err()
	}
	varied := l.vary(s, v)
	return varied, l.err()
}

// variants reads the variants of the file, once the scenario itself is known to be right.
func (l *loader) variants(s *Scenario, variants []Variant) {
	for i := range variants {
		v := s.loader
		v.file = fmt.Sprintf("%s: variants[%d]", l.file, i)
		varied := v.vary(s, &variants[i])
		l.problems = append(l.problems, v.problems...)
		s.Variants = append(s.Variants, *varied)
	}
}

// shapeOfVariants finds what is wrong with the variants whatever the objects are.
func (l *loader) shapeOfVariants(variants []Variant) {
	names := map[string]bool{}
	for i := range variants {
		v, path := &variants[i], field.NewPath("variants").Index(i)
		switch {
		case strings.TrimSpace(v.Name) == "":
			l.problem(path.Child("name"), "is missing; the report shows a variant by its name")
		case v.Name == Baseline:
			l.problem(path.Child("name"), "%q is what the report calls the scenario as it is; choose another name", v.Name)
		case names[v.Name]:
			l.problem(path.Child("name"), "%q is the name of an earlier variant, too; give every variant a name of its own", v.Name)
		}
		names[v.Name] = true
		l.shapeOfVariant(path, v)
	}
}

func (l *loader) shapeOfVariant(path *field.Path, v *Variant) {
	if v.Scheduler != nil && len(v.Scheduler.FeatureGates) > 0 {
		l.problem(path.Child("scheduler", "featureGates"), "cannot vary, since they hold for everything that is read; give them under scheduler of the scenario")
	}
	for i := range v.Patches {
		l.shapeOfPatch(path.Child("patches").Index(i), &v.Patches[i])
	}
	for _, target := range sortedKeys(v.Replicas) {
		path := path.Child("replicas").Key(target)
		l.shapeOfWorkload(path, target, scalable...)
		l.atLeast0(path, int(v.Replicas[target]))
	}
	for i := range v.Rules {
		l.shapeOfRule(path.Child("rules").Index(i), &v.Rules[i])
	}
	if len(v.Cluster) == 0 && v.Scheduler == nil && len(v.Patches)+len(v.Replicas)+len(v.Rules) == 0 {
		l.problem(path, "changes nothing; give one of cluster, scheduler, patches, replicas and rules")
	}
}

// The kinds of workloads that are scaled, whose pods can be kept apart, and that have rollouts.
var (
	scalable = []string{"Deployment", "ReplicaSet", "StatefulSet"}
	Apart    = []string{"Deployment", "ReplicaSet", "StatefulSet", "Job"}
	Rolled   = []string{"Deployment", "StatefulSet", "DaemonSet"}
)

func (l *loader) shapeOfRule(path *field.Path, change *RuleChange) {
	if change.Workload != "" {
		l.shapeOfWorkload(path.Child("workload"), change.Workload, Apart...)
	}
	if !slices.Contains(rule.Separations, rule.Separation(change.Rule)) {
		l.problem(path.Child("rule"), "%q is none of none, soft, hard and spread", change.Rule)
	}
	if rule.Separation(change.Rule) == rule.NoRule && len(change.Over)+len(change.MatchLabelKeys) > 0 {
		l.problem(path, "rule none takes neither over nor matchLabelKeys")
	}
	if rule.Separation(change.Rule) != rule.EvenlySpread && (change.MaxSkew != 0 || change.WhenUnsatisfiable != "") {
		l.problem(path, "maxSkew and whenUnsatisfiable are for rule spread alone")
	}
	if change.MaxSkew < 0 {
		l.problem(path.Child("maxSkew"), "%d is less than 1", change.MaxSkew)
	}
	if !slices.Contains([]string{"", string(v1.DoNotSchedule), string(v1.ScheduleAnyway)}, change.WhenUnsatisfiable) {
		l.problem(path.Child("whenUnsatisfiable"), "%q is neither DoNotSchedule nor ScheduleAnyway", change.WhenUnsatisfiable)
	}
	for i, term := range change.Over {
		path := path.Child("over").Index(i)
		same := func(other Term) bool { return topology.Key(other.TopologyKey) == topology.Key(term.TopologyKey) }
		switch {
		case term.TopologyKey == "":
			l.problem(path.Child("topologyKey"), "is missing; give a node label, or region, zone or node")
		case slices.ContainsFunc(change.Over[:i], same):
			l.problem(path.Child("topologyKey"), "%q is there already", term.TopologyKey)
		}
		if term.Weight != 0 && rule.Separation(change.Rule) != rule.SoftAnti {
			l.problem(path.Child("weight"), "is for rule soft alone")
		} else if term.Weight < 0 || term.Weight > 100 {
			l.problem(path.Child("weight"), "%d is not between 1 and 100", term.Weight)
		}
	}
}

// vary derives the scenario of a variant whose shape is right, and keeps what is wrong with it.
func (l *loader) vary(base *Scenario, v *Variant) *LoadedVariant {
	s := *base
	s.Variants, s.Points = nil, nil
	varied := &LoadedVariant{Name: v.Name, Description: strings.TrimSpace(v.Description), Scenario: &s}
	if len(v.Cluster) > 0 {
		s.Cluster, s.LevelKeys = nil, nil
		l.otherCluster(&s, v.Cluster)
	}
	if v.Scheduler != nil {
		l.otherScheduler(&s, v.Scheduler)
	}
	l.patchResources(varied, v.Patches)
	for i := range v.Patches {
		if !s.read.holds(v.Patches[i].Target) {
			varied.about(l.patchAll(&s, field.NewPath("patches").Index(i), &v.Patches[i]))
		}
	}
	for _, target := range sortedKeys(v.Replicas) {
		owner, found := l.ownerOf(&s, field.NewPath("replicas").Key(target), target)
		if !found {
			continue
		}
		last := WorkloadsStep
		if len(s.Steps) > 0 {
			last = s.Steps[len(s.Steps)-1].Name
		}
		s = *s.scale(fmt.Sprint(target, v.Replicas[target]), owner, last, v.Replicas[target])
		varied.about(owner)
	}
	for i := range v.Rules {
		l.keepApart(varied, field.NewPath("rules").Index(i), &v.Rules[i])
	}
	if len(l.problems) == 0 && !l.incomplete {
		l.walk(&s)
	}
	return varied
}

// otherCluster reads another cluster, once for all that have the same.
func (l *loader) otherCluster(s *Scenario, sources []Source) {
	key := keyOf(sources)
	if known, found := l.alike.clusters[key]; found {
		s.Cluster, s.LevelKeys, s.read.cluster = known.Cluster, known.LevelKeys, known.read.cluster
		return
	}
	l.reading = ""
	others := *s
	others.read.cluster, others.read.workloads, others.read.steps = l.clusterSources(sources), nil, nil
	others.Steps = nil
	l.assemble(&others)
	s.Cluster, s.LevelKeys, s.read.cluster = others.Cluster, l.levelKeys, others.read.cluster
	l.dump(s)
	l.alike.clusters[key] = *s
}

// otherScheduler reads another configuration, once for all that have the same: a scheduler is built for each.
func (l *loader) otherScheduler(s *Scenario, given *Scheduler) {
	key := keyOf(given)
	if s.Config = l.alike.configs[key]; s.Config == nil {
		s.Config = l.scheduler(given)
		l.alike.configs[key] = s.Config
	}
}

// alike holds what variants of one scenario have in common, so that it is read and made once, and can be told to be the same.
type alike struct {
	clusters map[string]Scenario // of which the cluster counts
	configs  map[string]*sched.Config
	mu       sync.Mutex // for what is changed, since patches make objects while variants run side by side
	changed  map[changed]cluster.Object
	// cluster are the objects that were admitted last, and admitted is what came of them.
	cluster  []cluster.Object
	admitted *cluster.State
}

type changed struct {
	key string
	obj cluster.Object
}

// change returns f for a key: it changes each object once.
func (a *alike) change(key string, f func(cluster.Object) cluster.Object) func(cluster.Object) cluster.Object {
	return func(obj cluster.Object) cluster.Object {
		a.mu.Lock()
		defer a.mu.Unlock()
		after, found := a.changed[changed{key, obj}]
		if !found {
			after = f(obj)
			a.changed[changed{key, obj}] = after
		}
		return after
	}
}

func keyOf(value any) string {
	key, err := json.Marshal(value)
	if err != nil { // it has been read from JSON
		panic(err)
	}
	return string(key)
}

// about notes a workload that the change names, if it is one.
func (v *LoadedVariant) about(owner cluster.Ref) {
	if slices.Contains(Apart, owner.Kind) && !slices.Contains(v.Workloads, owner) {
		v.Workloads = append(v.Workloads, owner)
	}
}

// patchAll patches the object wherever the scenario has it.
func (l *loader) patchAll(s *Scenario, path *field.Path, patch *Patch) cluster.Ref {
	kind, name, err := ParseTarget(patch.Target.Target)
	if err != nil {
		return cluster.Ref{} // said already
	}
	wanted := cluster.Ref{Kind: kind, Namespace: namespaceOr(patch.Namespace, kind), Name: name}
	if !slices.ContainsFunc(s.objects(), func(obj cluster.Object) bool { return cluster.RefTo(obj) == wanted }) {
		l.problem(path.Child("target"), "there is no %s in the scenario; %s", wanted.Describe(), newNames(s).of(wanted))
		return cluster.Ref{}
	}
	patched := s.change(keyOf(patch), func(obj cluster.Object) cluster.Object {
		if cluster.RefTo(obj) != wanted {
			return obj
		}
		after, err := patch.Apply(obj)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				l.problem(path.Child("patch"), "%s", strings.TrimSpace(line))
			}
			return obj
		}
		return after
	})
	if before := template(s, wanted); before != nil && !equality.Semantic.DeepEqual(before, template(patched, wanted)) {
		patched = patched.unplace(wanted)
	}
	*s = *patched
	return wanted
}

// template is that of the owner's pods, as the scenario has it first.
func template(s *Scenario, owner cluster.Ref) *v1.PodSpec {
	for _, obj := range s.objects() {
		if cluster.RefTo(obj) == owner {
			spec, _ := cluster.PodSpec(obj)
			return spec
		}
	}
	return nil
}

// Workload finds the workload of one of these kinds that is named as kind/name or namespace/kind/name. The error says which there are.
func (s *Scenario) Workload(target string, kinds ...string) (cluster.Ref, error) {
	l := s.loader
	l.file = target
	if l.shapeOfWorkload(nil, target, kinds...); len(l.problems) > 0 {
		return cluster.Ref{}, l.err()
	}
	owner, _ := l.ownerOf(s, nil, target)
	return owner, l.err()
}

// ownerOf finds the workload that is named as kind/name or namespace/kind/name.
func (l *loader) ownerOf(s *Scenario, path *field.Path, target string) (cluster.Ref, bool) {
	anywhere, wanted, err := parseWorkload(target)
	if err != nil {
		return cluster.Ref{}, false // said already
	}
	var found []cluster.Ref
	for _, obj := range s.objects() {
		name := cluster.RefTo(obj)
		if name.Kind == wanted.Kind && name.Name == wanted.Name && (anywhere || name.Namespace == wanted.Namespace) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	if i := slices.Index(found, cluster.Ref{Kind: wanted.Kind, Namespace: v1.NamespaceDefault, Name: wanted.Name}); i >= 0 {
		found = found[i : i+1]
	}
	switch len(found) {
	case 0:
		if anywhere {
			wanted.Namespace = v1.NamespaceDefault
		}
		l.problem(path, "there is no %s in the scenario; %s", wanted.Describe(), newNames(s).of(wanted))
		return cluster.Ref{}, false
	case 1:
		return found[0], true
	}
	l.problem(path, "%q could be the %s or the %s; give namespace/kind/name", target, found[0].Describe(), found[1].Describe())
	return cluster.Ref{}, false
}

// keepApart sets the rules of the workloads that the change is about.
func (l *loader) keepApart(varied *LoadedVariant, path *field.Path, change *RuleChange) {
	nodes := labelsOf(varied.Scenario.Nodes())
	for i, term := range change.Over {
		if key := topology.Key(term.TopologyKey); !slices.ContainsFunc(nodes, func(set labels.Set) bool { return set.Has(key) }) {
			l.problem(path.Child("over").Index(i).Child("topologyKey"), "%s", labelHint(key, "node", nodes))
		}
	}
	var owners []cluster.Ref
	if change.Workload != "" {
		owner, found := l.ownerOf(varied.Scenario, path.Child("workload"), change.Workload)
		if !found {
			return
		}
		owners = append(owners, owner)
		varied.about(owner)
	} else {
		for _, obj := range varied.Scenario.objects() {
			name := cluster.RefTo(obj)
			owner := cluster.Ref{Kind: name.Kind, Namespace: name.Namespace, Name: name.Name}
			if slices.Contains(Apart, name.Kind) && metav1.GetControllerOfNoCopy(obj) == nil && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	for _, owner := range owners {
		*varied.Scenario = *varied.Scenario.KeepApart(owner, change)
	}
}

// KeepApart returns the scenario as it would be had the pods of the owner always had that rule. Pods of the owner that the cluster has
// on nodes are taken from these, to be placed anew.
func (s *Scenario) KeepApart(owner cluster.Ref, change *RuleChange) *Scenario {
	var selector *metav1.LabelSelector
	var own map[string]string
	for _, obj := range s.objects() {
		if cluster.RefTo(obj) == owner {
			selector, own = selectorOf(obj), cluster.PodLabels(obj)
		}
	}
	by := rule.Apart{
		By: rule.Separation(change.Rule), MaxSkew: change.MaxSkew, Required: change.WhenUnsatisfiable != string(v1.ScheduleAnyway),
		MatchLabelKeys: change.MatchLabelKeys,
	}
	for _, term := range change.Over {
		by.Over = append(by.Over, rule.Over{TopologyKey: topology.Key(term.TopologyKey), Weight: term.Weight})
	}
	return s.unplace(owner).edit(owner, fmt.Sprint(owner, *change), func(spec *v1.PodSpec) {
		by := by
		if len(by.Over) == 0 && by.By != rule.NoRule {
			by.Over = keysOf(rule.KeptApart(spec, own, owner.Namespace))
		}
		rule.KeepApart(spec, own, owner.Namespace, selector, by)
	})
}

// keysOf are the topology keys of the rules, each once; the hostname if there are none.
func keysOf(rules []rule.Rule) []rule.Over {
	var over []rule.Over
	for _, r := range rules {
		if !slices.ContainsFunc(over, func(o rule.Over) bool { return o.TopologyKey == r.TopologyKey }) {
			over = append(over, rule.Over{TopologyKey: r.TopologyKey, Weight: r.Weight})
		}
	}
	if len(over) == 0 {
		over = []rule.Over{{TopologyKey: v1.LabelHostname}}
	}
	return over
}

// selectorOf is what the rules of the object's pods shall select: its own pods. The selector of a Job names the Job itself.
func selectorOf(obj cluster.Object) *metav1.LabelSelector {
	if job, ok := obj.(*batchv1.Job); ok {
		return &metav1.LabelSelector{MatchLabels: job.Spec.Template.Labels}
	}
	return cluster.Selector(obj)
}
