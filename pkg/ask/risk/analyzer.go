package risk

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/stats"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// level is a [Level] with the domain of each node.
type level struct {
	Level
	domainOf map[string]int // the index of the domain, by the node's name; without nodes that lack the label
}

// buildLevels finds the domains of each level, and the names of the nodes.
func buildLevels(nodes []*v1.Node, rates scenario.Rates) (levels []level, names map[string]bool) {
	names = make(map[string]bool, len(nodes))
	for _, node := range nodes {
		names[node.Name] = true
	}
	for _, key := range rates.Keys() {
		rate := rates.ForKey(key)
		perHour, _ := rate.PerHour()
		hours, _ := rate.Hours()
		l := level{
			Level: Level{
				TopologyKey: key, FailuresPerYear: perHour * scenario.HoursPerYear, RecoveryHours: hours, Unavailability: rate.Unavailability(),
			},
			domainOf: make(map[string]int, len(nodes)),
		}
		if key == v1.LabelHostname {
			l.Domains = len(nodes)
			for i, node := range nodes {
				l.domainOf[node.Name] = i
			}
		} else {
			domains, unlabelled := topology.Domains(nodes, key)
			l.Domains, l.Unlabelled = len(domains), len(unlabelled)
			for i, domain := range domains {
				for _, node := range domain.Nodes {
					l.domainOf[node.Name] = i
				}
			}
		}
		levels = append(levels, l)
	}
	return levels, names
}

// analyzer fills in an Analysis.
type analyzer struct {
	*Analysis
	levels []level
	nodes  map[string]bool
	opts   Options

	workloadIndices map[cluster.Ref]int // index in Workloads and in outcomes
	distributions   []downDistribution
}

// downDistribution is the distribution of the number of pods down: probabilities if it is exact, otherwise numbers of trials.
type downDistribution struct {
	method Method
	exact  []float64
	counts []int
}

func (a *analyzer) analyzeWorkloads(ctx context.Context, state *cluster.State) error {
	owner, pods := state.Owners(), [][]*v1.Pod{}
	for _, pod := range state.Pods {
		if !countsAsReplica(pod) {
			continue
		}
		i := a.workloadIndex(owner(pod))
		if i == len(pods) {
			pods = append(pods, nil)
		}
		pods[i] = append(pods[i], pod)
	}
	for _, missing := range sortedOwners(a.opts.Quorum) {
		if i := a.workloadIndex(missing); i == len(pods) {
			pods = append(pods, nil)
		}
	}
	for i := range a.Workloads {
		w, exposed := &a.Workloads[i], a.newExposure(pods[i])
		found, err := a.computeDistribution(ctx, exposed)
		if err != nil {
			return err
		}
		a.distributions = append(a.distributions, found)
		w.Replicas, w.Down = len(pods[i]), exposed.alwaysDown
		w.Method = found.method
		w.AllUp, w.AllDown = found.probabilityBetween(0, 0), found.probabilityBetween(w.Replicas, w.Replicas)
		if w.Quorum = a.opts.Quorum[w.Ref]; w.Quorum > 0 {
			w.BelowQuorum = ptr.To(found.probabilityBetween(w.Replicas-w.Quorum+1, w.Replicas))
		}
		w.ExpectedDown = exposed.expectedDown()
	}
	return nil
}

// workloadIndex returns the index of the workload, which it appends if it is new.
func (a *analyzer) workloadIndex(owner cluster.Ref) int {
	i, found := a.workloadIndices[owner]
	if !found {
		i = len(a.Workloads)
		a.workloadIndices[owner] = i
		a.Workloads = append(a.Workloads, Workload{Ref: owner})
	}
	return i
}

