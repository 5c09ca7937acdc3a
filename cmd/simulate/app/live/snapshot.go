package live

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/words"
)

func newSnapshot(s command.Streams) *cobra.Command {
	var connection input.Connection
	var file string
	var nameless bool
	cmd := &cobra.Command{
		Use:   "snapshot [DUMP... --anonymize]",
		Short: "Write a live cluster to a file that every command reads, with its names or without",
		Long: `Read the objects of a cluster that take part in scheduling, by list requests alone, and write them as a List, as kubectl get does.
Secrets are not among them, and of ConfigMaps only the parameters of admission policies. Without --context, the cluster is that of
kubeconfig's current context.

What may not be read is left out, and noted on standard error. If anything else goes wrong, nothing is written.

With --anonymize, which takes dumps as well, the file has other names, label values, images and variables, and no messages, commands and
addresses, so that it can be given to others. The same word becomes the same new word wherever it stands, and words keep their order, so
placements, scores and blast radius are the same but for names. Notes on standard error list what the file still shows.`,
		Example: `  simulate snapshot --context prod -o prod.json.gz
  simulate blast prod.json.gz
  simulate snapshot --context prod --anonymize -o for-others.json.gz
  simulate snapshot prod.json.gz --anonymize -o for-others.json.gz`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := command.NewCall(cmd, s, nil, args)
			defer c.Bar.Done()
			format, err := parseDumpFormat(cmd, file)
			switch {
			case err != nil:
				return err
			case len(args) > 0 && input.HasLiveFlag(cmd):
				return c.Usage("a dump and a live cluster are given; give one of them")
			case len(args) > 0 && !nameless:
				return c.Usage("a dump is written only without its names; give --anonymize")
			}
			if err := cmp.Or(output.CheckFiles(cmd), output.CheckRead(cmd, "", args)); err != nil {
				return err
			}
			taken, err := exit.CallInterruptibly(cmd.Context(), func() (*snapshot, error) {
				if len(args) > 0 {
					return anonymizeDumps(c, s.In, args...)
				}
				dump, err := connection.Read(cmd, c.Bar)
				if err != nil {
					return nil, err
				}
				taken := &snapshot{notes: input.DumpNotes(cmd, dump), counts: dump.Counts, of: fmt.Sprintf("of %s, Kubernetes %s", dump.Name, strings.TrimPrefix(dump.Version, "v"))}
				taken.write = func(w io.Writer, format dumpFormat) error { return writeDump(w, dump, format) }
				if !nameless {
					return taken, nil
				}
				without, err := anonymizeDumps(c, dump.Open(), manifest.Stdin)
				if err != nil {
					return nil, err
				}
				without.notes = append(taken.notes, without.notes...)
				return without, nil
			})
			if err != nil {
				return err
			}
			c.Bar.Done()
			for _, note := range taken.notes {
				fmt.Fprintf(s.Err, "note: %s\n", note)
			}
			if file == manifest.Stdin {
				return taken.write(s.Out, format)
			}
			if err := output.WriteFile(file, func(w io.Writer) error { return taken.write(w, format) }); err != nil {
				return fmt.Errorf("-o %s: %w", file, err)
			}
			others := 0
			for kind, n := range taken.counts {
				if kind != "Node" && kind != "Pod" {
					others += n
				}
			}
			_, err = fmt.Fprintf(s.Out, "%s has %s, %s and %s %s.\n", manifest.Clean(file), words.Count(taken.counts["Node"], "node"), words.Count(taken.counts["Pod"], "pod"),
				words.Count(others, "other object"), manifest.Clean(taken.of))
			return err
		},
	}
	connection.Register(cmd)
	file = manifest.Stdin
	output.FileVar(cmd, &file, "output", "o", "`FILE` to write, by its ending as JSON (.json, .json.gz) or YAML (.yaml, .yaml.gz);\nwithout one, JSON goes to standard output")
	cmd.Flags().BoolVar(&nameless, "anonymize", false, "replace names, labels, images and variables, and leave out other texts")
	return cmd
}

// snapshot is a dump that can be written.
type snapshot struct {
	notes  []string
	counts map[string]int // by kind
	of     string         // which cluster it is of, and whether it has names
	write  func(w io.Writer, format dumpFormat) error
}

// dumpFormat is the format of a dump's file.
type dumpFormat struct{ yaml, packed bool }

// parseDumpFormat returns the format for the ending of the file.
func parseDumpFormat(cmd *cobra.Command, file string) (dumpFormat, error) {
	name, packed := strings.CutSuffix(file, ".gz")
	switch {
	case file == manifest.Stdin, strings.HasSuffix(name, ".json"):
		return dumpFormat{packed: packed}, nil
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"):
		return dumpFormat{yaml: true, packed: packed}, nil
	}
	return dumpFormat{}, exit.Usage(cmd, "-o %q: the ending gives the format; use .json, .yaml, .json.gz or .yaml.gz, or - for standard output", file)
}

func writeDump(w io.Writer, dump *live.Dump, format dumpFormat) error {
	if format.packed && !format.yaml {
		_, err := io.Copy(w, dump.OpenCompressed())
		return err
	}
	return writeList(w, dump.Open(), format)
}

// writeList writes a List that is read as JSON, in the format.
func writeList(w io.Writer, list io.Reader, format dumpFormat) error {
	if format.packed {
		packer := gzip.NewWriter(w)
		return errors.Join(writeList(packer, list, dumpFormat{yaml: format.yaml}), packer.Close())
	}
	if format.yaml {
		return writeYAML(w, list)
	}
	_, err := io.Copy(w, list)
	return err
}

// writeYAML writes a List that is read as JSON as YAML, item by item.
func writeYAML(w io.Writer, list io.Reader) error {
	to := bufio.NewWriter(w)
	fmt.Fprintln(to, "apiVersion: v1\nkind: List\nitems:")
	err := live.ForEachItem(list, func(object []byte) error {
		text, err := yaml.JSONToYAML(object)
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "- %s", bytes.ReplaceAll(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"), []byte("\n  ")))
		fmt.Fprintln(to)
		return nil
	})
	if err != nil {
		return err
	}
	return to.Flush()
}
