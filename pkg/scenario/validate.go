package scenario

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSelector reports a label selector that does not parse.
func validateSelector(p *Problems, path *field.Path, text string) {
	if _, err := ParseSelector(text); err != nil {
		p.Add(path, "%s", err)
	}
}

// ParseSelector parses labels as kubectl get -l takes them.
func ParseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "unable to parse requirement: "), "<nil>: Invalid value: ")
		why = strings.TrimPrefix(why, strconv.Quote(text)+": ")
		return nil, fmt.Errorf("%q is not a label selector: %s; give one such as app=web,tier!=cache", text, why)
	}
	return selector, nil
}

// validateNotNegative reports a negative number.
func validateNotNegative(p *Problems, path *field.Path, value int) {
	if value < 0 {
		p.Add(path, "%d is negative; give 0 or more", value)
	}
}

// validateEither reports a value that is neither empty nor one of two words.
func validateEither(p *Problems, path *field.Path, value, one, other string) {
	if value != "" && value != one && value != other {
		p.Add(path, "%q is neither %s nor %s", value, one, other)
	}
}

// validateRange reports a value outside of the bounds.
func validateRange[T cmp.Ordered](p *Problems, path *field.Path, value, least, most T) {
	if value < least || value > most {
		p.Add(path, "%v is not between %v and %v", value, least, most)
	}
}

// validateDuration reports a text that is neither empty nor a duration from 0s.
func validateDuration(p *Problems, path *field.Path, text string) {
	if d, err := time.ParseDuration(cmp.Or(text, "0s")); err != nil || d < 0 {
		p.Add(path, "%q is not a duration from 0s, such as 90s", text)
	}
}

// parseDuration returns a validated duration, or 0 if it is left out.
func parseDuration(text string) time.Duration {
	d, _ := time.ParseDuration(cmp.Or(text, "0s"))
	return d
}
