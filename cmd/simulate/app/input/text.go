package input

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/playground"
)

// ReadText reads the input that arguments and flags name, as text: a scenario, or one composed of files or a live cluster. Each call reads the
// cluster again. The result is nil if the command line names no input.
func (i *Flags) ReadText(ctx context.Context, cmd *cobra.Command, stdin io.Reader, args []string) (*playground.Input, error) {
	made, err := i.nodes.options(cmd)
	if err != nil {
		return nil, err
	}
	files, aScenario, err := i.objectFiles(cmd, nil, args, made.Flags...)
	if err != nil {
		return nil, err
	}
	if len(i.Cluster) > 0 && len(made.Flags) > 0 {
		return nil, exit.Usage(cmd, "%s: the cluster is given; leave out these flags, or --cluster", strings.Join(made.Flags, ", "))
	}
	var text playground.Input
	switch {
	case i.Live(cmd, args):
		text, err = i.readLiveText(ctx, cmd, files, made)
	case aScenario:
		text, err = playground.Read(args[0])
	case len(i.Cluster)+len(files)+len(made.Flags) > 0:
		text, err = playground.Compose(nil, stdin, i.Cluster, files, made, "")
	default:
		return nil, nil
	}
	return &text, err
}

// readLiveText composes a scenario of the live cluster and the files.
func (i *Flags) readLiveText(ctx context.Context, cmd *cobra.Command, files []string, made *loader.Nodes) (playground.Input, error) {
	switch {
	case len(made.Flags) > 0:
		return playground.Input{}, exit.Usage(cmd, "%s: a live cluster has nodes of its own; leave out these flags, or the cluster", strings.Join(made.Flags, ", "))
	case slices.Contains(slices.Concat(i.Cluster, files), manifest.Stdin):
		return playground.Input{}, exit.Usage(cmd, "standard input can only be read once, and a live cluster is read again; name a file")
	}
	client, err := i.Connection.Client(cmd)
	if err != nil {
		return playground.Input{}, err
	}
	bar := output.NewProgress(cmd.ErrOrStderr())
	defer bar.Done()
	dump, err := client.Read(ctx, bar.Counts("kinds"))
	if err != nil {
		return playground.Input{}, err
	}
	bar.Done()
	for _, note := range DumpNotes(cmd, dump) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
	release := ""
	if v, err := version.ParseGeneric(dump.Version); err == nil {
		release = version.MajorMinor(v.Major(), v.Minor()).String()
	}
	if !slices.Contains(sched.Releases(), release) {
		release = "" // a note says which release answers
	}
	return playground.Compose(newDumpFS(output.ProgressFS{Bar: bar}, dump), nil, slices.Concat([]string{dump.Name}, i.Cluster), files, made, release)
}
