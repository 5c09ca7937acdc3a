package blast

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Lost counts what the failure of each domain of each level takes, or of each set of opts.Simultaneous domains. It reads the state alone,
// and replaces nothing.
//
// A pod counts if it is active, ready or not, and its node is in the state and answers. Pods of DaemonSets, bare pods and static pods live
// and die with one node. They count in Failure.Pods, but not as workloads that lose: each failure would take all of the one pod, or the
// share of the failed nodes.
//
// The state must be settled, as world.World.Settle leaves it: Lost reads from the status of a budget whether it is met, and the disruption
// controller fills that status in. A budget with an empty status, or one that could not be computed, asks for no healthy pod and so is
// never broken.
//
// The error lists the levels that no node has, the levels of opts.Levels with fewer domains than fail at once, the domains of opts.Together
// that do not exist, and the invalid quorums. Any other level with too few domains has no failures, and its Search says why; if that is
// true of every level, it is an error.
func Lost(state *cluster.State, opts Options) (*Analysis, error) {
	quorum, err := Quorums(state, opts.Quorum)
	problems := []error{err}
	opts.Together = slices.Compact(slices.Sorted(slices.Values(opts.Together)))
	if len(opts.Together) > 0 {
		opts.Simultaneous = len(opts.Together)
	}
	if opts.Simultaneous < 1 {
		problems = append(problems, fmt.Errorf("simultaneous failures: must be at least 1, not %d", opts.Simultaneous))
	}
	found := topology.Levels(state.Nodes, opts.LevelKeys...)
	var keys []string
	for _, word := range opts.Levels {
		if key := topology.ResolveKey(state.Nodes, word); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		keys = found
	}
	held := newContents(state, quorum, opts.Only)
	analysis := &Analysis{Workloads: len(held.workloads), NotRunning: held.notRunning(state, opts.Only)}
	for _, w := range held.workloads {
		if w.replicas == 1 {
			analysis.OneReplica = append(analysis.OneReplica, w.owner.Qualified())
		}
	}
	most := 0
	for _, key := range keys {
		domains, unlabelled := topology.Domains(state.Nodes, key)
		most = max(most, len(domains))
		level := Level{TopologyKey: key, Domains: len(domains)}
		level.Unlabelled = list.Map(unlabelled, func(node *v1.Node) string { return node.Name })
		switch named := len(opts.Levels) > 0; {
		case len(domains) == 0:
			problems = append(problems, fmt.Errorf("level %s: no node has this label; give a label of the nodes%s", key, suggestLevels(found)))
		case len(opts.Together) > 0:
			set, err := indexDomains(key, domains, opts.Together)
			if err != nil {
				problems = append(problems, err)
				break
			}
			held.addFailures(&level, domains, len(set), set)
		case len(domains) < opts.Simultaneous && named:
			problems = append(problems, fmt.Errorf("level %s: %d domains cannot fail at once, since there are only %d; let fewer fail, or leave the level out",
				key, opts.Simultaneous, len(domains)))
		case len(domains) < opts.Simultaneous:
			level.Search = fmt.Sprintf("not looked at: %d domains cannot fail together where there are %d", opts.Simultaneous, len(domains))
		case opts.Simultaneous >= 1:
			if base, value, is := topology.SplitValue(key); is { // the key names one domain, and only that one fails
				all, _ := topology.Domains(state.Nodes, base)
				held.addFailures(&level, all, 1, []int{slices.IndexFunc(all, func(d topology.Domain) bool { return d.Value == value })})
				break
			}
			held.addFailures(&level, domains, opts.Simultaneous, nil)
		}
		analysis.Levels = append(analysis.Levels, level)
	}
	if len(opts.Levels) == 0 && len(keys) > 0 && most < opts.Simultaneous {
		problems = append(problems, fmt.Errorf("simultaneous failures: no level has %d domains; give at most %d", opts.Simultaneous, most))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return analysis, nil
}

// indexDomains returns the indexes of the named domains of a level, sorted. The error lists the names that are not among the domains.
func indexDomains(key string, domains []topology.Domain, names []string) (set []int, err error) {
	at := make(map[string]int, len(domains))
	values := make([]string, len(domains))
	for i := range domains {
		at[domains[i].Value], values[i] = i, domains[i].Value
	}
	var problems []error
	for _, name := range names {
		i, found := at[name]
		if !found {
			problems = append(problems, fmt.Errorf("level %s: there is no domain %q; %s", key, name, scenario.ListChoices(name, values)))
		}
		set = append(set, i)
	}
	slices.Sort(set)
	return set, errors.Join(problems...)
}

// suggestLevels lists the levels of the nodes, for an error message.
func suggestLevels(levels []string) string {
	if len(levels) == 0 {
		return ""
	}
	return ", such as " + strings.Join(levels, ", ")
}

// contents is what the nodes of a cluster contain, indexed once for all levels.
type contents struct {
	pods        map[string][]runningPod // by node
	podCount    int                     // number of pods
	nodeCount   int
	workloads   []knownWorkload
	budgets     []budget
	cpu, memory float64 // allocatable resources of all nodes
	federation  *cluster.Federation
}

type runningPod struct {
	name     string
	workload int // index in contents.workloads, or -1
	budgets  []int
	healthy  bool
	// awaitsVolume means that the pod has not started, since its volume is attached to another node.
	awaitsVolume bool
}

// knownWorkload is a workload, and what is known about it before anything fails.
type knownWorkload struct {
	owner            cluster.Ref
	replicas, quorum int
	awaitingVolume   int // number of replicas that wait for a volume
	sample           *v1.Pod
	clusters         map[string]int // in a federation, the number of its pods in each cluster
	// copyQuorums has the quorum of each cluster's copy if each copy votes by itself; see [copyQuorumsOf].
	copyQuorums map[string]int
}

func newContents(state *cluster.State, quorum map[cluster.Ref]int, only map[cluster.Ref]bool) *contents {
	c := &contents{pods: make(map[string][]runningPod, len(state.Nodes)), nodeCount: len(state.Nodes), federation: state.Federation}
	silent := map[string]bool{}
	for _, node := range state.Nodes {
		c.pods[node.Name] = nil
		silent[node.Name] = !cluster.KubeletResponds(node)
		cpu, memory := allocatable(node)
		c.cpu += cpu
		c.memory += memory
	}
	budgets, covering := indexBudgets(state)
	c.budgets = budgets
	owner, position, apart := state.Owners(), map[cluster.Ref]int{}, copyQuorumsOf(state, quorum)
	for _, pod := range state.Pods {
		on, known := c.pods[pod.Spec.NodeName]
		if !known || !cluster.IsActive(pod) || silent[pod.Spec.NodeName] {
			continue // a terminating pod, or one whose node failed before, is already lost
		}
		r := runningPod{name: pod.Name, workload: -1, budgets: covering(pod), healthy: isHealthy(pod), awaitsVolume: cluster.WaitsForVolume(pod) != ""}
		o := owner(pod)
		reported := only == nil || only[o]
		if reported {
			for _, b := range r.budgets {
				c.budgets[b].reported = true
			}
		}
		if reported && !belongsToNode(o) {
			i, seen := position[o]
			if !seen {
				i = len(c.workloads)
				position[o] = i
				c.workloads = append(c.workloads, knownWorkload{owner: o, quorum: quorum[o], sample: pod, clusters: map[string]int{}, copyQuorums: apart[o]})
			}
			if in := pod.Labels[cluster.MemberLabel]; c.federation != nil {
				c.workloads[i].clusters[in]++
			}
			c.workloads[i].replicas++
			if r.awaitsVolume {
				c.workloads[i].awaitingVolume++
			}
			r.workload = i
		}
		c.pods[pod.Spec.NodeName] = append(on, r)
		c.podCount++
	}
	return c
}

// NotRunning returns the names of the workloads that have no running pod, but pods that wait for a node, as in [Analysis].
func NotRunning(state *cluster.State) []string {
	return newContents(state, nil, nil).notRunning(state, nil)
}

// notRunning returns the names of the workloads that have no running pod, but pods that wait for a node.
func (c *contents) notRunning(state *cluster.State, only map[cluster.Ref]bool) (names []string) {
	seen := list.KeySet(c.workloads, func(w knownWorkload) cluster.Ref { return w.owner })
	owner := state.Owners()
	for _, pod := range state.Pods {
		if !cluster.IsUnscheduled(pod) {
			continue
		}
		if o := owner(pod); !seen[o] && !belongsToNode(o) && (only == nil || only[o]) {
			seen[o] = true
			names = append(names, o.Qualified())
		}
	}
	return names
}

// belongsToNode reports whether the owner's pods live and die with their node. The owner of a static pod is the Node.
func belongsToNode(o cluster.Ref) bool {
	return o.Kind == "DaemonSet" || o.Kind == "Pod" || o.Kind == "Node"
}

func allocatable(node *v1.Node) (cpu, memory float64) {
	return float64(node.Status.Allocatable.Cpu().MilliValue()), float64(node.Status.Allocatable.Memory().Value())
}

// domain is what one domain of a level contains.
type domain struct {
	value       string
	nodes       []string
	pods        int
	workloads   []workloadPart
	healthy     map[int]int // healthy pods by budget that covers them
	cpu, memory float64
}

// workloadPart is the pods of one workload in one domain.
type workloadPart struct {
	workload       int
	pods           []string
	awaitingVolume int   // number of pods that wait for a volume
	budgets        []int // budgets that cover one of the pods
}

func (c *contents) indexDomain(from topology.Domain) domain {
	d := domain{value: from.Value, healthy: map[int]int{}}
	position := map[int]int{}
	for _, node := range from.Nodes {
		d.nodes = append(d.nodes, node.Name)
		cpu, memory := allocatable(node)
		d.cpu += cpu
		d.memory += memory
		d.pods += len(c.pods[node.Name])
		for _, pod := range c.pods[node.Name] {
			if pod.healthy {
				for _, b := range pod.budgets {
					d.healthy[b]++
				}
			}
			if pod.workload < 0 {
				continue
			}
			i, seen := position[pod.workload]
			if !seen {
				i = len(d.workloads)
				position[pod.workload] = i
				d.workloads = append(d.workloads, workloadPart{workload: pod.workload})
			}
			p := &d.workloads[i]
			p.pods = append(p.pods, pod.name)
			if pod.awaitsVolume {
				p.awaitingVolume++
			}
			for _, b := range pod.budgets {
				if !slices.Contains(p.budgets, b) {
					p.budgets = append(p.budgets, b)
				}
			}
		}
	}
	return d
}

// addFailures adds to the level the failures of all sets of that many domains, or only the failure of the one set, and what they take.
func (c *contents) addFailures(level *Level, of []topology.Domain, simultaneous int, one []int) {
	domains := make([]domain, len(of))
	for i := range of {
		domains[i] = c.indexDomain(of[i])
	}
	sets, search := [][]int{one}, ""
	if one == nil {
		sets, search = c.selectSets(domains, simultaneous)
	}
	level.Search = search
	evens := c.evenLosses(of, domains, simultaneous)
	var largest, replicated, excess firstLoss
	shares := make([]float64, len(sets))
	for i, set := range sets {
		failure := c.sumFailure(domains, set, evens)
		level.Failures = append(level.Failures, failure)
		shares[i] = failure.Share()
		for k := range failure.Workloads {
			loss := &failure.Workloads[k]
			if k == 0 {
				largest.keepFirst(loss, failure.Domains, compareLosses)
			}
			if loss.Replicas > 1 {
				replicated.keepFirst(loss, failure.Domains, compareLosses)
				if loss.Lost > loss.Even {
					excess.keepFirst(loss, failure.Domains, compareExcess)
				}
			}
		}
	}
	level.Radius, level.Replicated = largest.radius(), replicated.radius()
	if e := excess.Loss; e != nil {
		level.Excess = &Excess{Share: e.excessShare(), WorkloadRef: e.Ref.Workload(), Lost: e.Lost, Even: e.Even, Replicas: e.Replicas, Domains: excess.domains}
	}
	if search != "" {
		return // the worst sets say nothing about a typical one
	}
	level.Mean = new(float64)
	for _, share := range shares {
		*level.Mean += share
	}
	*level.Mean /= float64(len(sets))
	slices.Sort(shares)
	for i, share := range shares {
		if i == 0 || share != shares[i-1] {
			level.Shares = append(level.Shares, Share{Share: share})
		}
		level.Shares[len(level.Shares)-1].Failures++
	}
}

// firstLoss is the first loss in some order, and the domains whose failure causes it. Its Loss is nil until it takes one.
type firstLoss struct {
	*Loss
	domains []string
}

func (w *firstLoss) keepFirst(loss *Loss, domains []string, order func(a, b *Loss) int) {
	if w.Loss == nil || order(loss, w.Loss) < 0 {
		*w = firstLoss{loss, domains}
	}
}

func (w *firstLoss) radius() Radius {
	if w.Loss == nil {
		return Radius{}
	}
	return Radius{Share: w.Share(), Namespace: w.Namespace, Workload: w.Ref.String(), Lost: w.Lost, Replicas: w.Replicas, Domains: w.domains}
}

// compareExcess puts the loss that exceeds an even spread the most first; among equal losses, the first workload.
func compareExcess(a, b *Loss) int {
	return cmp.Or(cmp.Compare(b.excessShare(), a.excessShare()), cmp.Compare(b.Lost-b.Even, a.Lost-a.Even), a.Ref.Compare(b.Ref))
}

// sumFailure adds up what the domains of a set contain. They share no node, and so no pod. evens are the numbers of replicas that each
// workload would lose if it were spread evenly.
func (c *contents) sumFailure(domains []domain, set, evens []int) Failure {
	var f Failure
	var cpu, memory float64
	var parts [][]string // the lost pods of each workload
	position, lostHealthy := map[int]int{}, map[int]int{}
	var waiting []int // of the lost pods of each workload, how many wait for a volume
	for _, i := range set {
		d := &domains[i]
		f.Domains = append(f.Domains, d.value)
		f.Nodes = append(f.Nodes, d.nodes...)
		f.Pods += d.pods
		cpu += d.cpu
		memory += d.memory
		for _, part := range d.workloads {
			at, seen := position[part.workload]
			if !seen {
				at = len(f.Workloads)
				position[part.workload] = at
				w := c.workloads[part.workload]
				f.Workloads = append(f.Workloads, Loss{Ref: w.owner, Replicas: w.replicas, Even: evens[part.workload], Quorum: w.quorum})
				parts, waiting = append(parts, nil), append(waiting, 0)
			}
			parts[at] = append(parts[at], part.pods...)
			waiting[at] += part.awaitingVolume
			loss := &f.Workloads[at]
			loss.Lost += len(part.pods)
			if len(part.pods) > 1 {
				loss.SharedFate = append(loss.SharedFate, part.pods...)
			}
		}
		for b, pods := range d.healthy {
			lostHealthy[b] += pods
		}
	}
	if c.cpu > 0 {
		f.CPU = cpu / c.cpu
	}
	if c.memory > 0 {
		f.Memory = memory / c.memory
	}
	for _, b := range slices.Sorted(maps.Keys(lostHealthy)) {
		budget := &c.budgets[b]
		if !budget.reported || !budget.breaks(lostHealthy[b]) {
			continue
		}
		f.BrokenBudgets = append(f.BrokenBudgets, budget.namespace+"/"+budget.name)
		for _, i := range set {
			for _, part := range domains[i].workloads {
				loss := &f.Workloads[position[part.workload]]
				if slices.Contains(part.budgets, b) && !slices.Contains(loss.BrokenBudgets, budget.name) {
					loss.BrokenBudgets = append(loss.BrokenBudgets, budget.name)
				}
			}
		}
	}
	for workload, i := range position {
		loss := &f.Workloads[i]
		w := &c.workloads[workload]
		loss.Gone = loss.TakesAll()
		started, left := loss.Replicas-w.awaitingVolume, loss.Survivors()-(w.awaitingVolume-waiting[i])
		loss.QuorumLost = started >= loss.Quorum && left < loss.Quorum
		if w.copyQuorums != nil {
			loss.Quorum, loss.QuorumLost = w.lostCopyQuorum(parts[i])
		}
	}
	slices.SortFunc(f.Workloads, func(a, b Loss) int { return compareLosses(&a, &b) })
	return f
}

// compareLosses sorts by share, then by lost pods, both descending, then by the workload's namespace, kind and name.
func compareLosses(a, b *Loss) int {
	return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Lost, a.Lost), a.Ref.Compare(b.Ref))
}
