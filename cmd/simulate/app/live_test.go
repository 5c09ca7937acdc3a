package app

import (
	"net/http"
	"path"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/input/live/livetest"
)

// cluster DUMP [NAME=VALUE...] serves the objects of a dump as an API server does, in the background, and writes a kubeconfig of it with
// the contexts prod and other. With forbids=RESOURCE,RESOURCE nobody may list these, and with expires=RESOURCE a list of these never ends.
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
				livetest.Fail(w, http.StatusGone, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old")
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
