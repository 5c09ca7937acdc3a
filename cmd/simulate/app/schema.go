package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/docs"
)

func newSchema(s streams) *cobra.Command {
	files, err := docs.Schemas.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".schema.json"))
	}
	return &cobra.Command{
		Use:   "schema NAME",
		Short: "Print the JSON Schema of the scenario file, or of a report",
		Long: fmt.Sprintf(`Print a JSON Schema: that of the scenario file, by which editors complete and check it, or that of a report, which
-o json writes. The names are %s.`, strings.Join(names, ", ")),
		Example: `  simulate schema scenario > scenario.schema.json
  simulate schema report | jq .properties`,
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usage(cmd, "%d schemas are named; give one of %s", len(args), strings.Join(names, ", "))
			}
			if !slices.Contains(names, args[0]) {
				return exit.Usage(cmd, "there is no schema %q; give one of %s", args[0], strings.Join(names, ", "))
			}
			schema, err := docs.Schemas.ReadFile(args[0] + ".schema.json")
			if err != nil {
				return err
			}
			_, err = s.out.Write(schema)
			return err
		},
	}
}
