package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/docs"
)

func newSchema(s command.Streams) *cobra.Command {
	files, err := docs.Schemas.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var names []string
	byName := map[string]string{}
	for _, file := range files {
		name := schemaName(strings.TrimSuffix(file.Name(), ".schema.json"))
		names, byName[name] = append(names, name), file.Name()
	}
	slices.Sort(names)
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON Schema of the scenario file, or of a report",
		Long: fmt.Sprintf(`Print a JSON Schema: that of the scenario file, by which editors complete and check it, or that of the report that a
command writes with -o json. The names are
%s.`, strings.Join(names, ", ")),
		Example: `  simulate schema scenario > scenario.schema.json
  simulate schema blast | jq .properties`,
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage(cmd, "%d schemas are named; give one of %s", len(args), strings.Join(names, ", "))
			}
			file, known := byName[schemaName(args[0])]
			if !known {
				return exit.Usage(cmd, "there is no schema %q; give one of %s", args[0], strings.Join(names, ", "))
			}
			schema, err := docs.Schemas.ReadFile(file)
			if err != nil {
				return err
			}
			_, err = s.Out.Write(schema)
			return err
		},
	}
}

// schemaName returns the name by which the user asks for a schema file: that of the command, if the file is about a command's report.
func schemaName(file string) string {
	name := strings.TrimSuffix(file, "-report")
	return cmp.Or(map[string]string{"report": "run", "advice": "advise"}[name], name)
}
