package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
)

// New returns the report on a run, with the judged expectations of each step. version is Faultline's version. Cycles and causes are missing
// until AddCycles and AddCauses add them.
func New(result *simulation.Result, judged [][]expect.Judged, version string) *Report {
	r := &Report{Head: report.NewHead(result, Kind, version)}
	levels := topology.Levels(result.Initial.Nodes, result.Scenario.LevelKeys...)
	r.Nodes = report.NewNodes(result.Initial.Nodes, levels)
	all := slices.Clone(result.Initial.Nodes)
	for i := range result.Steps {
		all = append(all, result.Steps[i].State.Nodes...)
	}
	r.Labels = report.GroupingLabels(all)
	before, there := result.Initial, podsByUID(result.Initial)
	if len(there) == 0 {
		there = dumpedPods(result.Scenario)
	}
	loaded := map[string]*scenario.LoadedStep{}
	for i := range result.Scenario.Steps {
		loaded[result.Scenario.Steps[i].Name] = &result.Scenario.Steps[i]
	}
	for i := range result.Steps {
		step := newStep(&result.Steps[i], judged[i], result.Scenario)
		if of := loaded[step.Name]; of != nil {
			step.Description = of.Description
		}
		if len(there) > 0 {
			asked := map[cluster.Ref]bool{}
			if of := loaded[step.Name]; of != nil {
				asked = askedWorkloads(of, i == 0 && len(result.Initial.Pods) == 0)
			}
			if i == 0 { // patches have changed these before the first step
				for _, ref := range result.Scenario.Patched {
					asked[ref] = true
				}
			}
			step.Change = newChange(newClusterBefore(before, there), result.Steps[i:i+1], asked)
		}
		step.Notes = append(step.Notes[:len(step.Notes):len(step.Notes)], cause.SuspendedJobs(before, result.Steps[i].State)...)
		step.addScaleIns(cause.ExplainScaleIns(before, result.Steps[i].State))
		there = podsByUID(result.Steps[i].State)
		if after := result.Steps[i].State; !slices.Equal(before.Nodes, after.Nodes) {
			step.Nodes = report.NewNodes(after.Nodes, levels)
		}
		before = result.Steps[i].State
		r.Steps = append(r.Steps, step)
	}
	report.OmitUnchanged(r.Steps, func(s *Step) *[]report.Declared { return &s.Declared })
	return r
}

// KeepStep leaves out all steps but the one of this name.
func (r *Report) KeepStep(name string) {
	at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Name == name })
	kept := r.Steps[at]
	for _, before := range r.Steps[:at+1] { // these are left out where they are the same as before
		if before.Nodes != nil {
			r.Nodes = before.Nodes
		}
		if before.Declared != nil {
			kept.Declared = before.Declared
		}
	}
	if at < len(r.Steps)-1 {
		r.Answer = "" // it is about the last step
	}
	r.Skipped, r.All = at, len(r.Steps)
	r.Steps = []Step{kept}
}

// AddCycles adds the verdicts of the plugins to the pods of the steps for which shows returns true. For thousands of pods this takes as
// long as recording the verdicts. New must have made the report of this result.
func (r *Report) AddCycles(result *simulation.Result, shows func(*Step) bool) {
	for i := range r.Steps {
		if !shows(&r.Steps[i]) {
			continue
		}
		pending, placed := map[types.NamespacedName]*placement.Pending{}, map[types.NamespacedName]*placement.Placement{}
		for j := range result.Steps[i].Pending {
			pending[cluster.NameOf(result.Steps[i].Pending[j].Pod)] = &result.Steps[i].Pending[j]
		}
		for j := range result.Steps[i].Placed {
			placed[cluster.NameOf(result.Steps[i].Placed[j].Pod)] = &result.Steps[i].Placed[j]
		}
		for j := range r.Steps[i].Pods {
			pod := &r.Steps[i].Pods[j]
			name := pod.Key()
			if p := placed[name]; p != nil {
				pod.Cycle = p.Cycle
			} else if p := pending[name]; p != nil && pod.Node == "" {
				pod.Cycle = p.Cycle
			}
		}
	}
}

