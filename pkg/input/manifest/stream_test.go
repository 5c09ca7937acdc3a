package manifest

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// The way in which a file is read does not affect the result.
func TestListAsItIsRead(t *testing.T) {
	const a, b = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}`, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}`
	for _, test := range []struct {
		name, text string
		streamed   bool
	}{
		{"as kubectl writes it", `{"apiVersion": "v1", "items": [` + a + "," + b + `], "kind": "List", "metadata": {"resourceVersion": ""}}` + "\n", true},
		{"the kind first", `{"kind": "List", "apiVersion": "v1", "items": [` + a + "]}", true},
		{"of an API server", `{"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "a"}}]}`, true},
		{"its kind last", `{"apiVersion": "v1", "items": [{"metadata": {"name": "a"}}], "kind": "NamespaceList"}`, false},
		{"its version last", `{"kind": "NamespaceList", "items": [{"metadata": {"name": "a"}}], "apiVersion": "v1"}`, true},
		{"another version last", `{"kind": "DeploymentList", "items": [{"metadata": {"name": "a"}}], "apiVersion": "apps/v1"}`, false},
		{"a List in a List", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "List", "items": [` + a + "]}," + b + `], "kind": "List"}`, true},
		{"a byte order mark and lines", "\ufeff\r\n\n" + `{"apiVersion": "v1", "items": [{"kind": "Pod"}], "kind": "List"}`, true},
		{"nothing in it", `{"apiVersion": "v1", "items": [], "kind": "List"}`, true},
		{"wrong items", `{"apiVersion": "v1", "items": [1, {"kind": "Pod"}, {"apiVersion": "v1", "kind": "Nod"}, null, ` + a + `], "kind": "List"}`, true},
		{"one name twice", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}], "kind": "List"}`, true},
		{"a kind that is there twice", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}, "kind": "Node"}], "kind": "List"}`, true},
		{"an empty version", `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"apiVersion": "", "metadata": {"name": "a"}}]}`, true},
		{"an empty kind last", `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}, "kind": ""}]}`, true},
		{"a kind that is null", `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"kind": null, "metadata": {"name": "a"}}]}`, true},
		{"another kind than the List's", `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}]}`, true},
		{"the kind behind the rest", `{"apiVersion": "v1", "items": [{"metadata": {"name": "a"}, "kind": "Node", "apiVersion": "v1"}], "kind": "List"}`, true},
		{"unknown fields", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "resourceVersion": "1"}, "specs": {}},
			{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}, "specs": {}}], "kind": "List"}`, true},
		{"values of the wrong type", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "resourceVersion": "1"}, "spec": 1},
			{"apiVersion": "v1", "kind": "Node", "metadata": {"name": 1}}, {"apiVersion": "v1", "kind": 1}], "kind": "List"}`, true},
		{"half a surrogate pair", `{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "annotations": {"a": "\ud800"}}}], "kind": "List"}`, false},
		{"no version", `{"items": [` + a + `], "kind": "List"}`, false},
		{"no kind", `{"apiVersion": "v1", "items": [` + a + `]}`, false},
		{"an empty kind", `{"apiVersion": "v1", "kind": "", "items": [` + a + `]}`, false},
		{"items twice", `{"apiVersion": "v1", "items": [` + a + `], "kind": "List", "items": [` + b + `]}`, false},
		{"items that are no list", `{"apiVersion": "v1", "items": ` + a + `, "kind": "List"}`, false},
		{"no items", `{"apiVersion": "v1", "items": null, "kind": "List"}`, false},
		{"one object", a, false},
		{"two Lists", `{"apiVersion": "v1", "items": [` + a + `], "kind": "List"}` + "\n" + `{"apiVersion": "v1", "items": [` + b + `], "kind": "List"}`, false},
		{"YAML behind it", `{"apiVersion": "v1", "items": [` + a + `], "kind": "List"}` + "\n---\n" + b, false},
		{"YAML", `{apiVersion: v1, items: [], kind: List}`, false},
		{"cut off", `{"apiVersion": "v1", "items": [` + a + `,`, false},
		{"a comma too many", `{"apiVersion": "v1", "items": [` + a + `,], "kind": "List"}`, false},
		{"a wrong header", `{"apiVersion": 1, "items": [` + a + `], "kind": "List"}`, false},
		{"a wrong name", `{"apiVersion": "v1", "items": [` + a + `], "kind": "List", "metadata": {"name": 1}}`, false},
		{"binary", `{"apiVersion": "v1", "items": [` + a + "\x00" + `], "kind": "List"}`, false},
		{"Latin-1", `{"apiVersion": "v1", "items": [{"kind": "` + "\xe4" + `"}], "kind": "List"}`, false},
		{"Latin-1 in a field", `{"apiVersion": "v1", "` + "\xe4" + `": 1, "items": [], "kind": "List"}`, false},
		{"a dump", string(dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24})), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var list, whole collection
			read, streamed := list.decodeList("dump.json", strings.NewReader(test.text))
			if streamed != test.streamed {
				t.Fatalf("read as a List while it is read: %t; want %t", streamed, test.streamed)
			} else if !streamed {
				return
			}
			list.addFile(read, false)
			whole.addFile(whole.decodeWhole("dump.json", []byte(test.text)), false)
			if diff := cmp.Diff(whole.set, list.set); diff != "" {
				t.Errorf("(-read as a whole +as a stream):\n%s", diff)
			}
			if diff := cmp.Diff(fmt.Sprint(whole.errs), fmt.Sprint(list.errs)); diff != "" {
				t.Errorf("errors (-read as a whole +as a stream):\n%s", diff)
			}
		})
	}
}

func TestListHead(t *testing.T) {
	writeFiles(t, map[string]string{
		"dump.json": `{"apiVersion": "v1", "items": [{"kind": "Pod"}, 1], "kind": "List"}`,
		"pod.json":  `{"apiVersion": "v1", "kind": "Pod"}`,
		"cut.json":  `{"apiVersion": "v1", "kind": "List", "items": [`,
	})
	got := map[string]string{}
	for _, file := range []string{"dump.json", "pod.json", "cut.json", "none.json", Stdin} {
		apiVersion, kind := ListHead(os.DirFS("."), file)
		got[file] = apiVersion + " " + kind
	}
	want := map[string]string{"dump.json": "v1 List", "pod.json": " ", "cut.json": " ", "none.json": " ", Stdin: " "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPodsOfOneOwnerShare(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-%d", "labels": {"app": "web"}, "annotations": {"n": "%[1]d"},
		"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "%s", "controller": true}]},
		"spec": {"tolerations": [{"key": "a"}, {"key": "b"}], "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}, "env": [{"name": "N", "value": "%[1]d"}]}]}}`
	list := `{"apiVersion": "v1", "kind": "List", "items": [` + fmt.Sprintf(pod, 0, "1") + "," + fmt.Sprintf(pod, 1, "1") + "," + fmt.Sprintf(pod, 2, "2") + "]}"
	set, err := Decode("dump.json", []byte(list))
	if err != nil {
		t.Fatal(err)
	}
	var pods []*v1.Pod
	for _, obj := range set.Objects {
		pods = append(pods, obj.Object.(*v1.Pod))
	}
	shared := func(a, b *v1.Pod) [4]bool {
		same := func(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
		return [4]bool{
			same(a.Labels, b.Labels), same(a.Spec.Tolerations, b.Spec.Tolerations),
			same(a.Spec.Containers[0].Resources.Requests, b.Spec.Containers[0].Resources.Requests), same(a.Annotations, b.Annotations),
		}
	}
	if got, want := shared(pods[0], pods[1]), [4]bool{true, true, true, false}; got != want {
		t.Errorf("labels, tolerations, requests and annotations of two pods of one owner are shared: %v; want %v", got, want)
	}
	if got, want := shared(pods[0], pods[2]), [4]bool{}; got != want {
		t.Errorf("those of two owners: %v; want %v", got, want)
	}
	for i, pod := range pods {
		if got := pod.Spec.Containers[0].Env[0].Value; got != fmt.Sprint(i) {
			t.Errorf("pod %d has the environment of pod %s", i, got)
		}
		if list := pod.Spec.Tolerations; i == 1 && cap(list) != len(list) {
			t.Error("appending to a shared list would write into that of another pod")
		}
	}
}
