package operation

import (
	"errors"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askconsolidate "github.com/faultline/faultline/pkg/ask/consolidate"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report/consolidate"
	"github.com/faultline/faultline/pkg/scenario"
)

func newDefragment(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var timeout command.Timeout
	var op operation
	var proof command.Proof
	var pool string
	var keep []string
	drain := scenario.Drain{}
	cmd := &cobra.Command{
		Use:   "defragment [SCENARIO | MANIFEST...] --pool KEY=VALUE",
		Short: "Find nodes that can be free of pods for large ones, with every budget kept",
		Long: `Run a scenario to its end, then try to free one node of a group after another, the least used first: cordon it, evict its pods as
budgets allow, let controllers and the scheduler place them again. A node is free if only pods of DaemonSets and static pods are left. It
counts only if no pod is left without a node; otherwise everything is as before the try, and the report says why the node stays.

This is simulate consolidate without the removal of nodes: the free nodes stay, cordoned, until you uncordon them for what needs them.
Another order of nodes may free more; simulate make-room finds the fewest moves for given pods. --steps writes the drains, in order.`,
		Example: `  simulate defragment dump.json --pool pool=gpu
  simulate defragment dump.json --pool nvidia.com/gpu --prove
  simulate defragment scenario.yaml --pool pool=general --keep worker-1 -o name`,
		RunE: command.Question[consolidate.Report]{
			Input: &in, Output: &out, Formats: consolidate.Formats, Timeout: &timeout,
			Check: func(c *command.Call) error {
				if pool == "" {
					return errors.Join(c.Usage("--pool is missing; give the nodes that may be free, by a label such as pool=gpu, or by a resource such as nvidia.com/gpu"), proof.Check(c))
				}
				return proof.Check(c)
			},
			Ask: func(c *command.Call) (*consolidate.Report, error) {
				s, err := op.load(c)
				if err != nil {
					return nil, err
				}
				return op.consolidate(c, s, &proof, func(state *cluster.State) (opts askconsolidate.Options, err error) {
					opts.Free, opts.Drain = true, drain
					label := pool
					having := nodesWith(state, v1.ResourceName(pool))
					if len(having) > 0 {
						label = ""
					}
					if opts.Among, opts.Keep, err = selectNodes(c, state, "pool", label, keep); err == nil && len(having) > 0 {
						opts.Among = having
					}
					return opts, err
				})
			},
		}.Run(s),
	}
	in.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&pool, "pool", "", "free nodes with this label, as `KEY=VALUE`, with this resource, such as nvidia.com/gpu,\nor of the node group with this name")
	flags.StringArrayVar(&keep, "keep", nil, "leave these `NODES` as they are: NAME,… or LABEL=VALUE (repeatable)")
	flags.BoolVar(&drain.DeleteEmptyDirData, "delete-emptydir-data", false, "also evict pods with emptyDir volumes, whose data is lost")
	op.register(cmd, "nodes are drained")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, consolidate.Formats.Names(), "the answer, on one line", "list every node")
	return cmd
}

// nodesWith returns the names of the nodes that have the resource.
func nodesWith(state *cluster.State, resource v1.ResourceName) []string {
	var names []string
	for _, node := range state.Nodes {
		if has := node.Status.Allocatable[resource]; !has.IsZero() {
			names = append(names, node.Name)
		}
	}
	return names
}
