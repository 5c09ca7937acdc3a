package anonymous

import (
	"regexp"
	"strings"
)

// Expressions select devices by the attributes that drivers publish. So attributes stay as they are, except for private domains in their
// names and values. A private domain belongs to a driver of a single organization, such as gpu.acme.internal.

// stringLiteral matches the string literals of an expression.
var (
	stringLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	domainName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// replaceDeviceDriver replaces the name of a driver of devices, unless it is public.
func (w *walker) replaceDeviceDriver(name string) string {
	if isPublic(name) {
		return w.keepDriver(name)
	}
	if !w.closed {
		w.privateDrivers[name] = true
	}
	return w.replaceName(name)
}

// replaceExpression replaces the private domains and drivers in the strings of an expression in CEL.
func (w *walker) replaceExpression(text string) string {
	return stringLiteral.ReplaceAllStringFunc(text, func(literal string) string {
		return literal[:1] + w.replaceAttribute(literal[1:len(literal)-1]) + literal[len(literal)-1:]
	})
}

// replaceAttribute replaces the private domain of an attribute's name, or of its value.
func (w *walker) replaceAttribute(name string) string {
	of, rest, qualified := strings.Cut(name, "/")
	if !domainName.MatchString(of) && !w.privateDrivers[of] || isPublic(of) {
		return name
	}
	if of = w.replaceName(of); qualified {
		return of + "/" + rest
	}
	return of
}

// replaceAttributes replaces the private domains in the names and the texts of a device's attributes or capacity.
func (w *walker) replaceAttributes(value any) any {
	switch v := value.(type) {
	case map[string]any:
		made := make(map[string]any, len(v))
		for name, inner := range v {
			made[w.replaceAttribute(name)] = w.replaceAttributes(inner)
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i := range v {
			made[i] = w.replaceAttributes(v[i])
		}
		return made
	case string:
		return w.replaceAttribute(v)
	}
	return value
}
