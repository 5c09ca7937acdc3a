package live

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/anonymous"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/words"
)

// anonymizeDumps reads dumps and returns them anonymized. The notes list what is left out and what cannot be hidden.
func anonymizeDumps(c *command.Call, stdin io.Reader, files ...string) (*snapshot, error) {
	set, err := manifest.ReadFS(output.ProgressFS{Bar: c.Bar}, stdin, files...)
	if err != nil {
		return nil, exit.InvalidInput(err)
	}
	objects := make([]cluster.Object, len(set.Objects))
	taken := &snapshot{counts: map[string]int{}, of: "without their names"}
	for i := range set.Objects {
		objects[i] = set.Objects[i].Object
		taken.counts[cluster.KindOf(objects[i])]++
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
	for range set.SchedulerConfigs {
		left["KubeSchedulerConfiguration"]++
	}
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		taken.notes = append(taken.notes, fmt.Sprintf("Left out, because its fields are not known: %s.", words.Count(left[kind], kind)))
	}
	dump, err := anonymous.NewDump(c.Context(), objects)
	if err != nil {
		return nil, err
	}
	taken.notes = append(taken.notes, dump.Notes...)
	taken.write = func(w io.Writer, format dumpFormat) error {
		all := []io.Reader{strings.NewReader("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[")}
		for i, object := range dump.Objects {
			all = append(all, strings.NewReader(strings.Repeat(",", min(i, 1))+"\n"), bytes.NewReader(object))
		}
		return writeList(w, io.MultiReader(append(all, strings.NewReader("\n]}\n"))...), format)
	}
	return taken, nil
}
