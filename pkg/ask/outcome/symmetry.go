package outcome

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/alike"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// symmetry is a tree of failure domains, with nodes as leaves, in which children of the same shape can change places without any effect on
// the scenario except for names. With 2 zones of 3 equal nodes each, the zones can change places, and so can the nodes of a zone.
//
// Merging states by symmetry is sound. Let G be the permutations of the nodes that move whole domains onto whole domains of every level,
// and each node onto a node that package alike cannot distinguish from it; package alike searches every object and every step for names.
// Nothing is merged where the order of the nodes could count: with preemption, which takes the first of equal candidates; with samples of
// the nodes in large clusters; with DaemonSets, whose pods are created node by node; with volumes and CSINodes; with other feature gates or
// arguments of plugins. Under these conditions, the run from a state g(s) is g applied to the run from s, for each g in G, and each tied
// node has the same chance. The cluster before the first step looks the same to every g, so by induction P(g(s)) = P(s) at every tie and
// after every step. So states that some g turns into each other can be followed as one, and in the end each of them has an equal part of
// their common probability.
type symmetry struct {
	root *domain
}

// domain is a set of nodes that fail together, or a single node.
type domain struct {
	distinction string // what distinguishes the domain from others, without its children
	node        string // the name of a single node; "" for other domains
	children    []*domain
}

// newSymmetry finds the symmetry of the scenario among the nodes with which the cluster begins. If merge is false, no node is
// interchangeable.
func newSymmetry(s *scenario.Scenario, nodes []*v1.Node, merge bool) *symmetry {
	levels := topology.Levels(nodes, s.LevelKeys...)
	names := findMentionedNames(s, nodes, levels)
	merge = merge && !dependsOnNodeOrder(s, len(nodes)) && !names.HasComparison()
	var leaves []*domain
	for _, node := range nodes {
		leaf := &domain{node: node.Name, distinction: names.Look(node)}
		if !merge {
			leaf.distinction += "\x00" + node.Name
		}
		leaves = append(leaves, leaf)
	}
	if root, nested := buildTree(nodes, leaves, levels); nested {
		return &symmetry{root}
	}
	// Domains that overlap form no tree; then no node stands for another.
	for _, leaf := range leaves {
		leaf.distinction += "\x00" + leaf.node
	}
	return &symmetry{&domain{children: leaves}}
}

// dependsOnNodeOrder reports whether the order of the nodes could matter, besides their names and labels.
func dependsOnNodeOrder(s *scenario.Scenario, nodes int) bool {
	config, err := s.Config.Encode()
	if err != nil || strings.Contains(string(config), "addedAffinity") || s.Config.Release().FeatureGates != "" || s.Config.Foreign() || s.Config.Samples(nodes) || mayPreempt(s) {
		return true
	}
	for _, obj := range allObjects(s) {
		switch cluster.KindOf(obj) {
		case "DaemonSet", "PersistentVolume", "PersistentVolumeClaim":
			return true
		}
		if _, isCSINode := obj.(*storagev1.CSINode); isCSINode || hasVolumeClaims(obj) {
			return true
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.RemoveNodes != nil && step.RemoveNodes.Count > 0 { // the first of equally empty nodes is removed
			return true
		}
		if step.Patch != nil {
			if kind, _, _ := scenario.ParseTarget(step.Patch.Target.Target); kind == "Node" {
				return true
			}
		}
		for _, obj := range step.Objects {
			if _, isNode := obj.(*v1.Node); isNode {
				return true
			}
		}
	}
	return false
}

// findMentionedNames returns the names of the nodes, with marks for names that occur anywhere in the scenario. A step mentions the nodes that it
// selects.
func findMentionedNames(s *scenario.Scenario, nodes []*v1.Node, levels []string) *alike.NodeNames {
	names := alike.NewNodeNames(nodes, levels...)
	for _, obj := range allObjects(s) {
		if _, isNode := obj.(*v1.Node); !isNode {
			names.Mention(alike.EncodeJSON(obj))
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.Delete != nil {
			for _, target := range step.Delete.Targets {
				if kind, name, _ := scenario.ParseTarget(target); kind == "Node" {
					names.Mention(name)
				}
			}
		}
		for _, which := range step.SelectedNodes() {
			for _, node := range which.Select(nodes) {
				names.Mention(node.Name)
			}
		}
		if step.Patch != nil {
			names.Mention(string(step.Patch.Patch.Raw))
		}
	}
	return names
}

// allObjects returns all objects that the scenario has at some time.
func allObjects(s *scenario.Scenario) []cluster.Object {
	all := slices.Concat(s.Cluster, s.Workloads)
	for i := range s.Steps {
		all = append(all, s.Steps[i].Objects...)
	}
	return all
}

// buildTree builds a tree of the leaves. It returns false if two domains overlap and neither contains the other.
func buildTree(nodes []*v1.Node, leaves []*domain, levels []string) (*domain, bool) {
	type set struct {
		key    string
		leaves []int
	}
	position := map[string]int{}
	for i, node := range nodes {
		position[node.Name] = i
	}
	var sets []set
	for _, key := range levels {
		domains, _ := topology.Domains(nodes, key)
		for _, d := range domains {
			of := set{key: key}
			for _, node := range d.Nodes {
				of.leaves = append(of.leaves, position[node.Name])
			}
			sets = append(sets, of)
		}
	}
	slices.SortStableFunc(sets, func(a, b set) int { return cmp.Compare(len(b.leaves), len(a.leaves)) })
	root := &domain{}
	within := make([]*domain, len(leaves)) // the smallest domain of each leaf so far
	size := map[*domain]int{root: len(leaves) + 1}
	for i := range within {
		within[i] = root
	}
	for _, of := range sets {
		parent := within[of.leaves[0]]
		if slices.ContainsFunc(of.leaves, func(i int) bool { return within[i] != parent }) {
			return nil, false
		}
		if size[parent] == len(of.leaves) { // two keys have this set of nodes
			parent.distinction += "\x00" + of.key
			continue
		}
		d := &domain{distinction: of.key}
		size[d] = len(of.leaves)
		parent.children = append(parent.children, d)
		for _, i := range of.leaves {
			within[i] = d
		}
	}
	for i, leaf := range leaves {
		within[i].children = append(within[i].children, leaf)
	}
	return root, true
}

// shape is a domain with what is on its nodes at some time. Two domains have the same code if and only if exchanging nodes can turn one
// into the other, except for collisions of a cryptographic hash.
type shape struct {
	*domain
	static, code string // static without, and code with what is on the nodes
	children     []*shape
}

// newShape returns the tree with what is on each node.
func (s *symmetry) newShape(on func(node string) string) *shape { return buildShape(s.root, on) }

func buildShape(d *domain, on func(node string) string) *shape {
	s := &shape{domain: d}
	if d.node != "" {
		s.static = digest("node", d.distinction)
		s.code = digest(s.static, on(d.node))
		return s
	}
	var static, code []string
	for _, child := range d.children {
		c := buildShape(child, on)
		s.children = append(s.children, c)
		static, code = append(static, c.static), append(code, c.code)
	}
	slices.Sort(static)
	slices.Sort(code)
	s.static = digest(append(static, d.distinction)...)
	s.code = digest(append(code, s.static)...)
	return s
}

func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		var size [4]byte
		for i := range size {
			size[i] = byte(len(part) >> (8 * i))
		}
		hash.Write(size[:])
		hash.Write([]byte(part))
	}
	return string(hash.Sum(nil)[:16])
}

