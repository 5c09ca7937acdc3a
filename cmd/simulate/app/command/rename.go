package command

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// OwnName is the program's own name. A user may call it by another: as a plugin of kubectl, for example.
const OwnName = "simulate"

// Renamer returns a function that puts the name by which the user calls the program into the commands of a text. It returns nil if that is the
// program's own name.
func Renamer(root *cobra.Command) func(string) string {
	name := root.Annotations[cobra.CommandDisplayNameAnnotation]
	if name == "" {
		return nil
	}
	words := []string{"replays", "help"}
	for _, cmd := range root.Commands() {
		words = append(words, cmd.Name())
	}
	command := regexp.MustCompile(`\b` + OwnName + ` (` + strings.Join(words, "|") + `)\b`)
	return func(text string) string {
		if !strings.Contains(text, OwnName) {
			return text
		}
		return command.ReplaceAllString(text, name+" $1")
	}
}