// countsAsReplica reports whether the pod counts as a replica. A Terminating pod does not, since its replacement counts already, unless it belongs
// to a StatefulSet, which creates no replacement before the pod is gone.
func countsAsReplica(pod *v1.Pod) bool {
	if cluster.IsTerminal(pod) {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	return pod.DeletionTimestamp == nil || ref != nil && ref.Kind == "StatefulSet"
}

// newExposure returns the nodes and domains whose failure takes pods down.
func (a *analyzer) newExposure(pods []*v1.Pod) *exposure {
	e := &exposure{}
	at := map[string]int{}
	var nodes []string
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if !a.nodes[name] || pod.DeletionTimestamp != nil || !podutil.IsPodReady(pod) {
			e.alwaysDown++
			continue
		}
		i, found := at[name]
		if !found {
			i = len(nodes)
			at[name] = i
			nodes = append(nodes, name)
			e.pods = append(e.pods, 0)
		}
		e.pods[i]++
	}
	for _, level := range a.levels {
		exposed := exposedLevel{unavailability: level.Unavailability}
		at := map[int]int{}
		for i, name := range nodes {
			domain, labelled := level.domainOf[name]
			if !labelled {
				continue
			}
			j, found := at[domain]
			if !found {
				j = len(exposed.domains)
				at[domain] = j
				exposed.domains = append(exposed.domains, nil)
			}
			exposed.domains[j] = append(exposed.domains[j], i)
		}
		e.levels = append(e.levels, exposed)
	}
	return e
}

func (a *analyzer) computeDistribution(ctx context.Context, e *exposure) (downDistribution, error) {
	if err := ctx.Err(); err != nil {
		return downDistribution{}, err
	}
	if !a.opts.TrialsOnly {
		if exact, nested := e.exactDistribution(); nested {
			return downDistribution{method: Exact, exact: exact}, nil
		}
	}
	counts, err := e.countTrials(ctx, a.Trials, a.Seed, a.opts.Workers)
	return downDistribution{method: Trials, counts: counts}, err
}

// probabilityBetween returns the probability that at least from and at most to pods are down.
func (o downDistribution) probabilityBetween(from, to int) Probability {
	value, low, high := o.shareBetween(max(from, 0), min(to, max(len(o.exact), len(o.counts))-1))
	p := Probability{Value: value, HoursPerYear: value * scenario.HoursPerYear}
	if o.method == Trials {
		p.Low, p.High = &low, &high
	}
	return p
}

// shareBetween returns a probability and the bounds of its interval.
func (o downDistribution) shareBetween(from, to int) (value, low, high float64) {
	switch most := max(len(o.exact), len(o.counts)) - 1; {
	case from > to:
		return 0, 0, 0
	case from == 0 && to == most:
		return 1, 1, 1
	case o.method == Exact:
		for i := to; i >= from; i-- { // the small probabilities first, for precision
			value += o.exact[i]
		}
		value = min(value, 1)
		return value, value, value
	}
	var p stats.Proportion
	for down, count := range o.counts {
		p.N += count
		if from <= down && down <= to {
			p.Successes += count
		}
	}
	low, high = p.Wilson(confidence)
	return p.Value(), low, high
}

// listAssumptions lists what the figures depend on.
func (a *Analysis) listAssumptions(nodes int) []string {
	say := []string{
		"Each domain fails independently of the others at a constant rate, and is down for the mean recovery time of its level; what fails together is a wider domain.",
		"The placement stays: no lost pod is replaced elsewhere, so the probabilities and times below budget and quorum are upper bounds.",
		"Nothing fails but the domains of the given levels: not the software, its rollouts, the control plane, networks or storage.",
	}
	if !slices.ContainsFunc(a.Levels, func(l Level) bool { return l.TopologyKey == v1.LabelHostname }) {
		say = append(say, "No rate is given for nodes, so none fails by itself.")
	}
	for _, level := range a.Levels {
		if level.Unlabelled > 0 {
			say = append(say, fmt.Sprintf("Nodes without the label %s do not fail at that level: %d of %d.", level.TopologyKey, level.Unlabelled, nodes))
		}
	}
	down, trials := 0, false
	for _, w := range a.Workloads {
		down += w.Down
		trials = trials || w.usesTrials()
	}
	if down > 0 {
		say = append(say, fmt.Sprintf("Replicas that are Pending or not ready now stay down: %d.", down))
	}
	if trials {
		say = append(say, fmt.Sprintf("Probabilities with an interval were counted in %d trials with seed %d, and the interval has a confidence of %.0f %%; "+
			"what happens less often than once in that many trials is bounded, not measured.", a.Trials, a.Seed, 100*confidence))
	}
	return say
}
