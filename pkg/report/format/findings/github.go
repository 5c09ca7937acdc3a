package findings

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/faultline/faultline/pkg/report/doc"
)

// GitHub writes the findings as workflow commands, which annotate the lines of a change in the log of a job:
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
func (f *Findings) GitHub() ([]byte, error) {
	var out strings.Builder
	for _, result := range f.Results {
		command := map[string]string{"error": "error", "warning": "warning"}[result.Level]
		if command == "" {
			command = "notice"
		}
		var properties []string
		if result.inFile() {
			properties = append(properties, "file="+escapeProperty(doc.Clean(filepath.ToSlash(result.Source.File))), fmt.Sprint("line=", max(result.Source.Line, 1)))
		}
		properties = append(properties, "title="+escapeProperty("Faultline: "+result.Rule))
		fmt.Fprintf(&out, "::%s %s::%s\n", command, strings.Join(properties, ","), escapeData(doc.Clean(result.Message)))
	}
	return []byte(out.String()), nil
}

// escapeData and [escapeProperty] escape the text of a command as https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts does.
func escapeData(text string) string { return dataEscapes.Replace(text) }

func escapeProperty(text string) string { return propertyEscapes.Replace(text) }

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
