package explain

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
)

// Changes with which the API server takes pods that name an object which does not exist.

// nameClass returns the attempts that let the pods name no priority class, or one of those that exist.
func (d *deniedWorkload) nameClass() []attempt {
	named := func(name, says string) attempt {
		return d.attemptOne(candidate{change: says, edit: func(spec *v1.PodSpec) { spec.PriorityClassName, spec.Priority = name, nil }})
	}
	all := []attempt{named("", "no priorityClassName")}
	for _, class := range d.step.State.PriorityClasses[:min(len(d.step.State.PriorityClasses), maxPerDomain)] {
		all = append(all, named(class.Name, fmt.Sprintf("priorityClassName: %s (%d)", class.Name, class.Value)))
	}
	return all
}

// createAccount returns the attempt that creates the service account.
func (d *deniedWorkload) createAccount(denial *cause.Denial) attempt {
	_, name, _ := strings.Cut(denial.Object, "/")
	made := &v1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Namespace: d.owner.Namespace, Name: name}}
	return d.attemptOne(candidate{change: fmt.Sprintf("create ServiceAccount %s in namespace %s", name, d.owner.Namespace), objects: []cluster.Object{made}})
}
