package app

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/anonymous"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/words"
)

// anonymous returns what was read without its names, and notes what is left out and what cannot be hidden.
func (c *call) anonymous(set *manifest.Set) (*anonymous.Dump, error) {
	objects := make([]cluster.Object, len(set.Objects))
	for i := range set.Objects {
		objects[i] = set.Objects[i].Object
	}
	dump, err := anonymous.Of(c.Context(), objects)
	if err != nil {
		return nil, err
	}
	left := map[string]int{}
	for _, ignored := range set.Ignored {
		left[ignored.Kind]++
	}
	for _, flaw := range set.Flaws {
		if flaw.Aside {
			left[flaw.Kind]++
		}
	}
	if len(set.SchedulerConfigs) > 0 {
		left["KubeSchedulerConfiguration"] += len(set.SchedulerConfigs)
	}
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		dump.Notes = append(dump.Notes, fmt.Sprintf("Left out, because nothing is known of its fields: %s.", words.Count(left[kind], kind)))
	}
	return dump, nil
}

// writeList writes objects as kubectl get -o json does, one a line, and compressed if the file's name ends in .gz.
func writeList(file string, stdout io.Writer, dump *anonymous.Dump) error {
	out := stdout
	if file != "" && file != manifest.Stdin {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		out = f
	}
	buffered := bufio.NewWriter(out)
	text := io.Writer(buffered)
	var packed *gzip.Writer
	if strings.HasSuffix(file, ".gz") {
		packed = gzip.NewWriter(buffered)
		text = packed
	}
	text = manifest.Escaper(text)
	fmt.Fprint(text, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[`)
	for i, object := range dump.Objects {
		fmt.Fprintf(text, "%s\n%s", strings.Repeat(",", min(i, 1)), object)
	}
	if _, err := fmt.Fprint(text, "\n]}\n"); err != nil {
		return err
	}
	if packed != nil {
		if err := packed.Close(); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
