package input

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/scenario"
)

// autoscalerFlags are the values of the flags about the Cluster Autoscaler and its node groups.
type autoscalerFlags struct {
	on        bool
	by        string
	groups    []string
	expander  string
	scaleDown bool
}

// RegisterAutoscaler adds --autoscale, the flags of node groups, and --decider, for commands in which the autoscaler and deciders act.
func (i *Flags) RegisterAutoscaler(cmd *cobra.Command) {
	i.groupAutoscaler(cmd, func() {
		cmd.Flags().BoolVar(&i.autoscaler.on, "autoscale", false, "let the Cluster Autoscaler add nodes for pods without one, to the groups of the scenario, or to those\n"+
			"that the nodes' labels name; false leaves out the scenario's")
		i.AddOverlay("autoscale", "autoscaler", func(f *scenario.File) {
			if !i.autoscaler.on {
				f.Autoscaler = nil
			} else if f.Autoscaler == nil {
				f.Autoscaler = &scenario.Autoscaler{}
			}
		})
		i.registerGroups(cmd)
	})
	i.registerDeciders(cmd)
}

// RegisterScale adds the flags of node groups for a command in which the autoscaler always acts.
func (i *Flags) RegisterScale(cmd *cobra.Command) {
	i.autoscaler.on = true
	i.groupAutoscaler(cmd, func() { i.registerGroups(cmd) })
	i.registerDeciders(cmd)
}

// groupAutoscaler calls register, whose flags about the autoscaler Overlays returns.
func (i *Flags) groupAutoscaler(cmd *cobra.Command, register func()) {
	withoutField(cmd, func() { registerGroup(cmd, autoscalerGroup, register) })
}

func (i *Flags) registerGroups(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.autoscaler.by, "groups-by", "", "`LABEL` whose values name the node groups (default the one that clouds use, such as eks.amazonaws.com/nodegroup)")
	cmd.Flags().StringArrayVar(&i.autoscaler.groups, "node-group", nil, "limits of a node group, and the price of a node in an hour: `NAME=MIN:MAX[:PRICE]`, such as\n"+
		"general=1:10 or spot=0:50:0.12 (repeatable; default from 0 to "+strconv.Itoa(scenario.AssumedMaxNodes)+" nodes)")
	cmd.Flags().StringVar(&i.autoscaler.expander, "expander", "", "`EXPANDER` that chooses among groups that could help: "+strings.Join(expanders, ", ")+",\nor several in turn, with commas (default least-waste, or what the scenario says)")
	i.AddOverlay("expander", "autoscaler.expander", func(f *scenario.File) {
		f.Autoscaler = copyAutoscaler(f.Autoscaler)
		f.Autoscaler.Expander = i.autoscaler.expander
	})
	cmd.Flags().BoolVar(&i.autoscaler.scaleDown, "scale-down", false, "also remove nodes that have not been needed for ten minutes, or as long as the scenario says; false removes none")
	i.AddOverlay("scale-down", "autoscaler.scaleDown", func(f *scenario.File) {
		f.Autoscaler = copyAutoscaler(f.Autoscaler)
		switch {
		case !i.autoscaler.scaleDown:
			f.Autoscaler.ScaleDown = nil
		case f.Autoscaler.ScaleDown == nil:
			f.Autoscaler.ScaleDown = &scenario.ScaleDown{}
		}
	})
	output.CompleteValues(cmd, "expander", expanders)
}

var expanders = []string{"least-waste", "least-nodes", "most-pods", "priority", "random"}

// copyAutoscaler returns a copy of the autoscaler, or one with the defaults.
func copyAutoscaler(a *scenario.Autoscaler) *scenario.Autoscaler {
	if a == nil {
		return &scenario.Autoscaler{}
	}
	return ptr.To(*a)
}

// options returns a function that sets the fields of a scenario's autoscaler that the flags give.
func (a *autoscalerFlags) options(cmd *cobra.Command) (func(*scenario.File), error) {
	var groups []scenario.AutoscaledGroup
	for _, given := range a.groups {
		group, err := parseNodeGroup(given)
		if err != nil {
			return nil, exit.Usage(cmd, "%s", err)
		}
		groups = append(groups, group)
	}
	if more := []string{"groups-by", "node-group", "expander", "scale-down"}; !a.on && cmd.Flags().Changed("autoscale") && slices.ContainsFunc(more, cmd.Flags().Changed) {
		return nil, exit.Usage(cmd, "--autoscale=false leaves no node groups; leave out --%s", strings.Join(more, ", --"))
	}
	return func(f *scenario.File) {
		if !a.on && a.by == "" && groups == nil { // --expander and --scale-down have made an autoscaler if there is to be one
			return
		}
		if f.Autoscaler == nil && len(f.Deciders) > 0 && a.by == "" && groups == nil { // a decider adds the nodes
			return
		}
		next := copyAutoscaler(f.Autoscaler)
		if a.by != "" {
			next.GroupsBy = a.by
		}
		next.NodeGroups = slices.Clone(next.NodeGroups)
		for _, group := range groups {
			at := slices.IndexFunc(next.NodeGroups, func(of scenario.AutoscaledGroup) bool { return of.Name == group.Name })
			if at < 0 {
				next.NodeGroups = append(next.NodeGroups, group)
				continue
			}
			of := &next.NodeGroups[at]
			of.Min, of.Max = group.Min, group.Max
			if group.Price > 0 {
				of.Price = group.Price
			}
		}
		f.Autoscaler = next
	}, nil
}

// parseNodeGroup reads NAME=MIN:MAX or NAME=MIN:MAX:PRICE.
func parseNodeGroup(given string) (group scenario.AutoscaledGroup, err error) {
	wrong := fmt.Errorf("--node-group %q: give NAME=MIN:MAX or NAME=MIN:MAX:PRICE, such as general=1:10 or spot=0:50:0.12", given)
	at := strings.LastIndex(given, "=")
	if at < 1 {
		return group, wrong
	}
	group.Name = given[:at]
	parts := strings.Split(given[at+1:], ":")
	if len(parts) != 2 && len(parts) != 3 {
		return group, wrong
	}
	var wrongs [3]error
	group.Min, wrongs[0] = strconv.Atoi(parts[0])
	group.Max, wrongs[1] = strconv.Atoi(parts[1])
	if len(parts) == 3 {
		group.Price, wrongs[2] = strconv.ParseFloat(parts[2], 64)
	}
	switch {
	case wrongs != [3]error{} || group.Min < 0 || !(group.Price >= 0):
		return group, wrong
	case group.Max < max(group.Min, 1):
		return group, fmt.Errorf("--node-group %q: a maximum of %d is less than %d; give at least that", given, group.Max, max(group.Min, 1))
	}
	return group, nil
}
