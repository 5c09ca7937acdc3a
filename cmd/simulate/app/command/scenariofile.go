package command

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"

	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/scenario"
)

// ScenarioFile returns the input of the command line as a scenario file, which the flag writes to the path at. The usage error lists
// everything that a scenario file cannot express.
func (c *Call) ScenarioFile(flag string, s *scenario.Scenario, scenarios []string, at string) (*scenario.File, error) {
	file, err := c.Input.ScenarioFile(c.Command, s, scenarios, at)
	if err != nil {
		return nil, c.Usage("--%s: %s", flag, strings.ReplaceAll(err.Error(), "\n", "\n--"+flag+": "))
	}
	return file, nil
}

// WriteScenario writes a scenario file, after a comment. It replaces the file as a whole.
func WriteScenario(path, comment string, file *scenario.File) error {
	content, err := encodeScenario(comment, file)
	if err != nil {
		return err
	}
	return output.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// encodeScenario encodes a scenario file, after a comment, with its fields in the order of the documentation. It leaves out the fields that are empty.
func encodeScenario(comment string, file *scenario.File) ([]byte, error) {
	data, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	var fields yamlv2.MapSlice
	if err := yamlv2.Unmarshal(data, &fields); err != nil { // JSON is YAML
		return nil, err
	}
	fields = slices.DeleteFunc(fields, func(field yamlv2.MapItem) bool {
		name, _ := field.Key.(string)
		return slices.Contains([]string{"metadata", "federation", "scheduler", "apiServer", "operators", "failures"}, name) && isEmptyField(field.Value)
	})
	var out bytes.Buffer
	out.WriteString(comment)
	data, err = yamlv2.Marshal(fields)
	out.Write(data)
	return out.Bytes(), err
}

// isEmptyField reports whether a value has no field, or only fields that have none.
func isEmptyField(value any) bool {
	fields, is := value.(yamlv2.MapSlice)
	return is && !slices.ContainsFunc(fields, func(field yamlv2.MapItem) bool { return !isEmptyField(field.Value) })
}
