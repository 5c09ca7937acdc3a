package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// extends FILE... serves an HTTP extender, and writes its URL over EXTENDER in the files. The extender refuses a-worker-1 and prefers
// a-worker-3. Below /hostile it fails with two lines.
func extends(ts *testscript.TestScript, _ bool, args []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", func(w http.ResponseWriter, r *http.Request) {
		var args extenderv1.ExtenderArgs
		result := extenderv1.ExtenderFilterResult{Nodes: &v1.NodeList{}, FailedNodes: map[string]string{}}
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			result.Error = err.Error()
		} else {
			for _, node := range args.Nodes.Items {
				if node.Name == "a-worker-1" {
					result.FailedNodes[node.Name] = "no licence for the node"
				} else {
					result.Nodes.Items = append(result.Nodes.Items, node)
				}
			}
		}
		reply(w, result)
	})
	mux.HandleFunc("POST /prioritize", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, extenderv1.HostPriorityList{{Host: "a-worker-3", Score: 7}})
	})
	mux.HandleFunc("POST /hostile/filter", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, extenderv1.ExtenderFilterResult{Error: "no\nsimulate: error: forged"})
	})
	server := httptest.NewServer(mux)
	ts.Defer(server.Close)
	for _, file := range args {
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(strings.ReplaceAll(ts.ReadFile(file), "EXTENDER", server.URL)), 0o644))
	}
}

func reply(w http.ResponseWriter, result any) {
	if err := json.NewEncoder(w).Encode(result); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
