package topology

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Build builds the nodes of the spec. They are ready, have nothing reserved (allocatable is the capacity), and have no timestamps. They are
// in the order of the spec: regions, zones and levels as listed and by index, then node groups as listed, then nodes by index. The nodes of
// a group share their resource lists, taints and conditions, which must not be changed in place. The error lists every problem, as Validate
// does.
func Build(spec Spec) ([]*v1.Node, error) {
	b, errs := build(&spec, nil, maxNodes)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return b.nodes, nil
}

// CountPlanned returns how many nodes and devices Make would create, if the spec is valid. It stops counting soon after the nodes exceed most.
func (s *Spec) CountPlanned(most int) (nodes, devices int) {
	b := newBuilder(maxNodes)
	b.countLimit = most
	b.checkSpec(s, nil)
	b.addRegions(s, nil)
	return max(b.plannedNodes, len(b.innermost)), b.plannedDevices
}

// Validate returns all problems of the spec. The path is the spec's path in its file, or nil if the spec is the whole file. Each field is
// reported once, with its first problem.
func (s *Spec) Validate(path *field.Path) field.ErrorList {
	_, errs := build(s, path, maxNodes)
	return errs
}

// build checks every declaration on its own, and then walks down to the innermost domains. It creates nodes only after that, since the
// share of a total depends on the number of domains.
func build(spec *Spec, path *field.Path, limit int) (*builder, field.ErrorList) {
	b := newBuilder(limit)
	b.checkSpec(spec, path)
	b.addRegions(spec, path)
	b.createNodes()
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	return b, nil
}

// newBuilder returns a builder that creates at most limit nodes.
func newBuilder(limit int) *builder {
	return &builder{
		limit:        limit,
		countLimit:   limit,
		failed:       map[string]bool{},
		prototypes:   map[*NodeGroup]*v1.Node{},
		devices:      map[*Devices]resourcev1.Device{},
		domainCounts: map[*NodeGroup]int{},
		used:         map[labelValue]bool{},
		lastIndexes:  map[labelValue]int{},
	}
}

// builder checks a spec and creates its nodes. It collects the problems in errs.
type builder struct {
	limit        int
	countLimit   int // the number at which counting stops
	errs         field.ErrorList
	failed       map[string]bool // fields that already have an error
	limitReached bool            // the limit was reached: stop adding
	prototypes   map[*NodeGroup]*v1.Node
	devices      map[*Devices]resourcev1.Device // a prototype of each entry
	innermost    []domainDraft
	domainCounts map[*NodeGroup]int // number of innermost domains that have the group
	plannedNodes int                // number of nodes to create
	// plannedDevices is the number of devices of these nodes.
	plannedDevices int
	used           map[labelValue]bool
	lastIndexes    map[labelValue]int // the last index used in each pattern
	nodes          []*v1.Node
	slices         []*resourcev1.ResourceSlice
}

// labelValue is the value of a label, or the name of a node under the key kubernetes.io/hostname.
type labelValue struct{ key, value string }

// domainDraft is a failure domain that is being built. The whole cluster is the outermost one.
type domainDraft struct {
	path   *field.Path // path of the entry that declares it
	names  []string    // placeholders and their values, alternating, outermost first: {region}, eu, {zone}, eu-1
	labels map[string]string

	// These apply unless an inner place lists its own.
	zones      declared[Zone]
	levels     declared[Level]
	nodeGroups declared[NodeGroup]
}

// declared is a list in the spec and its path.
type declared[T any] struct {
	path  *field.Path
	items []T
}

// orInner returns the inner list if it has items, otherwise the outer one.
func (outer declared[T]) orInner(path *field.Path, inner []T) declared[T] {
	if len(inner) == 0 {
		return outer
	}
	return declared[T]{path, inner}
}

// newInner returns the domain with that name inside p.
func (p domainDraft) newInner(path *field.Path, n labelValue, placeholder string, labels map[string]string) domainDraft {
	p.path = path
	p.names = append(slices.Clip(p.names), placeholder, n.value)
	p.labels = maps.Clone(p.labels)
	p.labels[n.key] = n.value
	maps.Copy(p.labels, labels)
	return p
}

// prefixPattern returns a pattern for names that begin with the name of the domain.
func (p domainDraft) prefixPattern(rest string) string {
	if len(p.names) == 0 {
		return rest
	}
	return p.names[len(p.names)-2] + "-" + rest
}

