package input

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// deciderFlags are the values of the flags about programs that decide beside the scheduler.
type deciderFlags struct {
	given   []string
	timeout time.Duration
	added   []string // the names of those that the scenario does not have
}

// registerDeciders adds --decider, for commands in which deciders act.
func (i *Flags) registerDeciders(cmd *cobra.Command) {
	asInput(cmd, func() { registerGroup(cmd, decidersGroup, func() { i.registerDecider(cmd) }) })
	withoutField(cmd, func() {
		registerGroup(cmd, decidersGroup, func() {
			cmd.Flags().DurationVar(&i.deciders.timeout, "decider-timeout", time.Minute, "how long each answer of such a program may take, as a `DURATION`")
		})
	})
}

func (i *Flags) registerDecider(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&i.deciders.given, "decider", nil, "also let a program decide, such as Karpenter: `NAME`, or NAME=COMMAND for a program of your own\n"+
		"(repeatable; default those of the scenario; see docs/deciders.md)")
	i.AddOverlay("decider", "deciders", func(f *scenario.File) {
		all := slices.Clone(f.Deciders)
		i.deciders.added = nil
		for _, given := range i.deciders.given {
			name, _, _ := strings.Cut(given, "=")
			if !slices.ContainsFunc(all, func(d scenario.Decider) bool { return d.Name == name }) {
				all = append(all, scenario.Decider{Name: name})
				i.deciders.added = append(i.deciders.added, name)
			}
		}
		f.Deciders = all
	})
}

// AddedDeciders returns the deciders that the command line adds to the scenario.
func (i *Flags) AddedDeciders(s *scenario.Scenario) []scenario.Decider {
	return list.Where(s.Deciders, func(d scenario.Decider) bool { return slices.Contains(i.deciders.added, d.Name) })
}

// options returns which programs decide.
func (d *deciderFlags) options(cmd *cobra.Command) (*loader.Deciders, error) {
	if cmd.Flags().Lookup("decider") == nil {
		return nil, nil
	}
	if d.timeout <= 0 && cmd.Flags().Changed("decider-timeout") {
		return nil, exit.Usage(cmd, "--decider-timeout %s: give a time above 0", d.timeout)
	}
	options := &loader.Deciders{Commands: map[string][]string{}, Timeout: d.timeout}
	for _, given := range d.given {
		if name, command, has := strings.Cut(given, "="); has {
			words := strings.Fields(command)
			if len(words) == 0 {
				return nil, exit.Usage(cmd, "--decider %s: the command is empty; give the program and its arguments, or the name alone", given)
			}
			options.Commands[name] = list.Map(words, absolutePath)
		}
	}
	return options, nil
}

// AddDecider lets the decider decide, too, as --decider NAME does.
func (i *Flags) AddDecider(cmd *cobra.Command, name string) error {
	if slices.ContainsFunc(i.deciders.given, func(given string) bool { return given == name || strings.HasPrefix(given, name+"=") }) {
		return nil
	}
	return cmd.Flags().Set("decider", name)
}

// Descheduler returns the descheduler with the policy of a file. Its program is that of --decider descheduler=COMMAND, or the installed one.
func (i *Flags) Descheduler(cmd *cobra.Command, policy string, interval time.Duration) (scenario.Decider, error) {
	d := scenario.Decider{Name: "descheduler", Args: []string{"--policy=" + absolutePath(policy), "--descheduling-interval=" + interval.String()}, Timeout: i.deciders.timeout}
	options, err := i.deciders.options(cmd)
	if err == nil {
		d.Command, err = options.Command(d.Name)
	}
	return d, err
}

// absolutePath returns the absolute path of a file or folder that the word names from the working directory, since a decider runs in the folder
// of its scenario. It returns any other word as it is.
func absolutePath(word string) string {
	if _, err := os.Stat(word); err != nil {
		return word
	}
	if path, err := filepath.Abs(word); err == nil {
		return path
	}
	return word
}
