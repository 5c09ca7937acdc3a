package admission

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/faultline/faultline/pkg/cluster"
)

// serviceAccountPlugin is the name of upstream's plugin. Upstream's plugin also adds the volume of a token to each pod, which does not
// matter to the scheduler.
const serviceAccountPlugin = "ServiceAccount"

// defaultServiceAccount is the account of pods that name none. A controller creates it in each namespace.
const defaultServiceAccount = "default"

// accounts are the service accounts of a state.
type accounts struct {
	known map[types.NamespacedName]bool
	// listed holds the namespaces whose accounts the input has. It has all accounts of these; the accounts of other namespaces are unknown.
	listed map[string]bool
}

func newAccounts(s *cluster.State) accounts {
	a := accounts{map[types.NamespacedName]bool{}, map[string]bool{}}
	for _, account := range s.ServiceAccounts {
		a.known[cluster.NameOf(account)], a.listed[account.Namespace] = true, true
	}
	if len(a.listed) == 0 {
		return a
	}
	for _, pod := range s.Pods {
		if cluster.FromDump(pod) { // its cluster has the account
			a.known[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}] = true
		}
	}
	return a
}

// checkAccount returns the error with which the API server refuses a new pod whose account is missing. It does what getServiceAccount and Admit do
// in https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/serviceaccount/admission.go.
func (a accounts) checkAccount(namespace, name string) error {
	if name == "" || name == defaultServiceAccount || !a.listed[namespace] || a.known[types.NamespacedName{Namespace: namespace, Name: name}] {
		return nil
	}
	return fmt.Errorf("error looking up service account %s/%s: %w", namespace, name, apierrors.NewNotFound(v1.Resource("serviceaccount"), name))
}

// serviceAccounts is the plugin ServiceAccount for new pods.
type serviceAccounts struct{ accounts }

func (serviceAccounts) Handles(operation apiadmission.Operation) bool {
	return operation == apiadmission.Create
}

// Admit implements admission.MutationInterface.
func (s serviceAccounts) Admit(_ context.Context, a apiadmission.Attributes, _ apiadmission.ObjectInterfaces) error {
	pod, is := a.GetObject().(*core.Pod)
	if !is {
		return nil
	}
	if err := s.checkAccount(a.GetNamespace(), pod.Spec.ServiceAccountName); err != nil {
		return apiadmission.NewForbidden(a, err)
	}
	return nil
}
