package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Changes of names in the pod's spec that the cluster knows by other values: a label of nodes, a scheduler, a port of the host.

// selectPresent returns the attempts that let the pod's node selector and required affinity ask for a label that nodes have, where no node has the
// label that they ask for, or where no node has all of them: another value, or a bound that a node meets. A value that says what a node is stays as it
// is: an image for amd64 does not run on arm64.
func (p *pendingPod) selectPresent() []attempt {
	if p.spec == nil || !p.refusedBy("NodeAffinity") {
		return nil
	}
	attempts := list.Map(p.askForEither(), p.attemptOne)
	for _, want := range p.wantedLabels() {
		attempts = append(attempts, p.attemptFirst(p.askForValues(want))...)
	}
	return append(attempts, list.Map(p.moveBounds(), p.attemptOne)...)
}

// askForEither returns the changes that join two expressions of a term of the pod's required affinity which want different values of one label: both
// must be met, so that no node is enough, and one expression with both values was meant.
func (p *pendingPod) askForEither() []candidate {
	var all []candidate
	for i, term := range cluster.RequiredTerms(p.spec) {
		first := map[string]int{}
		for j, r := range term.MatchExpressions {
			at, twice := first[r.Key]
			switch {
			case r.Operator != v1.NodeSelectorOpIn:
				continue
			case !twice:
				first[r.Key] = j
				continue
			}
			either := list.Distinct(slices.Concat(term.MatchExpressions[at].Values, r.Values))
			all = append(all, candidate{change: fmt.Sprintf("ask for nodes with %s %s in one expression (now two, which must both be met)", r.Key, words.Or(either)), edit: func(spec *v1.PodSpec) {
				term := &cluster.RequiredTerms(spec)[i]
				term.MatchExpressions[at].Values = either
				term.MatchExpressions = slices.Delete(term.MatchExpressions, j, j+1)
			}})
		}
	}
	return all
}

// moveBounds returns the changes of bounds of the pod's required affinity (Gt, Lt) that no node meets: the nearest bound that a node does. With nodes
// of 8 and 16 cores, cores>16 becomes cores>15.
func (p *pendingPod) moveBounds() []candidate {
	var all []candidate
	for i, term := range cluster.RequiredTerms(p.spec) {
		for j, r := range term.MatchExpressions {
			bound, err := strconv.ParseInt(strings.Join(r.Values, ","), 10, 64)
			values := p.numbersOf(r.Key)
			if err != nil || len(values) == 0 {
				continue
			}
			sign, nearest, to := "", int64(0), int64(0)
			switch least, most := slices.Min(values), slices.Max(values); {
			case r.Operator == v1.NodeSelectorOpGt && most <= bound:
				sign, nearest, to = ">", most, most-1
			case r.Operator == v1.NodeSelectorOpLt && least >= bound:
				sign, nearest, to = "<", least, least+1
			default:
				continue
			}
			all = append(all, candidate{
				change: fmt.Sprintf("ask for nodes with %s%s%d (now %s%d): the nearest value there is %d", r.Key, sign, to, sign, bound, nearest),
				edit: func(spec *v1.PodSpec) {
					cluster.RequiredTerms(spec)[i].MatchExpressions[j].Values = []string{strconv.FormatInt(to, 10)}
				}})
		}
	}
	return all
}

// selectSimilar returns the attempts that let the pod ask for a similar key that nodes have, where no node has the key that it asks for: one of both
// is a mistake.
func (p *pendingPod) selectSimilar() []attempt {
	if p.spec == nil || !p.refusedBy("NodeAffinity") {
		return nil
	}
	var attempts []attempt
	for _, want := range p.wantedLabels() {
		attempts = append(attempts, p.attemptFirst(p.askForKeys(want))...)
	}
	return attempts
}

// wantedLabel is a label that the pod's node selector or required affinity asks of a node.
type wantedLabel struct {
	key    string
	values []string
	edit   func(spec *v1.PodSpec, key, value string)
}

func (p *pendingPod) wantedLabels() []wantedLabel {
	var all []wantedLabel
	for _, key := range slices.Sorted(maps.Keys(p.spec.NodeSelector)) {
		all = append(all, wantedLabel{key, []string{p.spec.NodeSelector[key]}, func(spec *v1.PodSpec, is, value string) {
			delete(spec.NodeSelector, key)
			spec.NodeSelector[is] = value
		}})
	}
	for i, term := range cluster.RequiredTerms(p.spec) {
		for j, r := range term.MatchExpressions {
			if r.Operator != v1.NodeSelectorOpIn {
				continue
			}
			all = append(all, wantedLabel{r.Key, r.Values, func(spec *v1.PodSpec, is, value string) {
				expression := &cluster.RequiredTerms(spec)[i].MatchExpressions[j]
				expression.Key, expression.Values = is, []string{value}
			}})
		}
	}
	return all
}

