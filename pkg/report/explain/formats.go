package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format"
)

// Formats are the formats of the report. Quiet prints a line for each pod, Story its way through the scheduling cycle, and All lists every
// node. The format patch has the changes that help as commands.
var Formats = append(format.Of[Report]{Question: (*Report).question, Doc: document, Page: (*Report).Page}.Formats(), report.RenderedFormat("patch", patches))

// patches lists the changes that help each pod, and the pods that the API server refuses, as a script of comments and commands. Each change is for
// itself: a user pastes one.
func patches(r *Report, _ report.Options) ([]byte, error) {
	var script bytes.Buffer
	for i := range r.NotMade {
		if err := writeFixes(&script, r.NotMade[i].Qualified(), r.NotMade[i].Step, r.NotMade[i].Fixes); err != nil {
			return nil, err
		}
	}
	for i := range r.Gaps {
		if err := writeFixes(&script, r.Gaps[i].Qualified(), r.Gaps[i].Step, r.Gaps[i].Fixes); err != nil {
			return nil, err
		}
	}
	for i := range r.Pods {
		if err := writeFixes(&script, r.Pods[i].Namespace+"/"+r.Pods[i].Name, r.Pods[i].Step, r.Pods[i].Fixes); err != nil {
			return nil, err
		}
	}
	return script.Bytes(), nil
}

func writeFixes(script *bytes.Buffer, of, step string, fixes []explain.Fix) error {
	for _, fix := range fixes {
		fmt.Fprintf(script, "# %s, step %s: %s\n", of, step, fix.Change)
		if len(fix.Price) > 0 {
			fmt.Fprintf(script, "# %s\n", strings.Join(fix.Price, "; "))
		}
		for _, command := range fix.Commands {
			fmt.Fprintln(script, command)
		}
		if len(fix.Commands) == 0 {
			for _, step := range fix.Steps {
				written, err := json.Marshal(step)
				if err != nil {
					return err
				}
				fmt.Fprintf(script, "# as a step of a scenario: %s\n", written)
			}
		}
		fmt.Fprintln(script)
	}
	return nil
}
