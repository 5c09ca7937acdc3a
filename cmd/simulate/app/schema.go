package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/scenario"
)

func newSchema(s streams) *cobra.Command {
	kinds := report.SchemaKinds()
	names := append([]string{"scenario"}, slices.Sorted(maps.Keys(kinds))...)
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
				return usage(cmd, "%d schemas are named; give one of %s", len(args), strings.Join(names, ", "))
			}
			schema := scenario.Schema
			if name := args[0]; name != "scenario" {
				kind, known := kinds[name]
				if !known {
					return usage(cmd, "there is no schema %q; give one of %s", name, strings.Join(names, ", "))
				}
				schema = func() ([]byte, error) { return report.Schema(kind) }
			}
			data, err := schema()
			if err != nil {
				return err
			}
			_, err = s.out.Write(data)
			return err
		},
	}
}
