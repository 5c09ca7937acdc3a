package admission

import (
	"cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiadmission "k8s.io/apiserver/pkg/admission"

	"github.com/faultline/faultline/pkg/cluster"
)

// Refused reports whether the error is the answer of an API server that does not create or change an object. Any other says that the input cannot be
// simulated as it is.
func Refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }

// creationOf is the request to create an object, as upstream's admission plugins see it. The object may be in its internal version.
func creationOf(obj cluster.Object, request runtime.Object) apiadmission.Attributes {
	kind := KindNamed(cluster.KindOf(obj))
	return apiadmission.NewAttributesRecord(request, nil, kind.GroupVersion().WithKind(kind.name), obj.GetNamespace(), nameOf(obj),
		kind.resource(), "", apiadmission.Create, &metav1.CreateOptions{}, false, nil)
}

// changeOf is the request that makes an object what it has become. What a pod requests is changed through its resize.
func changeOf(obj, old cluster.Object) apiadmission.Attributes {
	kind, subresource := KindNamed(cluster.KindOf(obj)), ""
	if kind.name == "Pod" {
		subresource = "resize"
	}
	return apiadmission.NewAttributesRecord(obj, old, kind.GroupVersion().WithKind(kind.name), obj.GetNamespace(), nameOf(obj),
		kind.resource(), subresource, apiadmission.Update, &metav1.UpdateOptions{}, false, nil)
}

// nameOf is the name of an object in messages. That of a controller's pod is generated when it is created.
func nameOf(obj cluster.Object) string { return cmp.Or(obj.GetName(), obj.GetGenerateName()) }

// resource is the kind in the API server's paths: pods.
func (k *Kind) resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(k.GroupVersion().WithKind(k.name))
	return plural
}
