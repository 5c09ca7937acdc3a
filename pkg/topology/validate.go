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

// checkSpec checks every entry of the spec on its own, used or not, and prepares the node groups.
func (b *builder) checkSpec(spec *Spec, path *field.Path) {
	for i := range spec.Regions {
		r, path := &spec.Regions[i], path.Child("regions").Index(i)
		b.checkCount(r.Count, path.Child("count"))
		b.checkZones(r.Zones, path.Child("zones"))
		b.checkLevels(r.Levels, path.Child("levels"))
		b.checkGroups(r.NodeGroups, path.Child("nodeGroups"))
		b.checkLabels(r.Labels, path.Child("labels"))
	}
	b.checkZones(spec.Zones, path.Child("zones"))
	b.checkLevels(spec.Levels, path.Child("levels"))
	b.checkGroups(spec.NodeGroups, path.Child("nodeGroups"))
	b.checkLabels(spec.Labels, path.Child("labels"))
}

// checkZones checks the entries of a list of zones.
func (b *builder) checkZones(zones []Zone, path *field.Path) {
	for i := range zones {
		z, path := &zones[i], path.Index(i)
		b.checkCount(z.Count, path.Child("count"))
		b.checkLevels(z.Levels, path.Child("levels"))
		b.checkGroups(z.NodeGroups, path.Child("nodeGroups"))
		b.checkLabels(z.Labels, path.Child("labels"))
	}
}

// checkLevels checks the entries of a list of additional levels.
func (b *builder) checkLevels(levels []Level, path *field.Path) {
	taken := []string{"region", "zone", "group", "index"}
	for i, l := range levels {
		path := path.Index(i)
		b.checkCount(l.Count, path.Child("count"))
		if problems := validation.IsQualifiedName(l.Key); l.Key == "" {
			b.reportError(field.Required(path.Child("key"), "the label key of the level, such as rack"))
		} else if len(problems) > 0 {
			b.reportError(field.Invalid(path.Child("key"), l.Key, "must be a label key: "+strings.Join(problems, "; ")))
		} else if l.Key == v1.LabelHostname || slices.Contains(taken, l.placeholder()) {
			b.reportError(field.Invalid(path.Child("key"), l.Key, fmt.Sprintf("{%s} already has a meaning; choose another key", l.placeholder())))
		}
		taken = append(taken, l.placeholder())
	}
}

// placeholder returns the name of the level's placeholder: the key without its prefix.
func (l *Level) placeholder() string {
	return l.Key[strings.LastIndex(l.Key, "/")+1:]
}

// The resources of a node if its group does not give them.
const (
	defaultCPU              = "4"
	defaultMemory           = "16Gi"
	defaultPods             = "110"
	defaultEphemeralStorage = "100Gi"
)

// checkGroups checks the entries of a list of node groups, and prepares a node of each.
func (b *builder) checkGroups(groups []NodeGroup, path *field.Path) {
	var taken []string
	for i := range groups {
		g, path := &groups[i], path.Index(i)
		if name := cmp.Or(g.Name, "node"); slices.Contains(taken, name) {
			b.reportError(field.Duplicate(path.Child("name"), name))
		} else {
			taken = append(taken, name)
		}
		switch {
		case g.Count == nil && g.Total == nil:
			b.reportError(field.Required(path.Child("count"), "give the number of nodes: count in each innermost domain, or total over all of them"))
		case g.Count != nil && g.Total != nil:
			b.reportError(field.Forbidden(path.Child("total"), "give either count or total"))
		}
		b.checkCount(g.Count, path.Child("count"))
		b.checkCount(g.Total, path.Child("total"))
		b.checkLabels(g.Labels, path.Child("labels"))
		for j, key := range g.WithoutLabels {
			if problems := validation.IsQualifiedName(key); len(problems) > 0 {
				b.reportError(field.Invalid(path.Child("withoutLabels").Index(j), key, "must be a label key: "+strings.Join(problems, "; ")))
			}
		}
		for _, err := range validateTaints(g.Taints, path.Child("taints")) {
			b.reportError(err)
		}
		b.checkDevices(g.Devices, path.Child("devices"))
		node := newNode(b.parseResources(g, path), g.Taints)
		if g.PricePerHour != nil {
			if *g.PricePerHour < 0 {
				b.reportError(field.Invalid(path.Child("pricePerHour"), *g.PricePerHour, "must be at least 0"))
			}
			node.Annotations = map[string]string{PriceAnnotation: strconv.FormatFloat(*g.PricePerHour, 'f', -1, 64)}
		}
		b.prototypes[g] = node
	}
}

// astronomic matches exponents that resource.Quantity takes minutes to print.
var astronomic = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)

// parseResources returns the resources of a node of the group, without the invalid ones, which it reports.
func (b *builder) parseResources(g *NodeGroup, path *field.Path) v1.ResourceList {
	list := v1.ResourceList{}
	set := func(name v1.ResourceName, q Quantity, path *field.Path) {
		if astronomic.MatchString(string(q)) {
			b.reportError(field.Invalid(path, string(q), "is out of range"))
			return
		}
		value, err := resource.ParseQuantity(string(q))
		switch {
		case err != nil:
			b.reportError(field.Invalid(path, string(q), "must be a quantity such as 4, 500m or 16Gi"))
		case value.Sign() <= 0:
			b.reportError(field.Invalid(path, string(q), "must be more than 0"))
		case value.CmpInt64(math.MaxInt64/1000) > 0: // the scheduler counts in thousandths
			b.reportError(field.Invalid(path, string(q), "is out of range"))
		case name != v1.ResourceCPU && value.Cmp(*resource.NewQuantity(value.Value(), value.Format)) != 0:
			b.reportError(field.Invalid(path, string(q), "must be a whole number: only cpu can be divided"))
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
			b.reportError(field.Invalid(path, key, "must be a resource name: "+strings.Join(problems, "; ")))
		} else if !strings.Contains(key, "/") && !strings.HasPrefix(key, v1.ResourceHugePagesPrefix) {
			b.reportError(field.Invalid(path, key, "must have a domain, such as nvidia.com/gpu, or begin with hugepages-; "+
				"cpu, memory, pods and ephemeralStorage are fields of the node group"))
		}
		set(v1.ResourceName(key), g.Resources[key], path)
	}
	return list
}

// checkCount checks a count or total, which may be missing.
func (b *builder) checkCount(count *int, path *field.Path) {
	if count != nil && *count < 1 {
		b.reportError(field.Invalid(path, *count, "must be at least 1"))
	} else if count != nil && *count > b.limit {
		b.reportError(field.Invalid(path, *count, fmt.Sprintf("must be at most %d", b.limit)))
	}
}

// checkLabels checks the labels of an entry.
func (b *builder) checkLabels(labels map[string]string, path *field.Path) {
	for _, err := range validateLabels(labels, path) {
		b.reportError(err)
	}
	if _, found := labels[v1.LabelHostname]; found {
		b.reportError(field.Forbidden(path.Key(v1.LabelHostname), "is the name of the node, see namePattern"))
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
