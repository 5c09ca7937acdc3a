package memo

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// Upstream's DefaultSelector compares all Services of a namespace with a pod, several times for each pod. These wrappers of the informers
// list only the Services that select the pod of the cycle, so DefaultSelector compares no others.

type servicesFactory struct {
	informers.SharedInformerFactory
	memo *Memo
}

func (f servicesFactory) Core() core.Interface {
	return servicesCore{f.SharedInformerFactory.Core(), f.memo}
}

type servicesCore struct {
	core.Interface
	memo *Memo
}

func (c servicesCore) V1() corev1.Interface { return servicesV1{c.Interface.V1(), c.memo} }

type servicesV1 struct {
	corev1.Interface
	memo *Memo
}

func (v servicesV1) Services() corev1.TypedServiceInformer {
	return servicesInformer{v.Interface.Services(), v.memo}
}

type servicesInformer struct {
	corev1.TypedServiceInformer
	memo *Memo
}

func (i servicesInformer) Lister() listers.ServiceLister {
	return servicesLister{i.TypedServiceInformer.Lister(), i.memo}
}

type servicesLister struct {
	listers.ServiceLister
	memo *Memo
}

func (l servicesLister) Services(namespace string) listers.ServiceNamespaceLister {
	return servicesIn{l.ServiceLister.Services(namespace), l.memo, namespace}
}

type servicesIn struct {
	listers.ServiceNamespaceLister
	memo      *Memo
	namespace string
}

func (s servicesIn) List(selector labels.Selector) ([]*v1.Service, error) {
	m := s.memo
	if m.current == nil || m.current.Namespace != s.namespace || !selector.Empty() {
		return s.ServiceNamespaceLister.List(selector)
	}
	if m.selectServices == nil {
		m.selectServices = cluster.Selecting(m.services, func(service *v1.Service) *metav1.LabelSelector {
			if service.Spec.Selector == nil {
				return nil // selects no pod
			}
			return &metav1.LabelSelector{MatchLabels: service.Spec.Selector}
		})
	}
	return m.selectServices(m.current), nil
}
