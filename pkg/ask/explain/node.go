package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Changes to the nodes: uncordoning them, labelling them, and adding one now.

const (
	maxPerKind   = 12 // taints, domains, priority classes
	maxPerDomain = 3  // nodes per domain, parts of a pod

	maxNewNodes = 64
)

func (p *pendingPod) uncordonAttempts() []attempt {
	if !p.refusedBy("NodeUnschedulable") {
		return nil
	}
	cordoned := list.Where(p.nodes, func(node *v1.Node) bool { return node.Spec.Unschedulable })
	var attempts []attempt
	for _, d := range p.groupByDomain(cordoned) {
		attempts = append(attempts, p.attemptFirst(list.Map(p.roomiest(d.nodes), p.uncordonNode))...)
	}
	return attempts
}

func (p *pendingPod) uncordonNode(node *v1.Node) candidate {
	name := p.shownName(node.Name)
	return candidate{change: "uncordon " + name, steps: []scenario.Step{{Uncordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: []string{name}}}}}}
}

// uncordonCandidates returns the changes that uncordon the first node of each domain.
func (p *pendingPod) uncordonCandidates() []candidate {
	cordoned := list.Where(p.nodes, func(node *v1.Node) bool { return node.Spec.Unschedulable })
	return list.Map(p.groupByDomain(cordoned), func(d domain) candidate { return p.uncordonNode(d.nodes[0]) })
}

// addNodeAttempts returns the attempts that add one node: in each domain, like one that is there; in a domain of its own; and a larger one if no
// node is large enough. If no node has the labels that the pod asks for, the new nodes get these labels.
func (p *pendingPod) addNodeAttempts() []attempt {
	open := p.matchingOpenNodes()
	if len(open) == 0 {
		return p.addLabelledNodes()
	}
	var attempts []attempt
	for _, d := range p.groupByDomain(open) {
		attempts = append(attempts, p.attemptFirst(list.Map(p.different(d.nodes), func(node *v1.Node) candidate { return p.addNodeLike(node, d.words()) }))...)
	}
	for _, c := range p.addNodesInClosedDomains(open) {
		attempts = append(attempts, p.attemptOne(c))
	}
	for _, key := range p.hardKeys() {
		attempts = append(attempts, p.attemptFirst(p.addNodesInNewDomain(open, key))...)
	}
	attempts = append(attempts, p.attemptFirst(p.addLargerNodes(open))...)
	return append(attempts, p.addReachingNodes(open)...)
}

// addSeveralNodes returns the attempts that add as many nodes as the pods of the workload need, for when other Pending pods take the room of
// the first ones.
func (p *pendingPod) addSeveralNodes() []attempt {
	open := p.matchingOpenNodes()
	if len(open) == 0 || p.member != nil || !p.refusedBy("NodeResourcesFit", "InterPodAffinity", "NodePorts", "NodeVolumeLimits", "DynamicResources") {
		return nil
	}
	most := int64(min(len(p.pendingBefore), maxNewNodes))
	if most < 2 {
		return nil
	}
	domains := p.groupByDomain(open)
	return list.Map(domains[:min(len(domains), maxPerDomain)], func(d domain) attempt {
		like := p.shownName(d.nodes[0].Name)
		return p.attemptMost(fmt.Sprintf("%d more nodes like %s%s", most, like, d.words()), most, 1, func(amount int64) candidate {
			return candidate{change: fmt.Sprintf("%d more nodes like %s%s", amount, like, d.words()),
				steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: int(amount), Like: like}}}}
		})
	})
}

// addNodeCandidates returns the changes of [pendingPod.addNodeAttempts], each with only the first node of its domain.
func (p *pendingPod) addNodeCandidates() []candidate {
	open := p.matchingOpenNodes()
	if len(open) == 0 {
		return nil
	}
	all := list.Map(p.groupByDomain(open), func(d domain) candidate { return p.addNodeLike(d.nodes[0], d.words()) })
	all = slices.Concat(all, p.addNodesInClosedDomains(open))
	for _, key := range p.hardKeys() {
		all = append(all, p.addNodesInNewDomain(open, key)...)
	}
	return all
}

