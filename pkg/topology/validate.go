package topology

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// declarations checks every entry of the spec on its own, used or not, and prepares the node groups.
func (b *builder) declarations(spec *Spec, path *field.Path) {
	for i := range spec.Regions {
		r, path := &spec.Regions[i], path.Child("regions").Index(i)
		b.count(r.Count, path.Child("count"))
		b.zoneDeclarations(r.Zones, path.Child("zones"))
		b.levelDeclarations(r.Levels, path.Child("levels"))
		b.groupDeclarations(r.NodeGroups, path.Child("nodeGroups"))
		b.labels(r.Labels, path.Child("labels"))
	}
	b.zoneDeclarations(spec.Zones, path.Child("zones"))
	b.levelDeclarations(spec.Levels, path.Child("levels"))
	b.groupDeclarations(spec.NodeGroups, path.Child("nodeGroups"))
	b.labels(spec.Labels, path.Child("labels"))
}

// zoneDeclarations checks the entries of a list of zones.
func (b *builder) zoneDeclarations(zones []Zone, path *field.Path) {
	for i := range zones {
		z, path := &zones[i], path.Index(i)
		b.count(z.Count, path.Child("count"))
		b.levelDeclarations(z.Levels, path.Child("levels"))
		b.groupDeclarations(z.NodeGroups, path.Child("nodeGroups"))
		b.labels(z.Labels, path.Child("labels"))
	}
}

// levelDeclarations checks the entries of a list of additional levels.
func (b *builder) levelDeclarations(levels []Level, path *field.Path) {
	taken := []string{"region", "zone", "group", "index"}
	for i, l := range levels {
		path := path.Index(i)
		b.count(l.Count, path.Child("count"))
		if problems := validation.IsQualifiedName(l.Key); l.Key == "" {
			b.fail(field.Required(path.Child("key"), "the label key of the level, such as rack"))
		} else if len(problems) > 0 {
			b.fail(field.Invalid(path.Child("key"), l.Key, "must be a label key: "+strings.Join(problems, "; ")))
		} else if l.Key == v1.LabelHostname || slices.Contains(taken, l.short()) {
			b.fail(field.Invalid(path.Child("key"), l.Key, fmt.Sprintf("{%s} already has a meaning; choose another key", l.short())))
		}
		taken = append(taken, l.short())
	}
}

// short returns the name of the level's placeholder: the key without its prefix.
func (l *Level) short() string {
	return l.Key[strings.LastIndex(l.Key, "/")+1:]
}

// The resources of a node if its group does not give them.
const (
	defaultCPU              = "4"
	defaultMemory           = "16Gi"
	defaultPods             = "110"
	defaultEphemeralStorage = "100Gi"
)

// groupDeclarations checks the entries of a list of node groups, and prepares a node of each.
func (b *builder) groupDeclarations(groups []NodeGroup, path *field.Path) {
	var taken []string
	for i := range groups {
		g, path := &groups[i], path.Index(i)
		if name := cmp.Or(g.Name, "node"); slices.Contains(taken, name) {
			b.fail(field.Duplicate(path.Child("name"), name))
		} else {
			taken = append(taken, name)
		}
		switch {
		case g.Count == nil && g.Total == nil:
			b.fail(field.Required(path.Child("count"), "give the number of nodes: count in each innermost domain, or total over all of them"))
		case g.Count != nil && g.Total != nil:
			b.fail(field.Forbidden(path.Child("total"), "give either count or total"))
		}
		b.count(g.Count, path.Child("count"))
		b.count(g.Total, path.Child("total"))
		b.labels(g.Labels, path.Child("labels"))
		for j, key := range g.WithoutLabels {
			if problems := validation.IsQualifiedName(key); len(problems) > 0 {
				b.fail(field.Invalid(path.Child("withoutLabels").Index(j), key, "must be a label key: "+strings.Join(problems, "; ")))
			}
		}
		for _, err := range validateTaints(g.Taints, path.Child("taints")) {
			b.fail(err)
		}
		b.deviceDeclarations(g.Devices, path.Child("devices"))
		node := newNode(b.resources(g, path), g.Taints)
		if g.PricePerHour != nil {
			if *g.PricePerHour < 0 {
				b.fail(field.Invalid(path.Child("pricePerHour"), *g.PricePerHour, "must be at least 0"))
			}
			node.Annotations = map[string]string{PriceAnnotation: strconv.FormatFloat(*g.PricePerHour, 'f', -1, 64)}
		}
		b.prototype[g] = node
	}
}

// astronomic matches exponents that resource.Quantity takes minutes to print.
var astronomic = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)

