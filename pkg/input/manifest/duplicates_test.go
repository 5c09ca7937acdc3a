package manifest

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// An object that occurs twice in a dump counts once: the newer version counts, and the older one is listed. In manifests it is an error,
// since nobody can say which one counts.
func TestObjectTwice(t *testing.T) {
	pod := func(uid, version, node string) string {
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": %q, "resourceVersion": %q, "managedFields": [{"manager": %[2]q}]},
			"spec": {"nodeName": %[3]q, "containers": [{"name": "c", "image": "i"}]}}`, uid, version, node)
	}
	const newer, another = "the input has a newer version of it", "the input has another text of the same version, which comes first"
	for _, test := range []struct{ name, first, second, node, older, err string }{
		{"equal", pod("u", "9", "a"), pod("u", "9", "a"), "a", "", ""},
		{"the second is newer", pod("u", "9", "a"), pod("u", "10", "b"), "b", newer, ""},
		{"the first is newer", pod("u", "10", "a"), pod("u", "9", "b"), "a", newer, ""},
		{"created anew", pod("u", "9", "a"), pod("v", "10", "b"), "b", newer, ""},
		{"of one version", pod("u", "9", "a"), pod("u", "9", "b"), "a", another, ""},
		{"equal without versions", pod("u", "", "a"), pod("u", "", "a"), "a", "", ""},
		{"equal manifests", pod("", "", "a"), pod("", "", "a"), "", "", "standard input: document 2: Pod default/p: already defined in standard input: document 1; remove or rename one of them"},
		{"manifests", pod("", "", "a"), pod("", "", "b"), "", "", "standard input: document 2: Pod default/p: already defined in standard input: document 1; remove or rename one of them"},
		{"a manifest and a dump", pod("", "", "a"), pod("u", "9", "a"), "", "", "standard input: document 2: Pod default/p: already defined in standard input: document 1; remove or rename one of them"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Read(strings.NewReader(test.first+test.second), Stdin)
			if test.err != "" || err != nil {
				if fmt.Sprint(err) != test.err {
					t.Errorf("got  %v\nwant %s", err, test.err)
				}
				return
			}
			if got := nodeOf(set); len(set.Objects) != 1 || got != test.node {
				t.Errorf("%d pods, the first on %s; want one on %s", len(set.Objects), got, test.node)
			}
			older := ""
			for _, flaw := range set.Older {
				older += flaw.Problem
			}
			if older != test.older || (set.Strict() != nil) != (older != "") {
				t.Errorf("older %q, want %q; strict is %v", older, test.older, set.Strict())
			}
		})
	}
}

// Custom resources and flaws of a dump are listed once, too.
func TestIgnoredTwice(t *testing.T) {
	resource := func(version, size string) string {
		return fmt.Sprintf(`{"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t", "resourceVersion": %q}, "size": %s}`, version, size)
	}
	const flawed = `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}, "new": 1}`
	set, err := Read(strings.NewReader(resource("9", "1")+resource("10", "2")+resource("8", "3")+flawed+flawed), Stdin)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Ignored) != 1 || !strings.Contains(string(set.Ignored[0].JSON), `"size": 2`) || len(set.Flaws) != 1 || len(set.Objects) != 1 {
		t.Errorf("ignored %v, flaws %v, objects %v", set.Ignored, set.Flaws, set.Objects)
	}
	set, err = Read(strings.NewReader(resource("", "1")+resource("", "2")), Stdin)
	if err != nil || len(set.Ignored) != 2 {
		t.Errorf("of manifests %v, error %v", set.Ignored, err)
	}
}

func nodeOf(set *Set) string {
	for _, obj := range set.Objects {
		if pod, is := obj.Object.(*v1.Pod); is {
			return pod.Spec.NodeName
		}
	}
	return ""
}
