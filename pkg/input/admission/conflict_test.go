package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// An API server does not hold these objects at the same time, or does not take them. Objects with a creation time come from a cluster that
// does hold them.
func TestConflicts(t *testing.T) {
	const class = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nglobalDefault: true\nvalue: 5\nmetadata: "
	const pod = "---\napiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: registry.example.com/a:1}]}\nmetadata: "
	const namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: old, uid: u, deletionTimestamp: 2025-01-01T00:00:00Z}\nstatus: {phase: Terminating}\n"
	for name, test := range map[string]struct{ objects, want string }{
		"UIDs":                    {pod + "{name: a, uid: 01234567-89ab-cdef-0123-456789abcdef}\n" + pod + "{name: b, uid: 01234567-89ab-cdef-0123-456789abcdef}\n", `Pod default/b: metadata.uid: Invalid value: "01234567-89ab-cdef-0123-456789abcdef": is the UID of Pod default/a, too; give each its own, or leave it out`},
		"UIDs of two kinds":       {pod + "{name: a, uid: same}\n" + class + "{name: b, uid: same}\n", ""},
		"defaults":                {class + "{name: a}\n" + class + "{name: b}\n", "PriorityClass b: PriorityClass a is already marked as default. Only one default can exist"},
		"defaults of a cluster":   {class + "{name: a, creationTimestamp: 2025-01-01T00:00:00Z}\n" + class + "{name: b, creationTimestamp: 2025-01-01T00:00:00Z}\n", ""},
		"namespace":               {namespace + pod + "{name: a, namespace: old}\n", "Pod old/a: unable to create new content in namespace old because it is being terminated"},
		"namespace of a cluster":  {namespace + pod + "{name: a, namespace: old, creationTimestamp: 2025-01-01T00:00:00Z}\n", ""},
		"priority of no class":    {"---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {priority: 2147483647, containers: [{name: c, image: i}]}\n", `refused: pods "a" is forbidden: the integer value of priority (2147483647) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name`},
		"priority of its cluster": {"---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, creationTimestamp: 2025-01-01T00:00:00Z}\nspec: {priority: 7, containers: [{name: c, image: i}]}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Decode("a.yaml", []byte(test.objects))
			if err != nil {
				t.Fatal(err)
			}
			var objects []cluster.Object
			for _, object := range set.Objects {
				objects = append(objects, object.Object)
			}
			got := ""
			next, _, err := admission.Admit(&cluster.State{Now: cluster.Epoch}, objects...)
			if err != nil {
				got = err.Error()
			} else if len(next.Refused) > 0 {
				got = "refused: " + next.Refused[0].Message
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
