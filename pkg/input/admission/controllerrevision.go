package admission

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// TemplatePatch returns the content of a ControllerRevision for the DaemonSet's template. It does what getPatch does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/daemon/update.go.
func TemplatePatch(ds *appsv1.DaemonSet) ([]byte, error) {
	data, err := json.Marshal(ds)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	raw.Spec.Template["$patch"] = "replace"
	return json.Marshal(raw)
}

// rewriteRevision rewrites the template in a ControllerRevision of a StatefulSet or a DaemonSet as this version of Kubernetes would write it.
// Controllers compare the bytes of revisions, and a dump can differ in white space, and in the defaults of its version.
func (a *admitCall) rewriteRevision(revision *appsv1.ControllerRevision) {
	ref := metav1.GetControllerOfNoCopy(revision)
	if ref == nil || ref.Kind != "StatefulSet" && ref.Kind != "DaemonSet" {
		return
	}
	var ds appsv1.DaemonSet // both kinds write a template in the same way
	if err := json.Unmarshal(revision.Data.Raw, &ds); err != nil {
		a.addProblem(revision, "data: %w", err)
		return
	}
	if len(ds.Spec.Template.Spec.Containers) == 0 {
		a.addProblem(revision, "data.spec.template.spec.containers: required value")
		return
	}
	legacyscheme.Scheme.Default(&ds)
	patch, err := TemplatePatch(&ds)
	if err != nil {
		a.addProblem(revision, "data: %w", err)
		return
	}
	revision.Data.Raw = patch
}
