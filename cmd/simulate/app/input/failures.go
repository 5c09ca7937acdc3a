package input

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askcapacity "github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
)

// Modes are the ways in which nodes can fail. The first is the default.
var Modes = []string{string(node.Unreachable), string(node.OutOfService), string(node.Deleted)}

// RegisterMode adds --mode.
func RegisterMode(cmd *cobra.Command, in *Flags, mode *string, value, besides string) {
	cmd.Flags().StringVar(mode, "mode", value, "`MODE` in which nodes fail: "+strings.Join(Modes, ", ")+besides)
	output.CompleteValues(cmd, "mode", Modes)
	in.AddOverlay("mode", "failures.mode", func(file *scenario.File) { file.Failures.Mode = *mode })
}

// Survival are the flags that select which failures a cluster must survive.
type Survival struct {
	Levels []string
	Mode   string
}

// Register adds the flags.
func (f *Survival) Register(cmd *cobra.Command, in *Flags) {
	cmd.Flags().StringArrayVar(&f.Levels, "survive", nil, "topology `KEY` of which any one domain may fail, such as rack; region, zone and node are short names (repeatable)")
	RegisterMode(cmd, in, &f.Mode, "", "\n(default "+Modes[0]+", or what the scenario says)")
}

// Check rejects --mode without --survive.
func (f *Survival) Check(cmd *cobra.Command) error {
	if f.Mode != "" && len(f.Levels) == 0 {
		return exit.Usage(cmd, "--mode has no effect without --survive; give both")
	}
	return nil
}

// Options returns the options that the flags select. The scenario supplies the mode if the flags do not.
func (f *Survival) Options(nodes []*v1.Node, s *scenario.Scenario) (askcapacity.Options, error) {
	opts := askcapacity.Options{Mode: node.FailureMode(cmp.Or(s.Failures.Mode, Modes[0]))}
	var err error
	opts.Survive, err = askcapacity.Levels(nodes, s, f.Levels)
	return opts, err
}
