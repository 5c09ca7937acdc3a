package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/advice"
	"github.com/faultline/faultline/pkg/scenario"
)

// The table of input flags has two parts. Each flag that this package registers has the annotation inputFlag, so that a command that a
// report prints repeats the flag. The rows say what the flag does to a scenario file. A flag with neither a row nor the annotation
// needsNoField cannot be put into a scenario file, and a command that writes one says so.
const (
	inputFlag    = "input"
	needsNoField = "needs-no-field"
)

// row is what a flag does to a scenario file.
type row struct {
	loader.Flag                                    // Set is nil for a flag that the loader reads by itself
	put         func(*scenario.File, string) error // puts the flag into a scenario file for this path
}

// annotated calls register, and annotates the flags that it adds.
func annotated(cmd *cobra.Command, key, value string, register func()) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	register()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			_ = cmd.Flags().SetAnnotation(f.Name, key, []string{value}) // the flag is there
		}
	})
}

// asInput calls register, whose flags select or change what is simulated.
func asInput(cmd *cobra.Command, register func()) { annotated(cmd, inputFlag, "", register) }

// withoutField calls register, whose flags need no row: a scenario file has their effect in another way, as it has the steps that
// --add-nodes adds, or the answer does not depend on them.
func withoutField(cmd *cobra.Command, register func()) {
	asInput(cmd, func() { annotated(cmd, needsNoField, "", register) })
}

// AddOverlay says that a flag replaces the field at this path of the scenario file. set sets the field.
func (i *Flags) AddOverlay(flag, path string, set func(*scenario.File)) {
	i.rows = append(i.rows, row{loader.Flag{Name: flag, Path: path, Set: set}, func(file *scenario.File, _ string) error {
		set(file)
		return nil
	}})
}

// puts says how a flag that the loader reads by itself is put into a scenario file for a path.
func (i *Flags) puts(flag string, put func(file *scenario.File, at string) error) {
	i.rows = append(i.rows, row{loader.Flag{Name: flag}, put})
}

// Overlays returns the given flags that replace fields of the scenario file.
func (i *Flags) Overlays(cmd *cobra.Command) ([]loader.Flag, error) {
	var given []loader.Flag
	for _, row := range i.rows {
		if row.Set != nil && cmd.Flags().Changed(row.Name) {
			given = append(given, row.Flag)
		}
	}
	groups, err := i.autoscaler.options(cmd)
	if err == nil && (i.autoscaler.on || i.autoscaler.by != "" || len(i.autoscaler.groups) > 0) {
		given = append(given, loader.Flag{Name: "node-group", Path: "autoscaler.nodeGroups", Set: groups})
	}
	return given, err
}

// putFlags puts the given flags into a scenario file for the path at.
func (i *Flags) putFlags(cmd *cobra.Command, file *scenario.File, at string) error {
	given, err := i.Overlays(cmd)
	for _, flag := range given {
		flag.Set(file)
	}
	problems := []error{err}
	for _, row := range i.rows {
		if flag := cmd.Flags().Lookup(row.Name); row.Set == nil && flag.Changed && flag.Value.String() != "" {
			problems = append(problems, row.put(file, at))
		}
	}
	return errors.Join(problems...)
}

// withoutRow returns an error for each given flag that cannot be put into a scenario file.
func (i *Flags) withoutRow(cmd *cobra.Command) (cannot []error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		_, input := flag.Annotations[inputFlag]
		_, free := flag.Annotations[needsNoField]
		if input && !free && !slices.ContainsFunc(i.rows, func(row row) bool { return row.Name == flag.Name }) {
			cannot = append(cannot, fmt.Errorf("--%s cannot be put into a scenario file; leave out one of them", flag.Name))
		}
	})
	return cannot
}

// tiesFlags choose among equal nodes. The commands that a report prints may have others in their place.
var tiesFlags = []string{"ties", "seed"}

// RepeatArguments returns the arguments and flags that name the same input on another command line, quoted for a shell. The flags of TiesAgain are
// left out, and so is a secret.
func (i *Flags) RepeatArguments(cmd *cobra.Command, scenarios []string) string {
	words := slices.Clone(scenarios)
	if i.Live(cmd, scenarios) && !HasLiveFlag(cmd) { // a plugin of kubectl reads the current cluster by default
		words = append(words, "--live")
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if _, is := flag.Annotations[inputFlag]; is && flag.Name != clientcmd.FlagBearerToken && !slices.Contains(tiesFlags, flag.Name) {
			words = append(words, given(flag)...)
		}
	})
	return quoted(words)
}

// InputFlags returns the given flags that name or change what is simulated, with their values, for another command line.
func InputFlags(cmd *cobra.Command) (words []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if _, is := flag.Annotations[inputFlag]; is {
			words = append(words, given(flag)...)
		}
	})
	return words
}

// RepeatTies returns the flags that repeat the ties, with a space before them, or "".
func (i *Flags) RepeatTies(cmd *cobra.Command) string {
	var words []string
	for _, name := range tiesFlags {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			words = append(words, given(flag)...)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " " + quoted(words)
}

// given returns the words of a command line that give a flag its value.
func given(flag *pflag.Flag) (words []string) {
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand
	}
	several, isSeveral := flag.Value.(pflag.SliceValue)
	switch value := flag.Value.String(); {
	case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
		return []string{name}
	case flag.NoOptDefVal != "":
		return []string{"--" + flag.Name + "=" + value}
	case flag.Value.Type() == "stringSlice": // one value, separated by commas
		return []string{name, strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")}
	case !isSeveral:
		return []string{name, value}
	}
	for _, value := range several.GetSlice() {
		words = append(words, name, value)
	}
	return words
}

// quoted returns the words as a shell reads them.
func quoted(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, advice.ShellWord(word))
	}
	return strings.Join(all, " ")
}