// AddCauses adds to the Pending pods of each step why the scheduler refuses them. New must have made the report of the result in which
// cause.InRun found the causes.
func (r *Report) AddCauses(found []map[types.NamespacedName][]cause.Cause) {
	for i := range r.Steps {
		for j := range r.Steps[i].Pods {
			if pod := &r.Steps[i].Pods[j]; pod.Node == "" {
				pod.Causes = found[i][pod.Key()]
			}
		}
	}
}

// addScaleIns adds why scale-ins removed these pods and not others.
func (s *Step) addScaleIns(found []cause.ScaleIn) {
	s.ScaledIn = found
	for _, f := range found {
		s.Why = append(s.Why, f.Sentence)
	}
}

func newStep(step *simulation.Step, judged []expect.Judged, from *scenario.Scenario) Step {
	s := Step{Name: step.Name, Action: step.Action, Notes: step.Notes, Requested: requested(step.State), Expectations: judged,
		Declared: report.NewDeclared(step, from, nil)}
	view := newView(step, from.LevelKeys)
	placed := list.Map(step.Placed, func(p placement.Placement) *v1.Pod { return p.Pod })
	s.Notes = slices.Concat(s.Notes, cause.MissingDrivers(step.State, placed))
	s.TopologyKeys = view.keys
	s.Pods = view.pods()
	s.Workloads = view.workloads(s.Pods)
	for i := range s.Pods {
		if s.Pods[i].Status == statusTerminating {
			s.Summary.Terminating++
			continue
		}
		s.Summary.Pods++
		switch {
		case s.Pods[i].Node == "":
			s.Summary.Pending++
		case s.Pods[i].Status == string(v1.PodRunning):
			s.Summary.Running++
		default:
			s.Summary.NotReady++
		}
	}
	s.Summary.Placed, s.Summary.Preempted = len(step.Placed), len(step.Preempted)
	for _, p := range step.Preempted {
		s.Preempted = append(s.Preempted, NewPreemption(p))
	}
	s.PodGroups, s.Quotas, s.StorageCapacities = newPodGroups(step.State), newQuotas(step.State), newStorageCapacities(step.State)
	s.CronJobs = cronjob.All(step.State)
	s.Bindings = newBindings(step.Decisions)
	s.Refused = list.Map(step.Refused, func(r cluster.Refusal) Refused { return Refused{r, cause.ExplainDenial(step.State, r)} })
	for _, r := range s.Refused {
		s.Summary.NotCreated += r.Pods
	}
	for _, rollout := range step.Rollouts {
		if rollout.Stuck() {
			s.Rollouts = append(s.Rollouts, rollout)
		}
	}
	for _, d := range step.Drained {
		if !d.Ends {
			s.Drains = append(s.Drains, Drain{Node: d.Node, Stays: d.BlockingPods()})
		}
	}
	s.Held = step.Held
	if step.Autoscaling != nil {
		s.Autoscaling = step.Autoscaling.WithoutUnchangedGroups()
	}
	s.Decided = step.Record.Decided(step.State)
	specs, ruled := podSpecs(step.State), map[cluster.Ref]bool{}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if spec := specs[w.Ref]; spec != nil {
			w.Rules = newRules(spec)
		}
		ruled[w.Ref] = w.Rules != nil
		w.Source = report.FindSource(from, step.Name, w.Ref)
	}
	for i, because := range newWhy(step) {
		s.Why = append(s.Why, because.sentence)
		if because.left != nil {
			s.WhyLeft = append(s.WhyLeft, WhyLeft{Sentence: i, WorkloadRef: because.of.Workload(), Groups: because.left})
		}
		if ruled[because.of] {
			s.WhyRules = append(s.WhyRules, WhyRule{Sentence: i, WorkloadRef: because.of.Workload(), Paths: because.rules})
		}
	}
	return s
}

