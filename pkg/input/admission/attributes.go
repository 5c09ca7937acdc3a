package admission

import (
	"cmp"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiadmission "k8s.io/apiserver/pkg/admission"

	"github.com/faultline/faultline/pkg/cluster"
)

// IsRefusal reports whether the error is the answer of an API server that refuses to create or change an object. Any other error means that
// Faultline cannot simulate the input.
func IsRefusal(err error) bool { return errors.As(err, new(apierrors.APIStatus)) }

// newCreateRequest returns the request to create an object, as upstream's admission plugins see it. The object may be in its internal version.
func newCreateRequest(obj cluster.Object, request runtime.Object) apiadmission.Attributes {
	kind := KindNamed(cluster.KindOf(obj))
	return apiadmission.NewAttributesRecord(request, nil, kind.GroupVersion().WithKind(kind.name), obj.GetNamespace(), nameInMessages(obj),
		kind.resource(), "", apiadmission.Create, &metav1.CreateOptions{}, false, nil)
}

// newUpdateRequest returns the request that changes the old object to the new one. For a pod, it is a request to pods/resize.
func newUpdateRequest(obj, old cluster.Object) apiadmission.Attributes {
	kind, subresource := KindNamed(cluster.KindOf(obj)), ""
	if kind.name == "Pod" {
		subresource = "resize"
	}
	return apiadmission.NewAttributesRecord(obj, old, kind.GroupVersion().WithKind(kind.name), obj.GetNamespace(), nameInMessages(obj),
		kind.resource(), subresource, apiadmission.Update, &metav1.UpdateOptions{}, false, nil)
}

// nameInMessages returns the name of an object for messages. For a controller's pod, which has no name until it is created, it is the generateName.
func nameInMessages(obj cluster.Object) string { return cmp.Or(obj.GetName(), obj.GetGenerateName()) }

// HasResource reports whether a State holds objects of a resource, such as apps and deployments.
func HasResource(group, resource string) bool {
	return slices.ContainsFunc(kindTable, func(k *Kind) bool { return k.group == group && k.resource().Resource == resource })
}

// resource returns the kind's resource, such as pods, as the API server's paths have it.
func (k *Kind) resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersion().WithKind(k.name))
	return plural
}
