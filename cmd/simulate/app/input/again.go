package input

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/report/advice"
)

// Again returns the arguments and flags that name the same scenario on another command line, quoted for a shell.
func (i *Flags) Again(cmd *cobra.Command, scenarios []string) string {
	words := slices.Clone(scenarios)
	add := func(flag string, values ...string) {
		for _, value := range values {
			if value != "" {
				words = append(words, flag, value)
			}
		}
	}
	if i.Live(cmd, scenarios) {
		words = append(words, again(cmd)...)
	}
	add("--cluster", i.Cluster...)
	add("-f", i.Files...)
	words = append(words, i.nodes.again(cmd)...)
	add("--storage", i.File.Storage)
	if cmd.Flags().Changed("fresh") {
		words = append(words, "--fresh")
	}
	add("--scheduler-config", i.Options.SchedulerConfig)
	add("--prices", i.Options.Prices)
	add("--kubernetes", i.Options.Kubernetes)
	add("--feature-gates", i.Options.FeatureGates)
	add("--kafscale-release", i.operators.kafscale.release)
	for _, file := range i.operators.kafscale.values {
		add("--kafscale-values", file)
	}
	if i.operators.stackableADR {
		words = append(words, "--stackable-adr")
	}
	add("--hydrolix-profile", i.operators.hydrolixProfile)
	for n, word := range words {
		words[n] = advice.ShellWord(word)
	}
	return strings.Join(words, " ")
}

// TiesAgain returns the flags that repeat the ties, with a space before them, or "".
func (i *Flags) TiesAgain(cmd *cobra.Command) string {
	if i.File.Ties == "" {
		return ""
	}
	words := " --ties " + i.File.Ties
	if cmd.Flags().Changed("seed") {
		words += " --seed " + strconv.FormatUint(i.seed, 10)
	}
	return words
}
