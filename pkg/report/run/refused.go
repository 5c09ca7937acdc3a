package run

import (
	"fmt"

	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// nameRefused returns "3 pods of deployment/web", or the name of the object.
func (s *stepText) nameRefused(r Refused) string {
	name := s.qualify(r.Namespace, r.String())
	if r.OfWorkload() {
		return fmt.Sprintf("%s of %s", words.Count(r.Pods, "pod"), name)
	}
	return name
}

// describeRefusedObjects names the objects other than pods that the API server refused to create for a user: "Refused by policy ceiling:
// deployment/web: no more than 40 replicas". It is "" if there are none.
func (s *Step) describeRefusedObjects() string {
	objects := list.Where(s.Refused, Refused.OfObject)
	if len(objects) == 0 {
		return ""
	}
	by := "the API server"
	policy, says := objects[0].Denial()
	if policy != "" {
		by = "policy " + policy
	}
	alike := list.Where(objects, func(r Refused) bool { return r.Reason() == objects[0].Reason() })
	line := fmt.Sprintf("Refused by %s: %s: %s", by, words.Few(list.Map(alike, func(r Refused) string { return r.Qualified() })), says)
	if others := len(objects) - len(alike); others > 0 {
		line += fmt.Sprintf("; and %s refused", words.Is(others, "other object"))
	}
	return line
}

// refused writes what the API server refused to create, and why. Objects with the same reason share it.
func (t *writer) refused(s *stepText) {
	if len(s.Refused) == 0 {
		return
	}
	t.Linef(doc.Yellow, "Refused by the API server:")
	groups := list.GroupBy(s.Refused, Refused.Reason)
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		message := groups[i][0].Message
		if len(groups[i]) > 1 {
			message = groups[i][0].Reason()
		}
		t.Linef(doc.Plain, "  %s", t.ListNames(list.Map(groups[i], s.nameRefused)))
		t.Linef(doc.Plain, "    %s", message)
		for _, line := range doc.CauseLines(groups[i][0].Causes) {
			t.Linef(doc.Plain, "    %s", line)
		}
	})
}
