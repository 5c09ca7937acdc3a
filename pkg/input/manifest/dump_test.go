package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// No object that an API server has taken, perhaps of another release, makes a dump invalid: the object is read as far as this release knows
// it, or left out.
func TestFlaws(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p%s}, spec: {containers: [{name: c, image: i%s}]%s}}`
	tests := []struct{ name, text, objects, flaws string }{
		{"a new field", fmt.Sprintf(pod, ", resourceVersion: '7'", ", gpus: 2", ""), "[p]",
			`[test: Pod p: unknown field "spec.containers[0].gpus" false]`},
		{"a value of another type", fmt.Sprintf(pod, ", resourceVersion: '7', namespace: shop", "", ", priority: high"), "[]",
			`[test: Pod shop/p: spec.priority: Invalid value: "high": a string where a whole number is wanted true]`},
		{"a value that is legal elsewhere", fmt.Sprintf(pod, ", resourceVersion: '7'", "", ", restartPolicy: Sometimes"), "[]",
			`[test: Pod p: spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never" true]`},
		{"a version that is gone", `{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClaim, metadata: {name: b, namespace: shop, resourceVersion: '7'}}`, "[]",
			`[test: ResourceClaim shop/b: apiVersion resource.k8s.io/v1alpha2 has no ResourceClaim in Kubernetes 1.37; use resource.k8s.io/v1 true]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			set, err := Decode("test", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			names, flaws := []string{}, []string{}
			for _, obj := range set.Objects {
				names = append(names, obj.GetName())
			}
			for _, flaw := range set.Flaws {
				flaws = append(flaws, fmt.Sprint(flaw, " ", flaw.Aside))
			}
			if diff := cmp.Diff([]string{test.objects, test.flaws}, []string{fmt.Sprint(names), fmt.Sprint(flaws)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := DecodeObject("test", []byte(test.text)); err == nil {
				t.Error("a single object, which is no dump, was taken with the flaw")
			}
		})
	}
}
