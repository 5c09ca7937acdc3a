package input

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// nodeFlags are the flags that make up nodes for manifests. Their defaults describe the nodes that are assumed without any flag.
type nodeFlags struct {
	total, zones, regions int
	cpu, memory, kindName string
	resources             []string
}

// assumedNodes describes the nodes that manifests without nodes get.
var assumedNodes = nodeFlags{total: 9, zones: 3, cpu: "16", memory: "64Gi"}

// AssumeNodes reads manifests as if no flag asked for nodes, for a command that lacks these flags.
func (i *Flags) AssumeNodes() {
	assumed := assumedNodes
	i.nodes = &assumed
}

func (n *nodeFlags) register(cmd *cobra.Command) {
	withoutField(cmd, func() { n.registerShape(cmd.Flags()) })
	cmd.Flags().StringVar(&n.kindName, "kind-name", "", "name these nodes as kind does in a cluster of this `NAME`, and add its control plane")
}

// registerShape adds the flags of nodes that a scenario file can make up, too.
func (n *nodeFlags) registerShape(flags *pflag.FlagSet) {
	flags.IntVar(&n.total, "nodes", assumedNodes.total, "make up this `NUMBER` of nodes, for manifests that come without any")
	flags.IntVar(&n.zones, "zones", assumedNodes.zones, "put these nodes into this `NUMBER` of zones, in each region")
	flags.IntVar(&n.regions, "regions", 0, "put these nodes into this `NUMBER` of regions (default nodes without a region)")
	flags.StringVar(&n.cpu, "cpu", assumedNodes.cpu, "give each of these nodes this many `CORES`")
	flags.StringVar(&n.memory, "memory", assumedNodes.memory, "give each of these nodes this `AMOUNT` of memory")
	flags.StringArrayVar(&n.resources, "resource", nil, "give each of these nodes a further resource, as `NAME=AMOUNT`, such as nvidia.com/gpu=8 (repeatable)")
}

// nodeFlagNames are the names of the flags of nodes.
var nodeFlagNames = []string{"nodes", "zones", "regions", "cpu", "memory", "resource", "kind-name"}

// givenFlags returns the flags that are given, each with --.
func (n *nodeFlags) givenFlags(cmd *cobra.Command) []string {
	var given []string
	for _, name := range nodeFlagNames {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// options describes the nodes to make up. It rejects nodes that cannot be made.
func (n *nodeFlags) options(cmd *cobra.Command) (*loader.Nodes, error) {
	var problems []error
	resources := map[string]topology.Quantity{}
	for _, given := range n.resources {
		name, amount, both := strings.Cut(given, "=")
		if resources[name] = topology.Quantity(amount); !both {
			problems = append(problems, fmt.Errorf("--resource %q: give a name and an amount, such as nvidia.com/gpu=8", given))
			delete(resources, name)
		}
	}
	made := &loader.Nodes{
		Spec: topology.Spec{
			Zones:      []topology.Zone{{Count: &n.zones}},
			NodeGroups: []topology.NodeGroup{{Total: &n.total, CPU: topology.Quantity(n.cpu), Memory: topology.Quantity(n.memory), Resources: resources}},
		},
		KindName: n.kindName,
		Flags:    n.givenFlags(cmd),
		Assumed: fmt.Sprintf("assumed, since no nodes are given: %d nodes of %s cores and %s in %d zones; give --cluster, or --nodes, --zones, --cpu and --memory.",
			n.total, n.cpu, n.memory, n.zones),
	}
	flagOf := map[string]string{"nodes.nodeGroups[0].total": "nodes", "nodes.nodeGroups[0].cpu": "cpu", "nodes.nodeGroups[0].memory": "memory",
		"nodes.zones[0].count": "zones", "nodes.regions[0].count": "regions"}
	for name := range resources {
		flagOf[fmt.Sprintf("nodes.nodeGroups[0].resources[%s]", name)] = "resource"
	}
	domains := n.zones
	if cmd.Flags().Changed("regions") {
		made.Spec.Regions = []topology.Region{{Count: &n.regions}}
		domains *= n.regions
	}
	for _, err := range made.Spec.Validate(field.NewPath("nodes")) {
		problems = append(problems, fmt.Errorf("--%s %v: %s", flagOf[err.Field], err.BadValue, err.Detail))
	}
	if cmd.Flags().Changed("kind-name") {
		for _, problem := range validation.IsDNS1123Subdomain(n.kindName) {
			problems = append(problems, fmt.Errorf("--kind-name %q: %s", n.kindName, problem))
		}
	}
	if len(problems) == 0 && domains > n.total {
		problems = append(problems, fmt.Errorf("--nodes %d: %s cannot be in %s; give at least %d nodes, or fewer zones",
			n.total,
			words.Count(n.total, "node"), words.Count(domains, "zone"), domains))
	}
	return made, exit.UsageProblems(cmd, problems...)
}
