package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/manifest"
)

func newSnapshot(s streams) *cobra.Command {
	var file string
	var nameless bool
	cmd := &cobra.Command{
		Use:   "snapshot [DUMP...]",
		Short: "Write a dump without names, which can be given to others",
		Long: `Write a dump without its names: the same cluster with other names, label values, images, commands and variables, and without
annotations and messages. The same word becomes the same new word wherever it stands, and words keep their order, so placements, scores
and blast radius are the same but for names. Notes on standard error list what the dump still shows.`,
		Example: `  simulate snapshot dump.json --anonymize -o for-others.json.gz
  simulate snapshot - --anonymize < dump.json > for-others.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := newCall(cmd, s, nil, args)
			defer c.bar.Done()
			if len(args) == 0 {
				return c.usage("no dump given; give the file that %s wrote, or - for standard input", kubectlGet)
			}
			if !nameless {
				return c.usage("nothing to do with a dump; give --anonymize to replace its names")
			}
			set, err := exit.UnlessInterrupted(cmd.Context(), func() (*manifest.Set, error) {
				return manifest.ReadFS(output.Reading{Bar: c.bar}, s.in, args...)
			})
			if err != nil {
				return exit.Input(err)
			}
			dump, err := c.anonymous(set)
			if err != nil {
				return err
			}
			c.bar.Done()
			for _, note := range dump.Notes {
				fmt.Fprintln(s.err, "simulate: note: "+note)
			}
			return writeList(file, s.out, dump)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `FILE`, compressed if its name ends in .gz (default standard output)")
	cmd.Flags().BoolVar(&nameless, "anonymize", false, "replace names, labels, images and all free text")
	return cmd
}
