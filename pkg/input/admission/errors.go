package admission

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// messages returns the errors as the API server words them, each on one line. Of a field that is missing it says that alone, and not
// also that nothing is no valid value. They are sorted, since upstream goes through a map in some checks.
func messages(errs field.ErrorList) []string {
	missing := map[string]bool{}
	for _, err := range errs {
		missing[err.Field] = missing[err.Field] || err.Type == field.ErrorTypeRequired
	}
	var all []string
	for _, err := range errs {
		if !missing[err.Field] || err.Type == field.ErrorTypeRequired {
			all = append(all, message(err))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// message leaves out a value that must not change, which can be a whole template, and shows of a difference what has changed.
func message(err *field.Error) string {
	if err.Detail == apivalidation.FieldImmutableErrorMsg {
		return err.Field + ": " + err.Detail
	}
	first, diff, _ := strings.Cut(err.Error(), "\n")
	var changed []string
	for line := range strings.Lines(diff) {
		// The lines begin with a no-break space where nothing differs.
		if sign, rest := line[:1], strings.Join(strings.Fields(line[1:]), " "); (sign == "-" || sign == "+") && rest != "" {
			changed = append(changed, sign+" "+rest)
		}
	}
	if len(changed) == 0 {
		return err.Error()
	}
	return first + ": " + strings.Join(changed, " ")
}
