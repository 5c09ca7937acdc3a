package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestGeneratedNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for n := range 100_000 {
		name := GenerateName("web-", n)
		if seen[name] {
			t.Fatalf("name %s came twice", name)
		}
		seen[name] = true
	}
}

// A UID that was made up is none that was given, whatever the kind and namespace.
func TestGivenUID(t *testing.T) {
	for _, test := range []struct {
		obj  cluster.Object
		want types.UID
	}{
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, ""},
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "p-"}}, ""},
		{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, ""},
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "given"}}, "given"},
	} {
		identify(test.obj, "file")
		if got := GivenUID(test.obj); got != test.want {
			t.Errorf("%s: %q, want %q", test.obj.GetName(), got, test.want)
		}
	}
}
