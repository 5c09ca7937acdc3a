package loader

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// No object of a dump makes the dump invalid: a note says which objects are left out, and why.
func TestDumpIsTakenAsItIs(t *testing.T) {
	dump := dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24})
	for _, where := range []string{"cluster", "files"} {
		t.Run(where, func(t *testing.T) {
			clusterFiles, files := []string{"-"}, []string(nil)
			if where == "files" {
				clusterFiles, files = files, clusterFiles
			}
			s, err := FromFiles(bytes.NewReader(dump), clusterFiles, files, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{
				`1 claim of running pods that the input lacks (data/data-ledger-1) is assumed to be there, with a volume that only nodes in the zone of its pod reach ` +
					`(class gp3 of ebs.csi.aws.com); give PersistentVolumeClaims and PersistentVolumes, too.`,
				`read as far as it is known: Node (ip-10-0-1-10): unknown field "status.futureCapacity".`,
				`read as far as it is known: Pod (`,
				`set aside: Pod (ml/job-runner-0, ml/job-runner-1): node ip-10-0-9-9 is not there.`,
				`left to the scheduler "volcano", which is not simulated: Pod (ml/train-queued).`,
				`1 pod keeps its node: its scheduler is not simulated ("volcano"); another would wait.`,
			}
			got := append([]string(nil), s.Notes...)
			if len(got) == len(want) && strings.HasPrefix(got[2], want[2]) && strings.HasSuffix(got[2], ` more): unknown field "spec.futurePolicy".`) {
				got[2] = want[2] // the seed decides which pods there are
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			for _, obj := range s.Objects() {
				if strings.HasPrefix(obj.GetName(), "job-runner-") {
					t.Errorf("%s is there, and its node is not", obj.GetName())
				}
			}
		})
	}
}

// A folder gives one note about files without objects, and another note about older versions of objects. --strict refuses both.
func TestWhatAFolderLacksIsNoted(t *testing.T) {
	pod := func(version, node string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u, resourceVersion: "` + version + `"}, spec: {nodeName: ` + node + `, containers: [{name: c, image: i}]}}`
	}
	tree := fstest.MapFS{"dir/nodes.yaml": {Data: []byte("{apiVersion: v1, kind: Node, metadata: {name: one}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: two}}")},
		"dir/a.yaml": {Data: []byte(pod("8", "one"))}, "dir/b.yaml": {Data: []byte(pod("9", "two"))}}
	for _, name := range []string{"c", "d", "e", "f", "g"} {
		tree["dir/"+name+".json"] = &fstest.MapFile{Data: []byte(`["timeout"]`)}
	}
	tree["dir/sub/rest.tar.gz"] = &fstest.MapFile{Data: []byte("x")}
	s, err := FromFiles(nil, []string{"dir"}, nil, Options{FS: tree})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"left out, without any Kubernetes object: 5 files (dir/c.json, dir/d.json, dir/e.json and 2 more).",
		"not looked into, since packed inside of a folder or an archive: 1 file (dir/sub/rest.tar.gz); unpack what has objects, or name it by itself.",
		"set aside: Pod (default/p): the input has a newer version of it.",
	}
	if diff := cmp.Diff(want, s.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	_, err = FromFiles(nil, []string{"dir"}, nil, Options{FS: tree, Strict: true})
	for _, want := range []string{"dir/a.yaml: Pod default/p: the input has a newer version of it", "dir/g.json: [0]: a string where an object"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// With --strict the dump is read as manifests are.
func TestStrictDump(t *testing.T) {
	dump := dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24})
	_, err := FromFiles(bytes.NewReader(dump), []string{"-"}, nil, Options{Strict: true})
	if err == nil || !strings.Contains(err.Error(), `Node ip-10-0-1-10: unknown field "status.futureCapacity"`) {
		t.Errorf("error %v", err)
	}
	known := `{apiVersion: v1, kind: Node, metadata: {name: one, resourceVersion: "1"}}
---
{apiVersion: v1, kind: Pod, metadata: {name: homeless, resourceVersion: "2"}, spec: {nodeName: gone, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: foreign, resourceVersion: "3"}, spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}`
	if _, err := FromFiles(strings.NewReader(known), []string{"-"}, nil, Options{}); err != nil {
		t.Error(err)
	}
	_, err = FromFiles(strings.NewReader(known), []string{"-"}, nil, Options{Strict: true})
	for _, want := range []string{`Pod default/homeless: spec.nodeName: node "gone" does not exist`, `Pod default/foreign: spec.schedulerName: the scheduler has no profile "volcano"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Pods and templates of manifests may name a scheduler that is not simulated: a note says that they are left to it. --strict refuses them.
func TestManifestsOfAnotherScheduler(t *testing.T) {
	const manifests = `{apiVersion: v1, kind: Node, metadata: {name: one}}
---
{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}}}`
	s, err := FromFiles(strings.NewReader(manifests), []string{"-"}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`left to the scheduler "volcano", which is not simulated: Pod (default/alone).`, `left to the scheduler "volcano", which is not simulated: pods of Deployment default/web.`} {
		if !slices.Contains(s.Notes, want) {
			t.Errorf("notes %q, want %s", s.Notes, want)
		}
	}
	_, err = FromFiles(strings.NewReader(manifests), []string{"-"}, nil, Options{Strict: true})
	if want := `Deployment default/web: spec.template.spec.schedulerName: the scheduler has no profile "volcano"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Flaws of one kind give one note, whatever their position. If there are very many kinds, the last ones are only counted.
func TestNotesAreFolded(t *testing.T) {
	pod := func(name, container string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `, resourceVersion: "1"}, spec: {nodeName: one, containers: [` + container + `]}}` + "\n---\n"
	}
	text := "{apiVersion: v1, kind: Node, metadata: {name: one}}\n---\n"
	text += pod("a", "{name: c, image: i, gpu: 1}") + pod("c", "{name: d, image: i}, {name: c, image: i, gpu: 1}")
	for i := range maxFlaws {
		text += pod("x"+string(rune('a'+i)), "{name: c, image: i, new"+string(rune('a'+i))+": 1}")
	}
	s, err := FromFiles(strings.NewReader(text), []string{"-"}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `read as far as it is known: Pod (a, c): unknown field "spec.containers[*].gpu".`; s.Notes[0] != want {
		t.Errorf("note %s, want %s", s.Notes[0], want)
	}
	want := "1 more reason for which objects are set aside, or read as far as they are known; --strict lists all."
	if last := s.Notes[len(s.Notes)-1]; len(s.Notes) != maxFlaws+1 || last != want {
		t.Errorf("%d notes, the last %s, want %d and %s", len(s.Notes), last, maxFlaws+1, want)
	}
}

// One note counts the pods that other schedulers have placed, by the name of the scheduler. It leaves out pods that a kubelet made from
// files, and pods that have ended.
func TestPodsPlacedByOthers(t *testing.T) {
	pod := func(name, scheduler, more string) string {
		return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", resourceVersion: '2'" + more + "}, spec: {schedulerName: " + scheduler + ", nodeName: one, containers: [{name: c, image: i}]}, status: {phase: Running}}\n"
	}
	node := "{apiVersion: v1, kind: Node, metadata: {name: one, resourceVersion: '1'}}\n"
	static := ", ownerReferences: [{apiVersion: v1, kind: Node, name: one, uid: u, controller: true}]"
	ended := strings.Replace(pod("ended", "volcano", ""), "Running", "Succeeded", 1)
	for name, test := range map[string]struct {
		dump string
		want []string
	}{
		"one":     {pod("a", "volcano", ""), []string{`1 pod keeps its node: its scheduler is not simulated ("volcano"); another would wait.`}},
		"several": {pod("a", "volcano", "") + pod("b", "kai", "") + pod("c", "volcano", ""), []string{`3 pods keep their nodes: their schedulers are not simulated (2 of "volcano" and 1 of "kai"); others would wait.`}},
		"none":    {pod("a", "default-scheduler", "") + pod("b", "volcano", static) + ended, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromFiles(strings.NewReader(node+test.dump), []string{"-"}, nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, s.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
