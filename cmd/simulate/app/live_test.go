package app

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/input/live/livetest"
	"github.com/faultline/faultline/pkg/playground"
)

// cluster DUMP [NAME=VALUE...] serves the objects of a dump as an API server does, in the background, and writes a kubeconfig for it with
// the contexts prod and other. With forbids=RESOURCE,RESOURCE nobody may list these. With expires=RESOURCE a list of these never ends.
func clusterOf(ts *testscript.TestScript, _ bool, args []string) {
	c := livetest.New([]byte(ts.ReadFile(args[0])))
	for _, arg := range args[1:] {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "forbids":
			c.Forbidden = strings.Split(value, ",")
		case "expires":
			c.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if path.Base(r.URL.Path) != value {
					return false
				}
				livetest.WriteError(w, http.StatusGone, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old")
				return true
			}
		default:
			ts.Fatalf("what is %s?", arg)
		}
	}
	server := livetest.Start(c)
	ts.Defer(server.Close)
	file, err := livetest.Kubeconfig(ts.Getenv("WORK"), "prod", server.URL)
	ts.Check(err)
	ts.Setenv("KUBECONFIG", file)
	ts.Setenv("SERVER", server.URL)
}

// The playground begins with the live cluster, and reads it again if the page asks for that.
func TestServeLive(t *testing.T) {
	const dump = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "1", "resourceVersion": "1"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "early", "namespace": "shop", "uid": "2", "resourceVersion": "2"}, "spec": {"containers": [{"name": "c", "image": "c"}]}}]}`
	c := livetest.New([]byte(dump))
	kubeconfig, err := livetest.Kubeconfig(t.TempDir(), "prod", livetest.Serve(t, c).URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	read, errOut := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, inmemory.StartProgram, command.OwnName, []string{"serve", "--kubeconfig", kubeconfig, "--address", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, errOut)
		errOut.Close()
	}()
	defer func() {
		stop()
		_, _ = io.Copy(io.Discard, read)
		if code := <-ended; code != 0 {
			t.Errorf("exit status %d", code)
		}
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	load := func(request string) playground.LoadResponse {
		t.Helper()
		response, err := http.Post(address+"/api/load", "application/json", strings.NewReader(request))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var loaded playground.LoadResponse
		if err := json.NewDecoder(response.Body).Decode(&loaded); err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	begins := load("{}")
	if begins.Live != "prod" || !strings.Contains(begins.Input.Files["prod"], `"early"`) || !strings.Contains(begins.Input.Files[begins.Input.Main], `kubernetes: "1.36"`) {
		t.Errorf("%q begins with %v", begins.Live, begins.Input.Files)
	}
	c.Remove("/api/v1/pods", "early")
	if again := load("{}"); !strings.Contains(again.Input.Files["prod"], `"early"`) {
		t.Error("the cluster is read again without being asked for")
	}
	if again := load(`{"again": true}`); strings.Contains(again.Input.Files["prod"], `"early"`) || !strings.Contains(again.Input.Files["prod"], `"n1"`) {
		t.Errorf("read again, it is %v", again.Input.Files)
	}
}
