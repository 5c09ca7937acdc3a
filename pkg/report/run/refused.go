package run

import (
	"fmt"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// NotCreated is what the API server refused to create, because of a RuntimeClass, a LimitRange or a ResourceQuota.
type NotCreated struct {
	// Kind, Namespace and Name are those of the workload whose pods are refused, or of the object itself.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pods is how many pods are not created; 0 for an object of another kind.
	Pods int `json:"pods"`
	// Message is the API server's error, or the event of the controller that quotes it.
	Message string `json:"message"`
}

func newNotCreated(refused []cluster.Refusal) []NotCreated {
	var all []NotCreated
	for _, r := range refused {
		all = append(all, NotCreated{Kind: r.Of.Kind, Namespace: r.Of.Namespace, Name: r.Of.Name, Pods: r.Pods, Message: r.Message})
	}
	return all
}

// of is the workload or the object.
func (r NotCreated) of() cluster.Ref {
	return cluster.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

func (r NotCreated) reason() string { return cluster.Refusal{Message: r.Message}.Reason() }

// subject is "3 pods of deployment/web", or the object itself.
func (s *stepText) subject(r NotCreated) string {
	name := s.qualified(r.Namespace, r.of().String())
	if (cluster.Refusal{Of: r.of(), Pods: r.Pods}).ByController() {
		return fmt.Sprintf("%s of %s", words.Count(r.Pods, "pod"), name)
	}
	return name
}

// refused says of the workloads whose pods were not created what the API server said, and what it says of several workloads once.
func (t *writer) refused(s *stepText) {
	if len(s.Refused) == 0 {
		return
	}
	t.Linef(text.Yellow, "Refused by the API server:")
	groups := report.Group(s.Refused, NotCreated.reason)
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		message := groups[i][0].Message
		if len(groups[i]) > 1 {
			message = groups[i][0].reason()
		}
		t.Linef(text.Plain, "  %s", t.Some(report.Each(groups[i], s.subject)))
		t.Linef(text.Plain, "    %s", message)
	})
}
