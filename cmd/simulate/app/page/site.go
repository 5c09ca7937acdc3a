package page

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/web"
)

func newSite(s command.Streams) *cobra.Command {
	var folder, engine string
	cmd := &cobra.Command{
		Use:   "site --output FOLDER",
		Short: "Write the playground as files for any web host, with the scheduler in them",
		Long: `Write the playground's page into a folder, with the engine as WebAssembly: copy the folder to any web host, and the page runs
the real kube-scheduler in each reader's browser. There is no server behind it, and the page asks nothing of any other.

Each release has the site and the engine in archives of their own; unpack the engine beside the program. From source, 'make site'
builds everything and writes the site.`,
		Example: `  simulate site --output public
  simulate site --output public --engine bin/engine`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder == "" {
				return exit.Usage(cmd, "no folder is named; give one with --output, for example --output public")
			}
			if engine == "" {
				program, err := os.Executable()
				if err != nil {
					return err
				}
				engine = filepath.Join(filepath.Dir(program), "engine")
			}
			size, err := web.WriteSite(folder, engine)
			if err != nil {
				return exit.InvalidInput(err)
			}
			fmt.Fprintf(s.Err, "%s: the playground, %.1f MB\n", folder, float64(size)/1e6)
			return nil
		},
	}
	cmd.Flags().StringVar(&folder, "output", "", "`FOLDER` to write to; files of the playground that it has are replaced")
	cmd.Flags().StringVar(&engine, "engine", "", "`FOLDER` of the engine for browsers (default engine, beside this program)")
	return cmd
}
