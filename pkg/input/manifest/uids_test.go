package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A tool has replaced every UID by <redacted>. The pod still belongs to its ReplicaSet, and both nodes are there.
func TestRedactedUIDs(t *testing.T) {
	const node = `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s", "uid": "<redacted>", "resourceVersion": "1"}}`
	writeFiles(t, map[string]string{"dump.json": `{"apiVersion": "v1", "kind": "List", "items": [` + fmt.Sprintf(node, "n1") + "," + fmt.Sprintf(node, "n2") + `,
		{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "shop", "uid": "<redacted>", "resourceVersion": "1"},
		 "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}}},
		{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "uid": "4f0c5f6e-92a3-4c1c-9a53-0d4d3f8f3b11", "resourceVersion": "1", "labels": {"a": "b"},
		 "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "<redacted>", "controller": true}]},
		 "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "c"}]}}]}`})
	set, err := Read(nil, "dump.json")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, obj := range set.Objects {
		got[obj.GetName()] = string(obj.GetUID())
		for _, owner := range obj.GetOwnerReferences() {
			got["owner of "+obj.GetName()] = string(owner.UID)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"n1": "<redacted> Node /n1", "n2": "<redacted> Node /n2", "web": "<redacted> ReplicaSet shop/web",
		"web-1": "4f0c5f6e-92a3-4c1c-9a53-0d4d3f8f3b11", "owner of web-1": "<redacted> ReplicaSet shop/web",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := set.Strict(); err == nil {
		t.Error("--strict takes them")
	}
}

// A tool has removed the UIDs of the objects, and left those in owner references.
func TestRemovedUIDs(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "shop", "labels": {"a": "b"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "%s", "uid": "4f0c5f6e", "controller": true}]},
		"spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "c"}]}}`
	set, err := Decode("dump.json", []byte(`{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "shop"},
		 "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}}}}, `+
		fmt.Sprintf(pod, "web-1", "web")+","+fmt.Sprintf(pod, "lost-1", "lost")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, obj := range set.Objects[1:] {
		got = append(got, fmt.Sprint(obj.GetName(), " ", obj.GetOwnerReferences()[0].UID == set.Objects[0].GetUID(), " ", obj.GetOwnerReferences()[0].UID == "4f0c5f6e"))
	}
	if diff := cmp.Diff([]string{"web-1 true false", "lost-1 false true"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
