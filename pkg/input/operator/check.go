package operator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// CheckObject validates an object that an operator would create from a part of a resource, with the API server's code. Errors name this part: a
// field below from is reported as the field below to, such as spec.affinity.podAntiAffinity as spec.targeting[*].pod_anti_affinity.
func CheckObject(obj cluster.Object, from, to string) error {
	data, err := manifest.Encode(obj)
	if err != nil {
		return err
	}
	const label = "checked"
	_, err = manifest.DecodeObject(label, data)
	if err == nil {
		return nil
	}
	var problems []error
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		// "checked: Pod default/x: spec.affinity…: Invalid value …"
		if _, rest, found := strings.Cut(line, ": "+from); found {
			line = to + rest
		} else if _, rest, found := strings.Cut(line, ": unknown field \""+from); found {
			line = fmt.Sprintf("unknown field \"%s%s", to, rest)
		}
		problems = append(problems, errors.New(line))
	}
	return errors.Join(problems...)
}
