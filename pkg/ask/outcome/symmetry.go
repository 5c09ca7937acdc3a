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

// symmetry is what may be renamed in a scenario without anybody noticing: a tree of failure domains with nodes as leaves, in which
// children of the same shape can change places.
//
// Why merging by it is sound. Let G be the permutations of the nodes that move whole domains onto whole domains of every level, and
// each node onto one that package alike finds to look the same; every object and every step is searched for names. What would make
// the order of the nodes count is not merged at all: preemption, which takes the first of equal candidates; samples of the nodes in
// large clusters; DaemonSets, whose pods are made node by node; volumes and CSINodes; other feature gates or arguments of plugins.
// Under these conditions the run from a state g(s) is g applied to the run from s, for each g in G, and chance is fair among the tied
// nodes. The cluster before the first step looks the same to every g, so by induction P(g(s)) = P(s) at every tie and after every
// step. States that some g turns into each other can thus be followed as one, and in the end each of them has the same part of their
// common probability.
type symmetry struct {
	root *domain
}

// domain is a set of nodes that fail together, or a single node.
type domain struct {
	look     string // what distinguishes it, apart from its children
	node     string // the name, of a node
	children []*domain
}

// newSymmetry finds what can be renamed in the scenario, on the nodes that the cluster begins with. With merge false nothing is.
func newSymmetry(s *scenario.Scenario, nodes []*v1.Node, merge bool) *symmetry {
	levels := topology.Levels(nodes, s.LevelKeys...)
	names := mentioned(s, nodes, levels)
	merge = merge && !ordersNodes(s, len(nodes)) && !names.Compares()
	var leaves []*domain
	for _, node := range nodes {
		leaf := &domain{node: node.Name, look: names.Look(node)}
		if !merge {
			leaf.look += "\x00" + node.Name
		}
		leaves = append(leaves, leaf)
	}
	if root, nested := nest(nodes, leaves, levels); nested {
		return &symmetry{root}
	}
	// Domains that overlap make no tree; then no node stands for another.
	for _, leaf := range leaves {
		leaf.look += "\x00" + leaf.node
	}
	return &symmetry{&domain{children: leaves}}
}

// ordersNodes reports whether the order of the nodes could matter, apart from their names and labels.
func ordersNodes(s *scenario.Scenario, nodes int) bool {
	config, err := s.Config.Encode()
	if err != nil || strings.Contains(string(config), "addedAffinity") || s.Config.Release().FeatureGates != "" || s.Config.Foreign() || s.Config.Samples(nodes) || preempts(s) {
		return true
	}
	for _, obj := range everything(s) {
		switch cluster.KindOf(obj) {
		case "DaemonSet", "PersistentVolume", "PersistentVolumeClaim":
			return true
		}
		if _, isCSINode := obj.(*storagev1.CSINode); isCSINode || claims(obj) {
			return true
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.RemoveNodes != nil && step.RemoveNodes.Count > 0 { // of equally empty nodes the first
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

// mentioned are the names of the nodes, and which of them stand anywhere in the scenario. A node that a step selects is named by it.
func mentioned(s *scenario.Scenario, nodes []*v1.Node, levels []string) *alike.Names {
	names := alike.NewNames(nodes, levels...)
	for _, obj := range everything(s) {
		if _, isNode := obj.(*v1.Node); !isNode {
			names.Mention(alike.Text(obj))
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
		for _, which := range step.Selected() {
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

// everything is all that the scenario holds at some time.
func everything(s *scenario.Scenario) []cluster.Object {
	all := slices.Concat(s.Cluster, s.Workloads)
	for i := range s.Steps {
		all = append(all, s.Steps[i].Objects...)
	}
	return all
}

// nest makes a tree of the leaves; false if two domains overlap without one being within the other.
func nest(nodes []*v1.Node, leaves []*domain, levels []string) (*domain, bool) {
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
	within := make([]*domain, len(leaves)) // the smallest domain so far
	size := map[*domain]int{root: len(leaves) + 1}
	for i := range within {
		within[i] = root
	}
	for _, of := range sets {
		parent := within[of.leaves[0]]
		if slices.ContainsFunc(of.leaves, func(i int) bool { return within[i] != parent }) {
			return nil, false
		}
		if size[parent] == len(of.leaves) { // one set of nodes, by two keys
			parent.look += "\x00" + of.key
			continue
		}
		d := &domain{look: of.key}
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

// shape is a domain with what is on its nodes at some time. Domains have the same code if and only if one can be turned into the
// other, up to the collisions of a cryptographic hash.
type shape struct {
	*domain
	static, code string // without and with what is on the nodes
	children     []*shape
}

// shape returns the tree with what is on each node.
func (s *symmetry) shape(on func(node string) string) *shape { return shapeOf(s.root, on) }

func shapeOf(d *domain, on func(node string) string) *shape {
	s := &shape{domain: d}
	if d.node != "" {
		s.static = digest("node", d.look)
		s.code = digest(s.static, on(d.node))
		return s
	}
	var static, code []string
	for _, child := range d.children {
		c := shapeOf(child, on)
		s.children = append(s.children, c)
		static, code = append(static, c.static), append(code, c.code)
	}
	slices.Sort(static)
	slices.Sort(code)
	s.static = digest(append(static, d.look)...)
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

// orbits returns for each node a text that it shares with those that can take its place, all else staying as it looks.
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

// groups are the positions of the children that can change places, in order of the first of each.
func (s *shape) groups() [][]int {
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

// ways is the number of different states that the shape can be turned into, itself included.
func (s *shape) ways() *big.Int {
	product := big.NewInt(1)
	for _, group := range s.groups() {
		// The multinomial coefficient, a binomial at a time.
		left := int64(len(group))
		count := map[string]int64{}
		for _, i := range group {
			count[s.children[i].code]++
			product.Mul(product, s.children[i].ways())
		}
		for _, n := range count {
			product.Mul(product, new(big.Int).Binomial(left, n))
			left -= n
		}
	}
	return product
}

// arrangements are the states that the shape can be turned into, at most so many: for each node the one whose contents it gets.
func (s *shape) arrangements(most int) []map[string]string {
	return arrange(s, s, most)
}

// arrange turns the contents of one shape onto the nodes of another of the same static code.
func arrange(onto, contents *shape, most int) []map[string]string {
	if onto.node != "" {
		return []map[string]string{{onto.node: contents.node}}
	}
	all := []map[string]string{{}}
	groups, sources := onto.groups(), map[string][]int{}
	for _, group := range contents.groups() {
		sources[contents.children[group[0]].static] = group
	}
	for _, group := range groups {
		source := sources[onto.children[group[0]].static]
		var next []map[string]string
		for _, before := range all {
			for _, rest := range permutations(onto, contents, group, source, most-len(next)) {
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

// permutations puts the children of contents onto those of onto in every way that looks different.
func permutations(onto, contents *shape, positions, left []int, most int) []map[string]string {
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
		rests := permutations(onto, contents, positions[1:], others, most)
		for _, first := range arrange(onto.children[positions[0]], contents.children[from], most) {
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