// orbits returns a text for each node. Nodes with the same text can take each other's place while everything else looks the same.
func (s *shape) orbits() map[string]string {
	all := map[string]string{}
	var walk func(s *shape, path string)
	walk = func(s *shape, path string) {
		path += s.code
		if s.node != "" {
			all[s.node] = path
		}
		for _, child := range s.children {
			walk(child, path)
		}
	}
	walk(s, "")
	return all
}

// exchangeableGroups returns the indices of the children that can change places, group by group, in the order of each group's first child.
func (s *shape) exchangeableGroups() [][]int {
	var groups [][]int
	at := map[string]int{}
	for i, child := range s.children {
		g, found := at[child.static]
		if !found {
			g = len(groups)
			at[child.static] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// countWays returns the number of different states that the shape can be turned into, including itself.
func (s *shape) countWays() *big.Int {
	product := big.NewInt(1)
	for _, group := range s.exchangeableGroups() {
		// The multinomial coefficient, a binomial at a time.
		left := int64(len(group))
		count := map[string]int64{}
		for _, i := range group {
			count[s.children[i].code]++
			product.Mul(product, s.children[i].countWays())
		}
		for _, n := range count {
			product.Mul(product, new(big.Int).Binomial(left, n))
			left -= n
		}
	}
	return product
}

// arrangements returns at most that many of the states that the shape can be turned into. Each state maps a node to the node whose contents
// it gets.
func (s *shape) arrangements(most int) []map[string]string {
	return arrangeContents(s, s, most)
}

// arrangeContents returns the ways to put the contents of one shape onto the nodes of another shape with the same static code.
func arrangeContents(onto, contents *shape, most int) []map[string]string {
	if onto.node != "" {
		return []map[string]string{{onto.node: contents.node}}
	}
	all := []map[string]string{{}}
	groups, sources := onto.exchangeableGroups(), map[string][]int{}
	for _, group := range contents.exchangeableGroups() {
		sources[contents.children[group[0]].static] = group
	}
	for _, group := range groups {
		source := sources[onto.children[group[0]].static]
		var next []map[string]string
		for _, before := range all {
			for _, rest := range permuteChildren(onto, contents, group, source, most-len(next)) {
				joined := make(map[string]string, len(before)+len(rest))
				for node, from := range before {
					joined[node] = from
				}
				for node, from := range rest {
					joined[node] = from
				}
				next = append(next, joined)
			}
			if len(next) >= most {
				break
			}
		}
		all = next
	}
	return all
}

// permuteChildren returns the ways to put the children of contents onto the children of onto, without two ways that look the same.
func permuteChildren(onto, contents *shape, positions, left []int, most int) []map[string]string {
	if len(positions) == 0 {
		return []map[string]string{{}}
	}
	var all []map[string]string
	tried := map[string]bool{}
	for i, from := range left {
		if code := contents.children[from].code; tried[code] || len(all) >= most {
			continue
		} else {
			tried[code] = true
		}
		others := slices.Delete(slices.Clone(left), i, i+1)
		rests := permuteChildren(onto, contents, positions[1:], others, most)
		for _, first := range arrangeContents(onto.children[positions[0]], contents.children[from], most) {
			for _, rest := range rests {
				if len(all) >= most {
					return all
				}
				joined := make(map[string]string, len(first)+len(rest))
				for node, source := range first {
					joined[node] = source
				}
				for node, source := range rest {
					joined[node] = source
				}
				all = append(all, joined)
			}
		}
	}
	return all
}