// roomiest returns up to maxPerDomain of the nodes: first the nodes that have room for the pod besides their present pods, each part in its order.
func (p *pendingPod) roomiest(nodes []*v1.Node) []*v1.Node {
	hasRoom := p.occupancy.HasRoomFor(p.pod)
	inOrder := slices.Concat(list.Where(nodes, hasRoom), list.Without(nodes, hasRoom))
	return inOrder[:min(len(inOrder), maxPerDomain)]
}

// openNodes returns the nodes whose copy could take the pod. A DaemonSet's pod is for one node, and another node gets another pod.
func (p *pendingPod) openNodes() []*v1.Node {
	if p.owner.Kind == "DaemonSet" {
		return nil
	}
	return list.Where(p.nodes, func(node *v1.Node) bool { return !cluster.Repels(node, p.pod) })
}

// matchingOpenNodes returns the open nodes that match the pod's node selector and affinity.
func (p *pendingPod) matchingOpenNodes() []*v1.Node {
	return list.Where(p.openNodes(), func(node *v1.Node) bool { return cluster.Attracts(node, p.pod) })
}

// addLabelledNodes returns the attempts that add one node in each domain, like one that is there, with the labels that the pod asks for and no
// node has.
func (p *pendingPod) addLabelledNodes() []attempt {
	if p.spec == nil || p.member != nil {
		return nil
	}
	lacking := list.Where(p.openNodes(), func(node *v1.Node) bool { return len(p.missingLabels(node, isHostname)) > 0 })
	return list.Map(p.groupByDomain(lacking), func(d domain) attempt {
		like := d.nodes[0]
		labels := p.missingLabels(like, isHostname)
		return p.attemptOne(candidate{change: fmt.Sprintf("one more node like %s with %s%s", like.Name, words.And(pairsOf(labels)), d.wordsWithout(labels)),
			steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: like.Name, Labels: labels}}}})
	})
}

func (p *pendingPod) addNodeLike(node *v1.Node, where string) candidate {
	return candidate{change: "one more node like " + p.shownName(node.Name) + where, steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: p.shownName(node.Name)}}}}
}

// addNodesInClosedDomains returns the changes that add one node in each domain whose nodes all repel the pod, for example because they do not
// answer.
func (p *pendingPod) addNodesInClosedDomains(open []*v1.Node) []candidate {
	known := p.groupByDomain(open)
	var all []candidate
	for _, d := range p.groupByDomain(p.nodes) {
		same := func(other domain) bool { return slices.Equal(other.values, d.values) }
		if !slices.ContainsFunc(known, same) && p.member == nil && d.words() != "" {
			all = append(all, candidate{change: "one more node like " + open[0].Name + d.words(),
				steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: open[0].Name, InPlaceOf: d.nodes[0].Name}}}})
		}
	}
	return all
}

// addNodesInNewDomain returns the changes that add one node, like each distinct node, with a new value of the topology key of a hard rule.
func (p *pendingPod) addNodesInNewDomain(open []*v1.Node, key string) []candidate {
	var all []candidate
	for _, node := range p.different(list.Without(open, func(node *v1.Node) bool { return node.Labels[key] == "" })) {
		own := "new-" + node.Labels[key]
		labels := map[string]string{}
		for label := range node.Labels {
			if inDomain(node, label, key) || key == v1.LabelTopologyRegion && inDomain(node, label, v1.LabelTopologyZone) { // a zone is in one region
				labels[label] = own
			}
		}
		all = append(all, candidate{change: "one more node like " + p.shownName(node.Name) + " in a " + key + " of its own",
			steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: p.shownName(node.Name), Labels: labels}}}})
	}
	return all
}

// inDomain reports whether the label says the same of the node as the topology key: it is the key, or a driver's name for it, as
// topology.ebs.csi.aws.com/zone is for topology.kubernetes.io/zone.
func inDomain(node *v1.Node, label, key string) bool {
	value, labelled := node.Labels[key]
	_, name, _ := strings.Cut(key, "/")
	return label == key || labelled && node.Labels[label] == value && strings.HasSuffix(label, "/"+name)
}

