package app

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/words"
)

func newVersion(s command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of simulate and of the kube-scheduler in it",
		Args:  command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(s.Out, versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("simulate %s\nkube-scheduler %s, also as Kubernetes %s, with a preview of %s\n%s %s/%s\n", version, sched.Version, words.Or(sched.EarlierReleases()), sched.Preview(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
