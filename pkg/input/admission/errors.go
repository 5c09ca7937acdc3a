package admission

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errorMessages returns the errors in the API server's words, each on one line. For a missing field it leaves out the errors about its empty
// value. It sorts the errors, since upstream ranges over a map in some checks.
func errorMessages(errs field.ErrorList) []string {
	missing := map[string]bool{}
	for _, err := range errs {
		missing[err.Field] = missing[err.Field] || err.Type == field.ErrorTypeRequired
	}
	var all []string
	for _, err := range errs {
		if !missing[err.Field] || err.Type == field.ErrorTypeRequired {
			all = append(all, errorMessage(err))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// errorMessage returns the text of an error. It leaves out a value that must not change, which can be a whole template, and the unchanged lines
// of a difference.
func errorMessage(err *field.Error) string {
	if err.Detail == apivalidation.FieldImmutableErrorMsg {
		return err.Field + ": " + err.Detail
	}
	first, diff, _ := strings.Cut(err.Error(), "\n")
	var changed []string
	for line := range strings.Lines(diff) {
		// Lines without a difference begin with a no-break space.
		if sign, rest := line[:1], strings.Join(strings.Fields(line[1:]), " "); (sign == "-" || sign == "+") && rest != "" {
			changed = append(changed, sign+" "+rest)
		}
	}
	if len(changed) == 0 {
		return err.Error()
	}
	return first + ": " + strings.Join(changed, " ")
}