// addLargerNodes returns the changes that add one node of twice, four and eight times the size of the largest node; none if some node has as much
// CPU and memory as the pod requests.
func (p *pendingPod) addLargerNodes(open []*v1.Node) []candidate {
	asks := resourcehelper.PodRequests(p.pod, resourcehelper.PodResourcesOptions{})
	enough := func(node *v1.Node) bool { // beside the pods that every node has
		cpu, memory := asks.Cpu().DeepCopy(), asks.Memory().DeepCopy()
		for _, pod := range p.step.State.Pods {
			if pod.Spec.NodeName == node.Name && p.ownerOf(pod).Kind == "DaemonSet" {
				held := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
				cpu.Add(*held.Cpu())
				memory.Add(*held.Memory())
			}
		}
		return cpu.Cmp(*node.Status.Allocatable.Cpu()) <= 0 && memory.Cmp(*node.Status.Allocatable.Memory()) <= 0
	}
	if slices.ContainsFunc(open, enough) || p.member != nil {
		return nil
	}
	largest := open[0]
	for _, node := range open {
		if c := node.Status.Allocatable.Cpu().Cmp(*largest.Status.Allocatable.Cpu()); c > 0 || c == 0 && node.Status.Allocatable.Memory().Cmp(*largest.Status.Allocatable.Memory()) > 0 {
			largest = node
		}
	}
	var all []candidate
	for _, times := range []int64{2, 4, 8} {
		cpu, memory := largest.Status.Allocatable.Cpu().DeepCopy(), largest.Status.Allocatable.Memory().DeepCopy()
		if !cpu.Mul(times) || !memory.Mul(times) || cpu.IsZero() || memory.IsZero() {
			return nil
		}
		all = append(all, candidate{change: fmt.Sprintf("one more node like %s, of %s CPU and %s memory", p.shownName(largest.Name), cpu.String(), memory.String()),
			steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: p.shownName(largest.Name), CPU: topology.Quantity(cpu.String()), Memory: topology.Quantity(memory.String())}}}})
	}
	return all
}

// hardKeys returns the topology keys of the pod's hard rules, without the hostname, since every new node has its own.
func (p *pendingPod) hardKeys() []string {
	var keys []string
	if p.spec == nil {
		return nil
	}
	for _, r := range rule.List(p.spec) {
		if r.Hard && r.TopologyKey != "" && r.TopologyKey != v1.LabelHostname && !slices.Contains(keys, r.TopologyKey) {
			keys = append(keys, r.TopologyKey)
		}
	}
	return keys
}

// domain is a set of nodes that have equal values of some keys.
type domain struct {
	keys, values []string
	nodes        []*v1.Node
}

// words describes where the domain is.
func (d *domain) words() string { return d.wordsWithout(nil) }

