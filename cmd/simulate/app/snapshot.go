package app

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/words"
)

func newSnapshot(s streams) *cobra.Command {
	var connection input.Connection
	var file string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write a live cluster to a file that every command reads",
		Long: `Read the objects of a cluster that take part in scheduling, by list requests alone, and write them as a List, as kubectl get does.
Secrets and ConfigMaps are not among them. Without --context, the cluster is that of kubeconfig's current context.

What may not be read is left out, and noted on standard error. If anything else goes wrong, nothing is written.`,
		Example: `  simulate snapshot --context prod -o prod.json.gz
  simulate blast prod.json.gz`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := snapshotFormat(cmd, file)
			if err != nil {
				return err
			}
			bar := output.NewProgress(s.err)
			defer bar.Done()
			dump, err := exit.UnlessInterrupted(cmd.Context(), func() (*live.Dump, error) { return connection.Read(cmd, bar) })
			if err != nil {
				return err
			}
			bar.Done()
			for _, note := range input.Notes(cmd, dump) {
				fmt.Fprintf(s.err, "note: %s\n", note)
			}
			if file == manifest.Stdin {
				return writeDump(s.out, dump, format)
			}
			if err := output.WriteFile(file, func(w io.Writer) error { return writeDump(w, dump, format) }); err != nil {
				return fmt.Errorf("-o %s: %w", file, err)
			}
			others := 0
			for kind, n := range dump.Counts {
				if kind != "Node" && kind != "Pod" {
					others += n
				}
			}
			_, err = fmt.Fprintf(s.out, "%s has %s, %s and %s of %s, Kubernetes %s.\n", manifest.Clean(file), words.Count(dump.Counts["Node"], "node"), words.Count(dump.Counts["Pod"], "pod"),
				words.Count(others, "other object"), manifest.Clean(dump.Name), manifest.Clean(strings.TrimPrefix(dump.Version, "v")))
			return err
		},
	}
	connection.Register(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", manifest.Stdin, "`FILE` to write, by its ending as JSON (.json, .json.gz) or YAML (.yaml, .yaml.gz);\nwithout one, JSON goes to standard output")
	return cmd
}

// dumpFormat is how a dump is written.
type dumpFormat struct{ yaml, packed bool }

// snapshotFormat is the format by the ending of the file.
func snapshotFormat(cmd *cobra.Command, file string) (dumpFormat, error) {
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
	switch {
	case format.packed && !format.yaml:
		_, err := io.Copy(w, dump.Packed())
		return err
	case !format.yaml:
		_, err := io.Copy(w, dump.Open())
		return err
	case format.packed:
		packer := gzip.NewWriter(w)
		return errors.Join(writeYAML(packer, dump.Open()), packer.Close())
	}
	return writeYAML(w, dump.Open())
}

// writeYAML writes a List in JSON as YAML, item by item.
func writeYAML(w io.Writer, list io.Reader) error {
	to := bufio.NewWriter(w)
	decoder := jsontext.NewDecoder(list)
	fmt.Fprintln(to, "apiVersion: v1\nkind: List\nitems:")
	for decoder.PeekKind() != jsontext.KindBeginArray { // the items
		if _, err := decoder.ReadToken(); err != nil {
			return err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != jsontext.KindEndArray {
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		text, err := yaml.JSONToYAML(value)
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "- %s", bytes.ReplaceAll(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"), []byte("\n  ")))
		fmt.Fprintln(to)
	}
	return to.Flush()
}
