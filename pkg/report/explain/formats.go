package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the formats of the report. Quiet prints a line for each pod, Story its way through the scheduling cycle, and All lists every
// node. The format patch has the changes that help as commands.
var Formats = append(format.Of[Report]{Doc: document, Page: (*Report).Page}.Formats(), report.Rendered("patch", patches))

// patches writes the changes that help each pod as a script of comments and commands. Each change is an alternative: a user copies one of
// them.
func patches(r *Report, _ report.Options) ([]byte, error) {
	var script bytes.Buffer
	for i := range r.Pods {
		for _, fix := range r.Pods[i].Fixes {
			fmt.Fprintf(&script, "# %s/%s, step %s: %s\n", r.Pods[i].Namespace, r.Pods[i].Name, r.Pods[i].Step, fix.Change)
			if len(fix.Price) > 0 {
				fmt.Fprintf(&script, "# %s\n", strings.Join(fix.Price, "; "))
			}
			for _, command := range fix.Commands {
				fmt.Fprintln(&script, command)
			}
			if len(fix.Commands) == 0 {
				for _, step := range fix.Steps {
					written, err := json.Marshal(step)
					if err != nil {
						return nil, err
					}
					fmt.Fprintf(&script, "# as a step of a scenario: %s\n", written)
				}
			}
			fmt.Fprintln(&script)
		}
	}
	return script.Bytes(), nil
}