// wordsWithout describes where the domain is, without the keys of labels that a new node gets.
func (d *domain) wordsWithout(labels map[string]string) string {
	var parts []string
	for i, key := range d.keys {
		if _, replaced := labels[key]; !replaced && d.values[i] != "" {
			parts = append(parts, key+" "+d.values[i])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " in " + strings.Join(parts, " and ")
}

// groupByDomain groups the nodes by zone and by the topology keys of the hard rules, in the order of the nodes, and returns at most [maxPerKind]
// groups.
func (p *pendingPod) groupByDomain(nodes []*v1.Node) []domain {
	keys := p.hardKeys()
	if zone := topology.ZoneKey(nodes); !slices.Contains(keys, zone) {
		keys = append(keys, zone)
	}
	var all []domain
	for _, node := range nodes {
		values := list.Map(keys, func(key string) string { return node.Labels[key] })
		i := slices.IndexFunc(all, func(d domain) bool { return slices.Equal(d.values, values) })
		if i < 0 {
			i = len(all)
			all = append(all, domain{keys: keys, values: values})
		}
		all[i].nodes = append(all[i].nodes, node)
	}
	return all[:min(len(all), maxPerKind)]
}

// different returns at most [maxPerDomain] of the nodes that differ in more than their names.
func (p *pendingPod) different(nodes []*v1.Node) []*v1.Node {
	devices := map[string][]resourcev1.Device{}
	for _, slice := range p.step.State.ResourceSlices {
		if slice.Spec.NodeName != nil {
			devices[*slice.Spec.NodeName] = append(devices[*slice.Spec.NodeName], slice.Spec.Devices...)
		}
	}
	var all []*v1.Node
	seen := map[string]bool{}
	for _, node := range nodes {
		labels := maps.Clone(node.Labels)
		maps.DeleteFunc(labels, func(_, value string) bool { return value == node.Name })
		look, err := json.Marshal([]any{labels, node.Spec.Taints, node.Status.Allocatable, devices[node.Name]})
		if err == nil && !seen[string(look)] && len(all) < maxPerDomain {
			seen[string(look)] = true
			all = append(all, node)
		}
	}
	return all
}

// labelNodes returns the attempts that give nodes a label that they lack: one that the pod's node selector or affinity asks for, or the
// topology key of a hard rule.
func (p *pendingPod) labelNodes() []attempt {
	if p.spec == nil || p.member != nil {
		return nil
	}
	var attempts []attempt
	if p.refusedBy("NodeAffinity") && p.runtimeClass() == nil {
		attempts = append(attempts, p.attemptFirst(p.labelNearest(nil))...)
	}
	if !p.refusedBy("PodTopologySpread", "InterPodAffinity") {
		return attempts
	}
	for _, key := range p.hardKeys() {
		lacking := list.Where(p.openNodes(), func(node *v1.Node) bool { return node.Labels[key] == "" })
		if len(lacking) == 0 {
			continue
		}
		lacking = lacking[:min(len(lacking), 20*maxPerKind)]
		c := candidate{change: fmt.Sprintf("label %s with %s %s: %s none (tried with one value for all)", nodesIn(lacking), words.Pick(len(lacking), "its", "their"), key, words.Pick(len(lacking), "it has", "they have"))}
		for _, node := range lacking {
			c.steps = append(c.steps, labelStep("node/"+node.Name, map[string]string{key: "one"}))
		}
		attempts = append(attempts, p.attemptOne(c))
	}
	return attempts
}

// labelNearest returns the changes that give the nodes with the most room the labels that they lack for the pod.
func (p *pendingPod) labelNearest(price []string) []candidate {
	present := func(node *v1.Node) func(string) bool {
		return func(key string) bool {
			return node.Labels[key] != "" || isDescriptiveLabel(key) || cluster.IsControlPlaneRole(key)
		}
	}
	lacking := list.Where(p.openNodes(), func(node *v1.Node) bool { return len(p.missingLabels(node, present(node))) > 0 })
	return list.Map(p.roomiest(lacking), func(node *v1.Node) candidate {
		labels := p.missingLabels(node, present(node))
		return candidate{change: fmt.Sprintf("label node %s with %s", node.Name, words.And(pairsOf(labels))), price: price,
			steps: []scenario.Step{labelStep("node/"+node.Name, labels)}}
	})
}

// labelForRuntime returns the attempt that labels a node for the pod's RuntimeClass, whose runtime the node then has to have. Milder changes come before.
func (p *pendingPod) labelForRuntime() []attempt {
	class := p.runtimeClass()
	if p.spec == nil || p.member != nil || class == nil || !p.refusedBy("NodeAffinity") {
		return nil
	}
	return p.attemptFirst(p.labelNearest([]string{"once the runtime " + class.Handler + " is installed there"}))
}

// runtimeClass returns the RuntimeClass of the pod if it selects nodes; nil if the pod has none.
func (p *pendingPod) runtimeClass() *nodev1.RuntimeClass {
	if p.spec == nil || p.spec.RuntimeClassName == nil {
		return nil
	}
	at := slices.IndexFunc(p.step.State.RuntimeClasses, func(class *nodev1.RuntimeClass) bool {
		return class.Name == *p.spec.RuntimeClassName && class.Scheduling != nil && len(class.Scheduling.NodeSelector) > 0
	})
	if at < 0 {
		return nil
	}
	return p.step.State.RuntimeClasses[at]
}

// nodesIn lists the names of the nodes, shortened.
func nodesIn(nodes []*v1.Node) string {
	names := list.Map(nodes, func(node *v1.Node) string { return node.Name })
	if len(names) > maxPerDomain {
		return fmt.Sprintf("%s and %d more nodes", strings.Join(names[:maxPerDomain], ", "), len(names)-maxPerDomain)
	}
	return words.Pick(len(names), "node ", "nodes ") + words.And(names)
}

func pairsOf(labels map[string]string) []string {
	return list.Map(slices.Sorted(maps.Keys(labels)), func(key string) string { return key + "=" + labels[key] })
}

// isHostname reports whether the label is the node's name, which even a new node has of its own.
func isHostname(key string) bool { return key == v1.LabelHostname }

// missingLabels returns the labels with which the node would satisfy the pod's node selector and required affinity. It returns none if more than
// two labels are missing, or if one of them is fixed: a present label of a node that runs, or one that says where or what the node is.
func (p *pendingPod) missingLabels(node *v1.Node, fixed func(key string) bool) map[string]string {
	terms := cluster.RequiredTerms(p.spec)
	if terms == nil {
		terms = []v1.NodeSelectorTerm{{}} // the node selector alone
	}
	for _, term := range terms {
		labels := maps.Clone(p.pod.Spec.NodeSelector) // with what a RuntimeClass adds
		if labels == nil {
			labels = map[string]string{}
		}
		for _, r := range term.MatchExpressions {
			switch {
			case r.Operator == v1.NodeSelectorOpIn && len(r.Values) > 0 && !slices.Contains(r.Values, node.Labels[r.Key]):
				labels[r.Key] = r.Values[0]
			case r.Operator == v1.NodeSelectorOpExists:
				if _, labelled := node.Labels[r.Key]; !labelled {
					labels[r.Key] = "true"
				}
			case r.Operator == v1.NodeSelectorOpGt || r.Operator == v1.NodeSelectorOpLt:
				labels[r.Key] = valueBeyond(r, node.Labels[r.Key])
			}
		}
		maps.DeleteFunc(labels, func(key, value string) bool {
			has, labelled := node.Labels[key]
			return labelled && has == value
		})
		ours := !slices.ContainsFunc(slices.Collect(maps.Keys(labels)), fixed)
		if len(labels) == 0 || len(labels) > 2 || !ours {
			continue
		}
		made := node.DeepCopy()
		if made.Labels == nil {
			made.Labels = map[string]string{}
		}
		maps.Copy(made.Labels, labels)
		if fits, err := nodeaffinity.GetRequiredNodeAffinity(&v1.Pod{Spec: v1.PodSpec{NodeSelector: p.pod.Spec.NodeSelector, Affinity: p.spec.Affinity}}).Match(made); err == nil && fits {
			return labels
		}
	}
	return nil
}

// valueBeyond returns the value of a label that meets a requirement Gt or Lt: the present one if it does, or else the nearest that does.
func valueBeyond(r v1.NodeSelectorRequirement, now string) string {
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	has, none := strconv.ParseInt(now, 10, 64)
	switch {
	case err != nil, none == nil && (r.Operator == v1.NodeSelectorOpGt && has > bound || r.Operator == v1.NodeSelectorOpLt && has < bound):
		return now
	case r.Operator == v1.NodeSelectorOpGt:
		return strconv.FormatInt(bound+1, 10)
	}
	return strconv.FormatInt(bound-1, 10)
}

// isDescriptiveLabel reports whether a label says where or what a node is, so that nobody can choose its value.
func isDescriptiveLabel(key string) bool {
	return strings.HasPrefix(key, "kubernetes.io/") || strings.HasPrefix(key, "node.kubernetes.io/") || strings.HasPrefix(key, "topology.") ||
		strings.HasPrefix(key, "failure-domain.beta.kubernetes.io/") || strings.HasPrefix(key, "beta.kubernetes.io/")
}