// resources returns the resources of a node of the group, without the invalid ones, which it reports.
func (b *builder) resources(g *NodeGroup, path *field.Path) v1.ResourceList {
	list := v1.ResourceList{}
	set := func(name v1.ResourceName, q Quantity, path *field.Path) {
		if astronomic.MatchString(string(q)) {
			b.fail(field.Invalid(path, string(q), "is out of range"))
			return
		}
		value, err := resource.ParseQuantity(string(q))
		switch {
		case err != nil:
			b.fail(field.Invalid(path, string(q), "must be a quantity such as 4, 500m or 16Gi"))
		case value.Sign() <= 0:
			b.fail(field.Invalid(path, string(q), "must be more than 0"))
		case value.CmpInt64(math.MaxInt64/1000) > 0: // the scheduler counts in thousandths
			b.fail(field.Invalid(path, string(q), "is out of range"))
		case name != v1.ResourceCPU && value.Cmp(*resource.NewQuantity(value.Value(), value.Format)) != 0:
			b.fail(field.Invalid(path, string(q), "must be a whole number: only cpu can be divided"))
		default:
			list[name] = value
		}
	}
	set(v1.ResourceCPU, cmp.Or(g.CPU, defaultCPU), path.Child("cpu"))
	set(v1.ResourceMemory, cmp.Or(g.Memory, defaultMemory), path.Child("memory"))
	set(v1.ResourcePods, cmp.Or(g.Pods, defaultPods), path.Child("pods"))
	set(v1.ResourceEphemeralStorage, cmp.Or(g.EphemeralStorage, defaultEphemeralStorage), path.Child("ephemeralStorage"))
	for _, key := range slices.Sorted(maps.Keys(g.Resources)) {
		path := path.Child("resources").Key(key)
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			b.fail(field.Invalid(path, key, "must be a resource name: "+strings.Join(problems, "; ")))
		} else if !strings.Contains(key, "/") && !strings.HasPrefix(key, v1.ResourceHugePagesPrefix) {
			b.fail(field.Invalid(path, key, "must have a domain, such as nvidia.com/gpu, or begin with hugepages-; "+
				"cpu, memory, pods and ephemeralStorage are fields of the node group"))
		}
		set(v1.ResourceName(key), g.Resources[key], path)
	}
	return list
}

// count checks a count or total, which may be missing.
func (b *builder) count(count *int, path *field.Path) {
	if count != nil && *count < 1 {
		b.fail(field.Invalid(path, *count, "must be at least 1"))
	} else if count != nil && *count > b.limit {
		b.fail(field.Invalid(path, *count, fmt.Sprintf("must be at most %d", b.limit)))
	}
}

// labels checks the labels of an entry.
func (b *builder) labels(labels map[string]string, path *field.Path) {
	for _, err := range validateLabels(labels, path) {
		b.fail(err)
	}
	if _, found := labels[v1.LabelHostname]; found {
		b.fail(field.Forbidden(path.Key(v1.LabelHostname), "is the name of the node, see namePattern"))
	}
}

// validateLabels does what ValidateLabels of k8s.io/apimachinery/pkg/apis/meta/v1/validation does, in a stable order and with the key in
// the path.
func validateLabels(labels map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Key(key), key, "must be a label key: "+strings.Join(problems, "; ")))
		} else if problems := validation.IsValidLabelValue(labels[key]); len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Key(key), labels[key], "must be a label value: "+strings.Join(problems, "; ")))
		}
	}
	return errs
}

var taintEffects = []v1.TaintEffect{v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule}

// validateTaints does what validateNodeTaints of the API server does; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/apis/core/validation/validation.go.
func validateTaints(taints []v1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, taint := range taints {
		path := path.Index(i)
		if problems := validation.IsQualifiedName(taint.Key); len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Child("key"), taint.Key, strings.Join(problems, "; ")))
		}
		if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Child("value"), taint.Value, strings.Join(problems, "; ")))
		}
		if taint.Effect == "" {
			errs = append(errs, field.Required(path.Child("effect"), "NoExecute, NoSchedule or PreferNoSchedule"))
		} else if !slices.Contains(taintEffects, taint.Effect) {
			errs = append(errs, field.NotSupported(path.Child("effect"), taint.Effect, taintEffects))
		}
		same := func(other v1.Taint) bool { return other.Key == taint.Key && other.Effect == taint.Effect }
		if slices.ContainsFunc(taints[:i], same) {
			err := field.Duplicate(path, taint.ToString())
			err.Detail = "taints must be unique by key and effect"
			errs = append(errs, err)
		}
	}
	return errs
}