// addRegions creates the domains of the regions, and all domains inside them.
func (b *builder) addRegions(spec *Spec, path *field.Path) {
	cluster := domainDraft{
		path:       path,
		labels:     map[string]string{v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64"},
		zones:      declared[Zone]{path.Child("zones"), spec.Zones},
		levels:     declared[Level]{path.Child("levels"), spec.Levels},
		nodeGroups: declared[NodeGroup]{path.Child("nodeGroups"), spec.NodeGroups},
	}
	maps.Copy(cluster.labels, spec.Labels)
	if len(spec.Regions) == 0 {
		b.addZones(cluster)
	}
	for i := range spec.Regions {
		r, path := &spec.Regions[i], path.Child("regions").Index(i)
		for _, n := range b.declareNames(cluster, v1.LabelTopologyRegion, cmp.Or(r.Name, "region-{index}"), r.Count, path) {
			region := cluster.newInner(path, n, "{region}", r.Labels)
			region.zones = region.zones.orInner(path.Child("zones"), r.Zones)
			region.levels = region.levels.orInner(path.Child("levels"), r.Levels)
			region.nodeGroups = region.nodeGroups.orInner(path.Child("nodeGroups"), r.NodeGroups)
			b.addZones(region)
		}
	}
}

// addZones creates the domains of the zones in the outer domain, and all domains inside them.
func (b *builder) addZones(outer domainDraft) {
	if len(outer.zones.items) == 0 {
		b.addLevels(outer, 0)
	}
	pattern := "zone-{index}"
	if len(outer.names) > 0 {
		pattern = "{region}-{index}"
	}
	for i := range outer.zones.items {
		z, path := &outer.zones.items[i], outer.zones.path.Index(i)
		for _, n := range b.declareNames(outer, v1.LabelTopologyZone, cmp.Or(z.Name, pattern), z.Count, path) {
			zone := outer.newInner(path, n, "{zone}", z.Labels)
			zone.levels = zone.levels.orInner(path.Child("levels"), z.Levels)
			zone.nodeGroups = zone.nodeGroups.orInner(path.Child("nodeGroups"), z.NodeGroups)
			b.addLevels(zone, 0)
		}
	}
}

// addLevels creates the domains of the additional levels, from the given depth inwards.
func (b *builder) addLevels(outer domainDraft, depth int) {
	if last := len(outer.levels.items) - 1; depth == 0 && last >= 0 && b.countInnermost(outer.levels.items) > b.limit {
		b.reportOverflow(outer.levels.path.Index(last), "innermost domains")
		return
	}
	if depth < len(outer.levels.items) {
		l, path := &outer.levels.items[depth], outer.levels.path.Index(depth)
		if b.failed[path.Child("key").String()] {
			b.addLevels(outer, depth+1)
			return
		}
		pattern := cmp.Or(l.Name, outer.prefixPattern(l.placeholder()+"-{index}"))
		for _, n := range b.declareNames(outer, l.Key, pattern, l.Count, path) {
			b.addLevels(outer.newInner(path, n, "{"+l.placeholder()+"}", nil), depth+1)
		}
		return
	}
	if len(outer.nodeGroups.items) == 0 {
		b.reportError(field.Required(outer.path.Child("nodeGroups"), "no nodes here; list node groups here or further out"))
	}
	for i := range outer.nodeGroups.items {
		g := &outer.nodeGroups.items[i]
		b.domainCounts[g]++
		more := 0
		if g.Total == nil {
			more = validCount(g.Count, b.limit)
		} else if b.domainCounts[g] == 1 {
			more = validCount(g.Total, b.limit)
		}
		b.plannedNodes += more
		for i := range g.Devices {
			b.plannedDevices += more * validCount(g.Devices[i].Count, maxDevices)
		}
		if b.plannedNodes > b.limit {
			b.reportOverflow(outer.nodeGroups.path.Index(i), "nodes")
		}
	}
	b.innermost = append(b.innermost, outer)
	if len(b.innermost) > b.limit {
		b.reportOverflow(outer.path, "innermost domains")
	}
	b.limitReached = b.limitReached || max(b.plannedNodes, len(b.innermost)) > b.countLimit
}

// countInnermost returns how many domains the levels make inside of one outer domain, and stops above the limit: thirty levels of ten domains each would
// be built for a minute before the first of them is too many.
func (b *builder) countInnermost(levels []Level) int {
	n := 1
	for i := range levels {
		if n *= validCount(levels[i].Count, b.limit); n > b.limit {
			break
		}
	}
	return n
}

// declareNames returns the names of the domains that an entry declares. It stops at the first invalid name, which it reports.
func (b *builder) declareNames(outer domainDraft, key, pattern string, count *int, path *field.Path) []labelValue {
	path = path.Child("name")
	pattern, err := expandPattern(pattern, outer.names)
	if err != nil {
		b.reportError(field.Invalid(path, pattern, err.Error()))
		return nil
	}
	var names []labelValue
	for range validCount(count, b.limit) {
		if b.limitReached {
			return nil
		}
		n := b.nextName(labelValue{key, pattern})
		if problems := validation.IsValidLabelValue(n.value); len(problems) > 0 {
			b.reportError(field.Invalid(path, n.value, "must be a label value: "+strings.Join(problems, "; ")))
			return names
		}
		if b.used[n] {
			b.reportError(duplicateNameError(path, n.value))
			return names
		}
		b.used[n] = true
		names = append(names, n)
	}
	return names
}

// createNodes creates the nodes of all innermost domains.
func (b *builder) createNodes() {
	if b.limitReached {
		return
	}
	done := map[*NodeGroup]int{}
	for _, p := range b.innermost {
		for i := range p.nodeGroups.items {
			g := &p.nodeGroups.items[i]
			count := validCount(g.Count, b.limit)
			if g.Total != nil {
				// The group gets total/n nodes per domain, rounded. The differences of a running sum that is rounded up are even at every
				// level, not only over all domains: 7 nodes over 4 domains make the sums 2, 4, 6 and 7, so the domains get 2, 2, 2 and 1.
				total, n := validCount(g.Total, b.limit), b.domainCounts[g]
				count = (total*(done[g]+1)+n-1)/n - (total*done[g]+n-1)/n
			}
			done[g]++
			b.createGroup(p, g, count, p.nodeGroups.path.Index(i))
		}
	}
}

// createGroup creates the nodes of one group in one innermost domain.
func (b *builder) createGroup(p domainDraft, g *NodeGroup, count int, path *field.Path) {
	groupName := cmp.Or(g.Name, "node")
	path = path.Child("namePattern")
	pattern, err := expandPattern(cmp.Or(g.NamePattern, p.prefixPattern("{group}-{index}")), append(slices.Clip(p.names), "{group}", groupName))
	if err != nil {
		b.reportError(field.Invalid(path, pattern, err.Error()))
		return
	}
	labels := maps.Clone(p.labels)
	maps.Copy(labels, g.Labels)
	for range count {
		n := b.nextName(labelValue{v1.LabelHostname, strings.ToLower(pattern)})
		// A node name may be longer, but it is also the value of the hostname label.
		problems := append(validation.IsDNS1123Subdomain(n.value), validation.IsValidLabelValue(n.value)...)
		if len(problems) > 0 {
			b.reportError(field.Invalid(path, n.value, "must be a node name and a label value: "+strings.Join(problems, "; ")))
			return
		}
		if b.used[n] {
			b.reportError(duplicateNameError(path, n.value))
			return
		}
		b.used[n] = true
		node := *b.prototypes[g]
		node.Name = n.value
		node.Labels = maps.Clone(labels)
		node.Labels[v1.LabelHostname] = n.value
		for _, key := range g.WithoutLabels {
			delete(node.Labels, key)
		}
		node.Status.NodeInfo = v1.NodeSystemInfo{OperatingSystem: labels[v1.LabelOSStable], Architecture: labels[v1.LabelArchStable]}
		b.nodes = append(b.nodes, &node)
		b.addSlices(g, &node)
	}
}

// nextName puts the next index into the pattern. It counts separately for each pattern, so names are unique even if domains and groups share
// a pattern.
func (b *builder) nextName(pattern labelValue) labelValue {
	if !strings.Contains(pattern.value, "{index}") {
		return pattern
	}
	b.lastIndexes[pattern]++
	return labelValue{pattern.key, strings.ReplaceAll(pattern.value, "{index}", strconv.Itoa(b.lastIndexes[pattern]))}
}

// reportOverflow reports that the cluster has too many nodes or domains, once.
func (b *builder) reportOverflow(path *field.Path, what string) {
	if !b.limitReached {
		b.errs = append(b.errs, field.Forbidden(path, fmt.Sprintf("the cluster has more than %d %s; reduce the counts", b.limit, what)))
	}
	b.limitReached = true
}

// reportError reports an error, if it is the first one of its field.
func (b *builder) reportError(err *field.Error) {
	if !b.failed[err.Field] {
		b.failed[err.Field] = true
		b.errs = append(b.errs, err)
	}
}

var placeholders = regexp.MustCompile(`\{[^{}]*\}`)

// expandPattern replaces the placeholders of a pattern by their values, and leaves {index} in place. Names alternates placeholders and values.
func expandPattern(pattern string, names []string) (string, error) {
	var unknown string
	expanded := placeholders.ReplaceAllStringFunc(pattern, func(placeholder string) string {
		for i := 0; i < len(names); i += 2 {
			if names[i] == placeholder {
				return names[i+1]
			}
		}
		if placeholder != "{index}" {
			unknown = placeholder
		}
		return placeholder
	})
	if unknown == "" {
		return expanded, nil
	}
	var legal []string
	for i := 0; i < len(names); i += 2 {
		legal = append(legal, names[i])
	}
	return pattern, fmt.Errorf("unknown placeholder %s: use %s", unknown, strings.Join(append(legal, "{index}"), ", "))
}

// duplicateNameError returns the error that a name is already taken.
func duplicateNameError(path *field.Path, value string) *field.Error {
	err := field.Duplicate(path, value)
	err.Detail = "the name is already taken; add {index} or the name of an outer domain, such as {region}"
	return err
}

// validCount returns a count or total, or 1 if it is missing or invalid. An invalid one is reported by [builder.checkSpec].
func validCount(count *int, limit int) int {
	if count == nil || *count < 1 || *count > limit {
		return 1
	}
	return *count
}

// newNode returns a ready node with these resources and nothing else.
func newNode(resources v1.ResourceList, taints []v1.Taint) *v1.Node {
	return &v1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		Spec:     v1.NodeSpec{Taints: taints},
		Status: v1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},

			DeclaredFeatures: declaredFeatures(),
		},
	}
}
