package report

import "github.com/faultline/faultline/pkg/cluster"

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

// NewNotCreated puts what was refused into the model.
func NewNotCreated(refused []cluster.Refusal) []NotCreated {
	var all []NotCreated
	for _, r := range refused {
		all = append(all, NotCreated{Kind: r.Of.Kind, Namespace: r.Of.Namespace, Name: r.Of.Name, Pods: r.Pods, Message: r.Message})
	}
	return all
}

// Of is the workload or the object.
func (r NotCreated) Of() cluster.Ref {
	return cluster.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// Reason is the message without the names in it, so that what is refused for one reason is alike.
func (r NotCreated) Reason() string { return cluster.Refusal{Message: r.Message}.Reason() }
