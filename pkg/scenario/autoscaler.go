package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/topology"
)

// Autoscaler is the Cluster Autoscaler, with the groups of nodes whose sizes it sets.
type Autoscaler struct {
	// NodeGroups lists groups of equal nodes whose number the autoscaler may change. A group with neither from nor template sets the limits
	// and the price of the group that a label of nodes names. Default: the groups that labels of nodes name, without a minimum, and with up
	// to 1000 nodes each.
	NodeGroups []AutoscaledGroup `json:"nodeGroups,omitempty"`
	// GroupsBy is the label whose values name the groups of nodes, such as pool. Default: the label that the cloud uses, such as
	// eks.amazonaws.com/nodegroup, unless nodeGroups says otherwise.
	GroupsBy string `json:"groupsBy,omitempty"`
	// Expander chooses among groups that could help, as the flag --expander does: random, most-pods, least-waste, least-nodes, priority, or
	// several of them in turn, separated by commas. Default: least-waste.
	Expander string `json:"expander,omitempty"`
	// Priorities are for the expander priority: regular expressions for names of groups, by priority, which is a whole number. The highest
	// priority wins. Default: none.
	Priorities map[string][]string `json:"priorities,omitempty"`
	// ScaleDown says when nodes are removed. Default: no node is removed.
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
	// ReadyAfter is how long a new node takes to become ready, as a duration such as 90s, from 0s. Default: 2m.
	ReadyAfter string `json:"readyAfter,omitempty"`
	// Flags are other flags of the autoscaler, by their names without dashes, such as max-nodes-total: "20". Default: the autoscaler's.
	Flags map[string]string `json:"flags,omitempty"`
}

// AutoscaledGroup is a group of equal nodes, whose number the autoscaler sets.
type AutoscaledGroup struct {
	// Name is the group's name in the cloud.
	Name string `json:"name"`
	// Min is the number of nodes of the group below which the autoscaler does not go, from 0. Default: 0.
	Min int `json:"min,omitempty" jsonschema:"minimum=0"`
	// Max is the number of nodes of the group above which the autoscaler does not go, from 1. Default: 1000 for a group that a label names;
	// other groups must give it.
	Max int `json:"max,omitempty" jsonschema:"minimum=1"`
	// From is a label of the nodes of the group, as KEY=VALUE. Default: the label that names the groups, see groupsBy; a group with a
	// template has only nodes that the autoscaler adds.
	From string `json:"from,omitempty"`
	// Template is the name of a node of the cluster that new nodes copy while the group has none. Default: the first node of the group.
	Template string `json:"template,omitempty"`
	// Price is what a node costs in an hour, from 0. Default: prices are not shown.
	Price float64 `json:"price,omitempty" jsonschema:"minimum=0"`
}

// GroupAnnotation names the group of a node that has no label for its group.
const GroupAnnotation = "faultline.dev/node-group"

// Has reports whether the node is in the group.
func (g *AutoscaledGroup) Has(node *v1.Node) bool {
	if node.Annotations[GroupAnnotation] == g.Name {
		return true
	}
	key, value, labelled := strings.Cut(g.From, "=")
	has, found := node.Labels[key]
	return labelled && found && has == value
}

// Price returns what the node costs an hour, by its group or else by its annotation, and whether a price is known. It returns an error if
// the annotation is no price. The autoscaler may be nil.
func (a *Autoscaler) Price(node *v1.Node) (price float64, known bool, err error) {
	price, known, err = topology.Price(node)
	if a == nil || err != nil {
		return price, known, err
	}
	if i := slices.IndexFunc(a.NodeGroups, func(g AutoscaledGroup) bool { return g.Has(node) }); i >= 0 && a.NodeGroups[i].Price > 0 {
		return a.NodeGroups[i].Price, true, nil
	}
	return price, known, nil
}

// ScaleDown says when nodes are removed.
type ScaleDown struct {
	// Threshold is the largest share of a node's CPU and memory that its pods may request for the node to be removed, as for the flag
	// --scale-down-utilization-threshold, from 0 to 1. Default: 0.5.
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Unneeded is how long a node must have been unneeded, as for the flag --scale-down-unneeded-time. Default: 10m.
	Unneeded string `json:"unneeded,omitempty"`
}

// readyAfter is how long a new node takes to become ready if the scenario does not say.
const readyAfter = "2m"

