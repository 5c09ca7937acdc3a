package ci

import (
	"regexp"
	"slices"
	"strings"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/pkg/list"
)

// withoutRandomNames gives objects whose names are random, as with randAlphaNum of helm, the names that they have on the other side: otherwise each
// would be an object that the change removes, and a new one. A name is random if the command prints another one in its place when it runs once
// more. That is tried only if each side has names that the other lacks.
func (g *gateRun) withoutRandomNames(c *command.Call, base *checkout, command string, head, before []byte) ([]byte, error) {
	now, then := objectNames(head), objectNames(before)
	added := list.Without(now, func(name string) bool { return slices.Contains(then, name) })
	removed := list.Without(then, func(name string) bool { return slices.Contains(now, name) })
	if len(added) == 0 || len(added) != len(removed) {
		return head, nil
	}
	once, err := renderHead(c, base, command)
	if err != nil {
		return nil, err
	}
	stable := objectNames(once)
	text := string(head)
	for i, name := range added { // names are in the order of the objects
		if !slices.Contains(stable, name) {
			text = strings.ReplaceAll(text, name, removed[i])
		}
	}
	return []byte(text), nil
}

// objectName matches the line of an object's name as helm and kustomize print it.
var objectName = regexp.MustCompile(`(?m)^metadata:\n(?:  .*\n)*?  name: ["']?([^"'\s]+)["']?$`)

// objectNames returns the names of the objects in manifests, each once.
func objectNames(manifests []byte) []string {
	var names []string
	for _, found := range objectName.FindAllSubmatch(manifests, -1) {
		names = append(names, string(found[1]))
	}
	return list.Distinct(names)
}
