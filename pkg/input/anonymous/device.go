package anonymous

import (
	"regexp"
	"strings"
)

// Expressions select devices by the attributes that drivers publish. So attributes stay as they are, except for private domains in their
// names and values. A private domain belongs to a driver of a single organization, such as gpu.acme.internal.

// quoted matches the string literals of an expression.
var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	domain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// deviceDriver replaces the name of a driver of devices, unless it is public.
func (w *walker) deviceDriver(name string) string {
	if isPublic(name) {
		return w.driver(name)
	}
	if !w.closed {
		w.private[name] = true
	}
	return w.name(name)
}

// expression replaces the private domains and drivers in the strings of an expression in CEL.
func (w *walker) expression(text string) string {
	return quoted.ReplaceAllStringFunc(text, func(literal string) string {
		return literal[:1] + w.attribute(literal[1:len(literal)-1]) + literal[len(literal)-1:]
	})
}

// attribute replaces the private domain of an attribute's name, or of its value.
func (w *walker) attribute(name string) string {
	of, rest, qualified := strings.Cut(name, "/")
	if !domain.MatchString(of) && !w.private[of] || isPublic(of) {
		return name
	}
	if of = w.name(of); qualified {
		return of + "/" + rest
	}
	return of
}

// attributes replaces the private domains in the names and the texts of a device's attributes or capacity.
func (w *walker) attributes(value any) any {
	switch v := value.(type) {
	case map[string]any:
		made := make(map[string]any, len(v))
		for name, inner := range v {
			made[w.attribute(name)] = w.attributes(inner)
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i := range v {
			made[i] = w.attributes(v[i])
		}
		return made
	case string:
		return w.attribute(v)
	}
	return value
}
