package input

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator/hydrolix"
	"github.com/faultline/faultline/pkg/input/operator/kafscale"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// Operators are the flags with what operators need beside their custom resources.
type Operators struct {
	kafscale struct {
		release string
		values  []string
	}
	stackableADR    bool
	hydrolixProfile string
}

// Register adds the flags.
func (o *Operators) Register(cmd *cobra.Command) {
	registerGroup(cmd, operatorsGroup, func() { o.register(cmd.Flags()) })
}

// addRows adds the rows of these flags to the table of input flags.
func (o *Operators) addRows(i *Flags) {
	chart := func(file *scenario.File) *scenario.KafScale {
		given := ptr.Deref(file.Operators.KafScale, scenario.KafScale{})
		file.Operators.KafScale = &given
		return &given
	}
	i.puts("kafscale-release", func(file *scenario.File, _ string) error {
		chart(file).Release = o.kafscale.release
		return nil
	})
	i.puts("kafscale-values", func(file *scenario.File, at string) error {
		chart(file).Values = RelativeTo(at, o.kafscale.values)[0]
		return nil
	})
	i.puts("stackable-adr", func(file *scenario.File, _ string) error {
		file.Operators.Stackable.ADR = file.Operators.Stackable.ADR || o.stackableADR
		return nil
	})
	i.puts("hydrolix-profile", func(file *scenario.File, at string) error {
		file.Operators.Hydrolix = &scenario.HydrolixOptions{Profile: RelativeTo(at, []string{o.hydrolixProfile})[0]}
		return nil
	})
}

func (o *Operators) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.kafscale.values, "kafscale-values", nil, "install KafScale's chart with the values of this `FILE` (repeatable, the last wins)")
	flags.StringVar(&o.kafscale.release, "kafscale-release", "", "install KafScale's chart as the release of this `NAME` (default kafscale, or what the scenario says)")
	flags.BoolVar(&o.stackableADR, "stackable-adr", false, "expand Stackable's resources as ADR026 says where its operators differ; see docs/operators.md")
	flags.StringVar(&o.hydrolixProfile, "hydrolix-profile", "", "`FILE` of values that Hydrolix does not publish: replicas of scale profiles, sizes, labels, weights")
}

// Options returns the options of the operators that the flags give.
func (o *Operators) Options() (loader.OperatorOptions, error) {
	opts := loader.OperatorOptions{KafScale: kafscale.Options{Release: o.kafscale.release}}
	if o.kafscale.release != "" {
		for _, problem := range validation.IsDNS1123Label(o.kafscale.release) {
			return opts, fmt.Errorf("--kafscale-release %q: %s", o.kafscale.release, problem)
		}
	}
	for _, file := range o.kafscale.values {
		data, err := manifest.ReadFile(nil, nil, file)
		if err != nil {
			return opts, fmt.Errorf("--kafscale-values: %w", err)
		}
		opts.KafScale.Values = append(opts.KafScale.Values, kafscale.Document{Name: file, Data: data})
	}
	opts.Stackable.ADR = o.stackableADR
	if o.hydrolixProfile == "" {
		return opts, nil
	}
	data, err := manifest.ReadFile(nil, nil, o.hydrolixProfile)
	if err != nil {
		return opts, fmt.Errorf("--hydrolix-profile: %w", err)
	}
	opts.Hydrolix.Profile, err = hydrolix.ReadProfile(o.hydrolixProfile, data)
	return opts, err
}
