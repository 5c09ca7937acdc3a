package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/pkg/cluster"
)

// world is a cluster in which nothing moves.
type world struct {
	t     *testing.T
	state *cluster.State
}

func newWorld(t *testing.T, nodes int) *world {
	t.Helper()
	w := &world{t: t, state: &cluster.State{Now: cluster.Epoch}}
	for i := range nodes {
		w.admit(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i+1)}})
	}
	return w
}

func (w *world) admit(objs ...cluster.Object) []string {
	w.t.Helper()
	next, notes, err := Admit(w.state, objs...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.state = next
	return notes
}

func (w *world) check(what string, got, want any) {
	w.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func decode(t *testing.T, manifests string) []cluster.Object {
	t.Helper()
	var objs []cluster.Object
	for document := range strings.SplitSeq(manifests, "---") {
		obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		objs = append(objs, obj.(cluster.Object))
	}
	return objs
}

// pod returns the manifest of a pod; more is appended to its spec.
func pod(more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, image: a}]%s}
`, more)
}

// workload returns the manifest of a workload; more is appended to its spec, two spaces deep.
func workload(kind, name, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: c, image: a}]}
%[3]s`, kind, name, more)
}

func job(more string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}
` + more
}

func storageClass(provisioner string) string {
	return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: " + provisioner + "\n"
}