// view is the state after a step, indexed.
type view struct {
	step    *simulation.Step
	keys    []string // the topology keys that the pods' rules mention, widest first
	levels  []string // the topology keys whose distribution is shown, keys among them
	nodes   map[string]*v1.Node
	domains map[string][]topology.Domain // by topology key, for all workloads
	owner   func(*v1.Pod) cluster.Ref
	claims  report.Claims
	placed  map[types.UID]*placement.Placement
	pending map[types.UID]*placement.Pending
}

func newView(step *simulation.Step, levelKeys []string) *view {
	v := &view{
		step:    step,
		nodes:   step.State.NodesByName(),
		claims:  report.IndexClaims(step.State),
		domains: map[string][]topology.Domain{},
		owner:   step.State.Owners(),
		placed:  make(map[types.UID]*placement.Placement, len(step.Placed)),
		pending: make(map[types.UID]*placement.Pending, len(step.Pending)),
	}
	for i := range step.Placed {
		v.placed[step.Placed[i].Pod.UID] = &step.Placed[i]
	}
	for i := range step.Pending {
		v.pending[step.Pending[i].Pod.UID] = &step.Pending[i]
	}
	v.keys = topologyKeys(step.State)
	v.levels = v.shownLevels(levelKeys)
	return v
}

// shownLevels returns the keys of the rules, and the wider levels that have several domains. Without rules it returns all levels.
func (v *view) shownLevels(levelKeys []string) []string {
	all := topology.Levels(v.step.State.Nodes, levelKeys...)
	if len(v.keys) == 0 {
		return all
	}
	var wider []string
	for _, key := range all {
		if domains, _ := topology.Domains(v.step.State.Nodes, key); key != v1.LabelHostname && len(domains) > 1 && !slices.Contains(v.keys, key) {
			wider = append(wider, key)
		}
	}
	return append(wider, v.keys...)
}

// pods returns the pods, grouped by workload in order of arrival.
func (v *view) pods() []Pod {
	order := map[cluster.Ref]int{}
	var live []*v1.Pod
	for _, pod := range v.step.State.Pods {
		if cluster.IsTerminal(pod) {
			continue
		}
		live = append(live, pod)
		// A pod without an owner is its own owner here, so that such pods stay in order of arrival.
		if o := v.owner(pod); order[o] == 0 {
			order[o] = len(order) + 1
		}
	}
	slices.SortStableFunc(live, func(a, b *v1.Pod) int { return cmp.Compare(order[v.owner(a)], order[v.owner(b)]) })
	pods := make([]Pod, 0, len(live))
	for _, pod := range live {
		pods = append(pods, v.pod(pod))
	}
	return pods
}

// Values of kubectl's STATUS column that are not phases of a pod.
const (
	statusGated       = v1.PodReasonSchedulingGated
	statusTerminating = "Terminating"
)

func (v *view) pod(pod *v1.Pod) Pod {
	p := Pod{
		PodRef: cluster.NewPodRef(pod, v.owner(pod)),
		Status: string(v1.PodPending),
		Ready:  fmt.Sprintf("0/%d", len(pod.Spec.Containers)),
		Node:   pod.Spec.NodeName,
		Claims: v.claims.ForPod(pod),
	}
	if p.Workload == "" {
		p.Labels = cluster.OwnLabels(pod)
	}
	if node := v.nodes[pod.Spec.NodeName]; node != nil {
		for _, key := range v.keys {
			if value, found := node.Labels[key]; found {
				if p.Topology == nil {
					p.Topology = map[string]string{}
				}
				p.Topology[key] = value
			}
		}
	}
	switch {
	case pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) > 0:
		p.Status = statusGated
		p.Gates = list.Map(pod.Spec.SchedulingGates, func(gate v1.PodSchedulingGate) string { return gate.Name })
	case pod.Spec.NodeName != "" && pod.DeletionTimestamp != nil:
		p.Status = statusTerminating
	case pod.Spec.NodeName != "" && notReady(pod):
		p.Status = "NotReady"
		p.Waits, p.Message = cluster.WaitsForVolume(pod), cluster.AttachEvent(pod)
	case pod.Spec.NodeName != "":
		p.Status = string(v1.PodRunning)
		p.Ready = fmt.Sprintf("%d/%[1]d", len(pod.Spec.Containers))
	}
	if pending := v.pending[pod.UID]; pending != nil && pod.Spec.NodeName == "" {
		p.Wait, p.Nominated, p.Reasons = pending.Wait(), pending.Nominated, pending.Reasons
	}
	if placed := v.placed[pod.UID]; placed != nil {
		p.Decision = &placed.Decision
	}
	return p
}

