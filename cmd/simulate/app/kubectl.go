package app

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline/faultline/cmd/simulate/app/command"
)

// kubectl runs a program named kubectl-faultline as its plugin, and asks one named kubectl_complete-faultline for completions.
const pluginName = "kubectl faultline"

// parseProgramName returns the name by which the user calls the program, and the arguments. kubectl's request for completions becomes cobra's.
func parseProgramName(program string, args []string) (string, []string) {
	switch strings.TrimSuffix(filepath.Base(program), ".exe") {
	case "kubectl-faultline":
		return pluginName, args
	case "kubectl_complete-faultline":
		return pluginName, append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return command.OwnName, args
}

// renameProgram makes help and completion use the program's name, and returns a function that does the same to other text.
func renameProgram(root *cobra.Command, name string) func(string) string {
	if name == command.OwnName {
		return func(text string) string { return text }
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	rename := command.Renamer(root)
	for _, cmd := range append(root.Commands(), root) {
		cmd.Long, cmd.Example = rename(cmd.Long), rename(cmd.Example)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { flag.Usage = rename(flag.Usage) })
	}
	return rename
}

// renamingWriter is a writer that renames the program in the text.
type renamingWriter struct {
	out    io.Writer
	rename func(string) string
}

func (r renamingWriter) Write(text []byte) (int, error) {
	_, err := io.WriteString(r.out, r.rename(string(text)))
	return len(text), err
}
