package app

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/input/live/livetest"
)

func servedNode(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"uid":"n-%s","resourceVersion":"1","labels":{"kubernetes.io/hostname":%q}},
		"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"},"conditions":[{"type":"Ready","status":"True"}]}}`, name, name, name)
}

func servedPod(name, node string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"shop","uid":"p-%s","resourceVersion":"2"},
		"spec":{"nodeName":%q,"schedulerName":"default-scheduler","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Pending"}}`, name, name, node)
}

// Pods get nodes while the command watches: the first one any of two equal nodes, the second one the emptier node, and the third one the
// fuller node, which no scheduler chooses. In between, the server forgets its history, so that the client lists everything again. Then
// Ctrl-C ends the watch. The recording gives the same answer as the watch.
func TestVerifyWatch(t *testing.T) {
	cluster := livetest.New([]byte(`{"items":[` + servedNode("a") + "," + servedNode("b") + "," + servedPod("one", "") + `]}`))
	server := livetest.Serve(t, cluster)
	file := filepath.Join(t.TempDir(), "r.jsonl")
	ctx, stop := context.WithCancel(context.Background())
	var out bytes.Buffer
	said, ended := &spoken{}, make(chan int)
	go func() {
		ended <- execute(ctx, inmemory.StartProgram, command.OwnName, []string{"verify", "--server", server.URL, "--watch", "10m", "--record", file, "-q"}, nil, &out, said)
	}()
	said.until(t, `watching \S+ for 10m0s; interrupt to end it sooner`)
	cluster.Emit("MODIFIED", servedPod("one", "a"))
	said.until(t, `shop/one to a: among equals, one of 2 best nodes`)
	cluster.Emit("ADDED", servedPod("two", ""))
	cluster.Expire()
	cluster.Emit("MODIFIED", servedPod("two", "b"))
	said.until(t, `shop/two to b: expected, the best node`)
	cluster.Emit("ADDED", servedPod("more", ""))
	cluster.Emit("MODIFIED", servedPod("more", "a"))
	said.until(t, `shop/more to a: among equals`)
	cluster.Emit("ADDED", servedPod("three", ""))
	cluster.Emit("MODIFIED", servedPod("three", "a"))
	said.until(t, `shop/three to a: contradiction \(`)
	stop()
	if code := <-ended; code != 130 {
		t.Errorf("exit code %d: %s", code, said)
	}
	first := func(text string) string { line, _, _ := strings.Cut(text, "\n"); return line }
	if got := out.String(); !strings.Contains(got, "With its watched events, 1 contradiction among 4 choices, 3 proved.") {
		t.Errorf("%s", got)
	}
	before := out.String()
	out.Reset()
	if code := execute(context.Background(), inmemory.StartProgram, command.OwnName, []string{"verify", file, "-q"}, nil, &out, &spoken{}); code != 0 {
		t.Errorf("exit code %d of the recording", code)
	}
	if diff := cmp.Diff("With its recording, 1 contradiction among 4 choices, 3 proved.", first(out.String())); diff != "" {
		t.Errorf("the recording (-want +got):\n%s\nthe watch:\n%s", diff, before)
	}
	out.Reset()
	if code := execute(context.Background(), inmemory.StartProgram, command.OwnName, []string{"run", file, "-o", "name"}, nil, &out, &spoken{}); code != 0 || strings.Count(out.String(), "pod/") != 4 {
		t.Errorf("exit code %d of a run of the recording:\n%s", code, out.String())
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Errorf("%v", err)
	}
}

// Without the right to watch, the error shows the role that grants it.
func TestVerifyWatchForbidden(t *testing.T) {
	cluster := livetest.New([]byte(`{"items":[` + servedNode("a") + "," + servedPod("one", "a") + `]}`))
	cluster.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") == "" || r.URL.Path != "/api/v1/pods" {
			return false
		}
		livetest.WriteError(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods is forbidden: User "ci" cannot watch resource "pods" in API group "" at the cluster scope`)
		return true
	}
	said := &spoken{}
	code := execute(context.Background(), inmemory.StartProgram, command.OwnName, []string{"verify", "--server", livetest.Serve(t, cluster).URL, "--watch", "10m", "-q"}, nil, &spoken{}, said)
	want := `cannot watch resource "pods" in API group "" at the cluster scope; simulate rbac --watch prints the ClusterRole that allows it`
	if code != 1 || !strings.Contains(said.String(), want) {
		t.Errorf("exit code %d, %s; want %s", code, said, want)
	}
}

func TestWatchUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"verify", "d.json", "--watch", "1m"}, "--watch needs a live cluster"},
		{[]string{"verify", "d.json", "--record", "f"}, "--record has no effect without --watch"},
		{[]string{"verify", "--live", "--watch", "-1s"}, "--watch: -1s is not longer than 0"},
		{[]string{"verify", "--live", "--watch", "1m", "--events", "e"}, "have no effect with --watch"},
		{[]string{"watch"}, "no cluster given; give --context, or a dump"},
		{[]string{"watch", "d.json", "--every", "1ms"}, "--every: 1ms is shorter than 1s"},
		{[]string{"watch", "d.json", "--metrics", "9464"}, "--metrics 9464: give HOST:PORT"},
	} {
		said := &spoken{}
		if code := execute(context.Background(), inmemory.StartProgram, command.OwnName, test.args, nil, &spoken{}, said); code != 2 || !strings.Contains(said.String(), test.want) {
			t.Errorf("%v: exit code %d, %s; want %s", test.args, code, said, test.want)
		}
	}
}