// Startup returns how long a new node takes to become ready.
func (a *Autoscaler) Startup() time.Duration {
	return parseDuration(cmp.Or(a.ReadyAfter, readyAfter))
}

// Options returns the autoscaler's options, and the errors of fields by the fields' paths below the autoscaler.
func (a *Autoscaler) Options() (autoscaler.Options, map[string]error) {
	var options autoscaler.Options
	flags, problems := options.Flags(), map[string]error{}
	set := func(place, name, value string) {
		switch {
		case value == "":
		case flags.Lookup(name) == nil:
			problems[place] = fmt.Errorf("%q is no flag of the Cluster Autoscaler that counts here%s", name, manifest.DidYouMean(name, autoscaler.FlagNames()))
		default:
			if err := flags.Set(name, value); err != nil {
				if err.Error() == "parse error" {
					err = fmt.Errorf("%q is no value of --%s", value, name)
				}
				problems[place] = err
			}
		}
	}
	set("scaleDown", "scale-down-enabled", fmt.Sprint(a.ScaleDown != nil))
	set("expander", "expander", a.Expander)
	if down := a.ScaleDown; down != nil {
		if down.Threshold != nil {
			set("scaleDown.threshold", "scale-down-utilization-threshold", fmt.Sprint(*down.Threshold))
		}
		set("scaleDown.unneeded", "scale-down-unneeded-time", down.Unneeded)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Flags)) {
		set("flags."+name, name, a.Flags[name])
	}
	if a.Priorities != nil {
		written := map[int][]string{}
		for _, key := range slices.Sorted(maps.Keys(a.Priorities)) {
			priority, err := strconv.Atoi(key)
			if err != nil {
				problems["priorities"] = fmt.Errorf("%q is not a whole number; give regular expressions for names of groups by priority", key)
			}
			written[priority] = a.Priorities[key]
		}
		var err error
		if options.Priorities, err = autoscaler.CompilePriorities(written); err != nil {
			problems["priorities"] = fmt.Errorf("%w; give regular expressions for names of groups", err)
		}
	}
	return options, problems
}

// validateAutoscaler reports problems of the autoscaler that do not depend on objects.
func validateAutoscaler(p *Problems, path *field.Path, a *Autoscaler) {
	known := map[string]bool{}
	for i, group := range a.NodeGroups {
		path := path.Child("nodeGroups").Index(i)
		switch {
		case group.Name == "":
			p.Add(path.Child("name"), "is empty; give the group a name")
		case known[group.Name]:
			p.Add(path.Child("name"), "%q is the name of two groups; give each its own", group.Name)
		}
		known[group.Name] = true
		if group.Min < 0 {
			p.Add(path.Child("min"), "%d is less than 0; give the least number of nodes", group.Min)
		}
		if group.Max < max(group.Min, 1) && (group.Max != 0 || !a.groupsByLabel()) {
			p.Add(path.Child("max"), "%d is less than %d; give the largest number of nodes", group.Max, max(group.Min, 1))
		}
		if key, _, found := strings.Cut(group.From, "="); group.From != "" && (!found || key == "") {
			p.Add(path.Child("from"), "%q is not KEY=VALUE; give a label that the nodes of the group have", group.From)
		}
		switch {
		case a.GroupsBy != "" && group.From+group.Template != "":
			p.Add(path, "has from or template, which groupsBy says already; leave out one of them")
		case group.From == "" && group.Template == "" && !a.groupsByLabel():
			p.Add(path, "has neither from nor template; give the label of its nodes, or the name of a node that new ones are like")
		}
		if group.Price < 0 {
			p.Add(path.Child("price"), "%v is less than 0; give what a node costs in an hour", group.Price)
		}
	}
	if down := a.ScaleDown; down != nil && (ptr.Deref(down.Threshold, 0) < 0 || ptr.Deref(down.Threshold, 0) > 1) {
		p.Add(path.Child("scaleDown", "threshold"), "%v is not a share from 0 to 1", *down.Threshold)
	}
	if down := a.ScaleDown; down != nil && strings.HasPrefix(down.Unneeded, "-") {
		p.Add(path.Child("scaleDown", "unneeded"), "%q is not a duration from 0s, such as 10m", down.Unneeded)
	}
	validateDuration(p, path.Child("readyAfter"), a.ReadyAfter)
	_, problems := a.Options()
	for _, place := range slices.Sorted(maps.Keys(problems)) {
		p.Add(path.Child(place), "%s", problems[place])
	}
}