// notReady reports whether the pod's Ready condition is not True. A pod of a manifest that already has a node may have no such condition.
func notReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status != v1.ConditionTrue
	})
}

// workloads sums up the pods by owner. A pod without an owner is a workload of its own.
func (v *view) workloads(pods []Pod) []Workload {
	wanted := v.step.State.Desired()
	notCreated := map[cluster.Ref][]string{}
	for _, rollout := range v.step.Rollouts {
		notCreated[rollout.Ref] = rollout.NotCreated
	}
	var workloads []*Workload
	index := map[cluster.Ref]*Workload{}
	nodes := map[cluster.Ref][]string{}
	sample := map[cluster.Ref]*v1.Pod{}
	add := func(o cluster.Ref) *Workload {
		w := index[o]
		if w == nil {
			w = &Workload{Ref: o, NotCreated: notCreated[o]}
			index[o] = w
			workloads = append(workloads, w)
		}
		return w
	}
	byName := list.IndexBy(v.step.State.Pods, func(pod *v1.Pod) types.NamespacedName { return cluster.NameOf(pod) })
	for i := range pods {
		pod := byName[pods[i].Key()]
		o := v.owner(pod)
		w := add(o)
		sample[o] = pod
		if pods[i].Status == statusTerminating {
			continue // its controller no longer counts it
		}
		w.Desired++
		if pods[i].Node == "" {
			w.Pending++
			continue
		}
		w.Running++
		nodes[o] = append(nodes[o], pods[i].Node)
	}
	for _, o := range slices.SortedFunc(maps.Keys(wanted), cluster.Ref.Compare) {
		add(o).Desired = wanted[o]
	}
	summed := make([]Workload, len(workloads))
	for i, w := range workloads {
		w.Domains = list.Map(v.levels, func(key string) Distribution { return v.distribution(key, nodes[w.Ref], sample[w.Ref]) })
		summed[i] = *w
	}
	return summed
}

// distribution counts the pods on these nodes by domain. See metric.Count for the domains that count as empty.
func (v *view) distribution(key string, nodes []string, pod *v1.Pod) Distribution {
	d := Distribution{TopologyKey: key}
	onNode := map[string]int{}
	for _, name := range nodes {
		if node := v.nodes[name]; node != nil {
			if _, found := node.Labels[key]; found {
				onNode[name]++
				continue
			}
		}
		d.Unlabelled++
	}
	domains, found := v.domains[key]
	if !found {
		domains, _ = topology.Domains(v.step.State.Nodes, key)
		v.domains[key] = domains
	}
	var counts []metric.DomainPods
	counts, d.Skew = metric.CountByDomain(domains, onNode, pod)
	for _, c := range counts {
		if c.Pods == 0 {
			d.Empty++
		} else {
			d.Counts = append(d.Counts, Count(c))
		}
	}
	return d
}

// topologyKeys returns the keys by which the pods' rules spread or gather them, in the order of topology.Levels. Keys that are no level
// come last.
func topologyKeys(state *cluster.State) []string {
	var keys []string
	add := func(key string) {
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, pod := range state.Pods {
		rules := rule.List(&pod.Spec)
		for _, r := range rules { // spread constraints first
			if r.Kind == rule.Spread {
				add(r.TopologyKey)
			}
		}
		for _, r := range rules {
			add(r.TopologyKey)
		}
	}
	levels := topology.Levels(state.Nodes, keys...)
	slices.SortStableFunc(keys, func(a, b string) int {
		return cmp.Compare(levelRank(levels, a), levelRank(levels, b))
	})
	return keys
}

func levelRank(levels []string, key string) int {
	if i := slices.Index(levels, key); i >= 0 {
		return i
	}
	return len(levels)
}
