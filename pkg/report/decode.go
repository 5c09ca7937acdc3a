package report

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Decode reads a report back from its JSON or YAML. It is strict: another apiVersion or kind, an unknown or a duplicate field
// and a second document are errors, one a line, each with the file's name in front.
func Decode[R any](file string, data []byte, kind string) (*R, error) {
	data, head, err := headOf(file, data)
	if err != nil {
		return nil, err
	}
	if head.APIVersion != APIVersion || head.Kind != kind {
		return nil, fmt.Errorf("%s: apiVersion %q and kind %q; give a report of apiVersion %s and kind %s",
			file, head.APIVersion, head.Kind, APIVersion, kind)
	}
	r := new(R)
	if err := manifest.Unmarshal(file, data, r); err != nil {
		return nil, err
	}
	return r, nil
}

// KindOf is the kind that the JSON or YAML names, such as Report; it need not be one of a report.
func KindOf(file string, data []byte) (string, error) {
	_, head, err := headOf(file, data)
	return head.Kind, err
}

// headOf returns the only document that the data holds, as JSON, and its head.
func headOf(file string, data []byte) ([]byte, metav1.TypeMeta, error) {
	var head metav1.TypeMeta
	data, err := manifest.Document(file, data)
	if err != nil {
		return nil, head, err
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &head) != nil {
		head = metav1.TypeMeta{} // they are no strings, hence not a report's
	}
	return data, head, nil
}

// CheckSteps finds what would pass for a report in which nothing happened: one without steps, or with steps that are null.
func CheckSteps[S any](file string, steps []S, name func(*S) string) error {
	if steps == nil {
		return fmt.Errorf("%s: steps: is missing; write the report anew", file)
	}
	for i := range steps {
		if name(&steps[i]) == "" {
			return fmt.Errorf("%s: steps[%d].name: is missing; write the report anew", file, i)
		}
	}
	return nil
}