// askForValues returns the changes that ask for another value of the label.
func (p *pendingPod) askForValues(want wantedLabel) []candidate {
	if want.key == v1.LabelHostname {
		return p.askForHostnames(want)
	}
	values := slices.DeleteFunc(p.valuesOf(want.key), func(value string) bool { return slices.Contains(want.values, value) })
	present := len(values) < len(p.valuesOf(want.key))
	if strings.HasPrefix(want.key, "kubernetes.io/") || strings.HasPrefix(want.key, "beta.kubernetes.io/") || len(values) > maxPerDomain || present && len(p.matchingNodes()) > 0 {
		return nil
	}
	return list.Map(values, func(value string) candidate {
		return candidate{change: fmt.Sprintf("ask for nodes with %s=%s (now %s)", want.key, value, words.Or(want.values)), edit: func(spec *v1.PodSpec) { want.edit(spec, want.key, value) }}
	})
}

// askForHostnames returns the changes that ask for the hostname of a node, where the pod asks for its name, which differs.
func (p *pendingPod) askForHostnames(want wantedLabel) []candidate {
	var all []candidate
	for _, node := range p.nodes {
		if host := node.Labels[v1.LabelHostname]; host != "" && host != node.Name && slices.Contains(want.values, node.Name) && len(all) < maxPerDomain {
			all = append(all, candidate{change: fmt.Sprintf("ask for nodes with %s=%s (now %s, the node's name)", want.key, host, node.Name),
				edit: func(spec *v1.PodSpec) { want.edit(spec, want.key, host) }})
		}
	}
	return all
}

// askForKeys returns the changes that ask for a label with a similar key and one of the values, if no node has the label.
func (p *pendingPod) askForKeys(want wantedLabel) []candidate {
	if len(p.valuesOf(want.key)) > 0 {
		return nil
	}
	var all []candidate
	for _, key := range cause.SimilarKeys(want.key, p.nodes) {
		for _, value := range p.valuesOf(key) {
			if slices.Contains(want.values, value) && len(all) < maxPerDomain {
				all = append(all, candidate{change: fmt.Sprintf("ask for nodes with %s=%s (now %s=%s)", key, value, want.key, words.Or(want.values)),
					edit: func(spec *v1.PodSpec) { want.edit(spec, key, value) }})
			}
		}
	}
	return all
}

// matchingNodes returns the nodes that match the pod's node selector and affinity.
func (p *pendingPod) matchingNodes() []*v1.Node {
	return list.Where(p.nodes, func(node *v1.Node) bool { return cluster.Attracts(node, p.pod) })
}

// valuesOf returns the values that the nodes have for the label, sorted.
func (p *pendingPod) valuesOf(key string) []string {
	values := map[string]bool{}
	for _, node := range p.nodes {
		if value, labelled := node.Labels[key]; labelled {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// numbersOf returns the values that the nodes have for the label and that are numbers.
func (p *pendingPod) numbersOf(key string) (numbers []int64) {
	for _, value := range p.valuesOf(key) {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// nameScheduler returns the attempt that gives the pod to the scheduler, if it names one that is not there. Nothing else helps then.
func (p *pendingPod) nameScheduler() []attempt {
	if !strings.HasPrefix(p.pending.Untried, placement.LeftTo) || p.spec == nil {
		return nil
	}
	return []attempt{p.attemptOne(candidate{change: fmt.Sprintf("schedulerName: %s (now %s)", v1.DefaultSchedulerName, p.spec.SchedulerName),
		edit: func(spec *v1.PodSpec) { spec.SchedulerName = v1.DefaultSchedulerName }})}
}

// movePorts returns the attempt that gives the pods other ports of the host, if a pod of another workload holds one of these. If only pods of the same
// workload do, another port would be as full.
func (p *pendingPod) movePorts() []attempt {
	if p.spec == nil || !p.refusedBy("NodePorts") {
		return nil
	}
	held, others := map[int32]bool{}, false
	for _, pod := range p.step.State.Pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		for _, port := range hostPortsOf(&pod.Spec) {
			held[*port] = true
			others = others || p.ownerOf(pod) != p.owner && slices.ContainsFunc(hostPortsOf(p.spec), func(own *int32) bool { return *own == *port })
		}
	}
	if !others {
		return nil
	}
	var moves []string
	to := map[int32]int32{}
	for _, port := range hostPortsOf(p.spec) {
		if _, moved := to[*port]; moved || !held[*port] {
			continue
		}
		free := *port + 1
		for held[free] {
			free++
		}
		held[free], to[*port] = true, free
		moves = append(moves, fmt.Sprintf("host port %d (now %d)", free, *port))
	}
	if len(moves) == 0 {
		return nil
	}
	return []attempt{p.attemptOne(candidate{change: words.And(moves), price: []string{"whoever uses the port has to know"}, edit: func(spec *v1.PodSpec) {
		for _, port := range hostPortsOf(spec) {
			if free, moves := to[*port]; moves {
				*port = free
			}
		}
		for i := range spec.Containers {
			for j := range spec.Containers[i].Ports {
				if port := &spec.Containers[i].Ports[j]; spec.HostNetwork && port.HostPort > 0 {
					port.ContainerPort = port.HostPort // the API server wants them equal
				}
			}
		}
	}})}
}

// hostPortsOf returns the ports of the host that the containers take.
func hostPortsOf(spec *v1.PodSpec) []*int32 {
	var all []*int32
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				if port := &containers[i].Ports[j]; port.HostPort > 0 {
					all = append(all, &port.HostPort)
				}
			}
		}
	}
	return all
}
