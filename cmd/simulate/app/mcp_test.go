package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/input/live/livetest"
)

// Two nodes of 4 CPUs in two zones. Each has a pod of web, which asks for 3, and so 1 CPU left: the pod late, which asks for 2, is Pending.
const agentDump = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "1", "labels": {"topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": "n1"}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}},
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2", "uid": "2", "labels": {"topology.kubernetes.io/zone": "b", "kubernetes.io/hostname": "n2"}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}},
{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "10"}},
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "3"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
 "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "3"}}}]}}}},
{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "4", "labels": {"app": "web", "pod-template-hash": "1"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "3", "controller": true}]},
 "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web", "pod-template-hash": "1"}}, "template": {"metadata": {"labels": {"app": "web", "pod-template-hash": "1"}}, "spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "3"}}}]}}}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-a", "namespace": "shop", "uid": "5", "labels": {"app": "web", "pod-template-hash": "1"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "4", "controller": true}]},
 "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "3"}}}]}, "status": {"phase": "Running"}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-b", "namespace": "shop", "uid": "6", "labels": {"app": "web", "pod-template-hash": "1"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "4", "controller": true}]},
 "spec": {"nodeName": "n2", "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "3"}}}]}, "status": {"phase": "Running"}},
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late", "namespace": "shop", "uid": "7"}, "spec": {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "2"}}}]}, "status": {"phase": "Pending"}}]}`

// startAgent starts simulate mcp with the arguments in this process, and returns a session of a client with it.
func startAgent(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	requests, toServer := io.Pipe()
	fromServer, answers := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, inmemory.StartProgram, command.OwnName, append([]string{"mcp"}, args...), requests, answers, &errOut)
		answers.Close()
	}()
	t.Cleanup(func() {
		stop()
		toServer.Close()
		if code := <-ended; code != 0 {
			t.Errorf("exit status %d: %s", code, errOut.String())
		}
	})
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	return session
}

func writeDump(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(file, []byte(agentDump), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// toolResult is a tool's result as an agent reads it.
type toolResult struct {
	Failed bool
	Texts  []string
	Proof  string
	Answer, Command,
	ReportURI, ProofURI, NoProof string
	Basis struct {
		Source, ReadAt, Server, Partial string
		NotRead, Assumed                []string
	}
	Report struct {
		Kind  string
		Proof *struct{ Holds bool }
	}
}

func callTool(t *testing.T, session *mcp.ClientSession, tool, arguments string) toolResult {
	t.Helper()
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	got := toolResult{Failed: result.IsError}
	for _, content := range result.Content {
		switch content := content.(type) {
		case *mcp.TextContent:
			got.Texts = append(got.Texts, content.Text)
		case *mcp.EmbeddedResource:
			got.Proof = content.Resource.Text
		}
	}
	if result.StructuredContent != nil {
		text, err := json.Marshal(result.StructuredContent)
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// What a client is told about the tools is what a model reads before it asks.
func TestAgentTools(t *testing.T) {
	session := startAgent(t, writeDump(t))
	tools, err := session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(tools.Tools); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/mcp-tools.json"
	if *update {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("%s (-want +got), write it with -update if it should change:\n%s", file, diff)
	}
	for _, tool := range tools.Tools {
		if of := tool.Annotations; !of.ReadOnlyHint || of.DestructiveHint == nil || *of.DestructiveHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
}

func TestAgentAsks(t *testing.T) {
	session := startAgent(t, writeDump(t))
	const more = `apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec: {containers: [{name: c, image: c, resources: {requests: {cpu: 900m}}}]}`
	for _, test := range []struct {
		tool, arguments string
		answer, kind    string
		proof           string // a text in the proof; "" for none
	}{
		// n2 has 1 CPU left beside its pod of web.
		{"may_i_drain", `{"nodes": ["n1"]}`, "The drain ends: 1 pod is evicted, and 1 pod is Pending because of it.", "DrainReport", "newly Pending 1 of shop/deployment/web"},
		{"may_i_delete", `{"objects": ["shop/deployment/web"]}`, "Yes: 2 pods go with shop/deployment/web, and every other pod that ran has a node (1 that was Pending before no longer is)", "Report", "delete shop/deployment/web: no pod newly Pending"},
		{"may_i_delete", `{"objects": ["deployment/web"], "namespace": "shop"}`, "Yes: 2 pods go with shop/deployment/web, and every other pod that ran has a node (1 that was Pending before no longer is)", "Report", "newly Pending"},
		{"may_i_scale", `{"workload": "shop/deployment/web", "replicas": 3}`, "No: the new pod does not fit (1 other was Pending before)", "Report", "newly Pending 1 of shop/deployment/web"},
		{"may_i_scale", `{"workload": "shop/deployment/web", "factor": 2}`, "No: 0 of 2 new pods fit (1 other was Pending before)", "Report", "newly Pending 2 of shop/deployment/web"},
		{"may_i_merge", `{"manifests": "` + more + `"}`, "Yes: the new pod fits (1 other was Pending before)", "Report", "name: more"},
		{"why_is_it_pending", `{"object": "shop/pod/late"}`, "Pod shop/late", "ExplainReport", "one more node like n1"},
		{"why_is_it_pending", `{}`, "No: the new pod does not fit", "Report", "1 pod is Pending in the end"},
		{"what_if_a_zone_is_lost", `{"zone": "a"}`, "Zone a", "BlastReport", "the failure of topology.kubernetes.io/zone=a takes 1 pod"},
		{"what_is_lost_with_a_node", `{"node": "n2", "mode": "deleted"}`, "Node n2", "BlastReport", "n2"},
		{"what_must_i_add", `{"survive": ["zone"]}`, "No: the loss of zone a strands 1 pod, and 1 other loss strands some, too. 4 more nodes are enough; fewer than 2 nodes are not.", "PlanReport", "shop/deployment/web"},
		{"how_many_more_fit", `{"workloads": ["shop/deployment/web"]}`, "shop/deployment/web: no more fit (2 in all); the next stays Pending: cpu on 2 of 2 nodes.", "CapacityReport", "shop/deployment/web"},
	} {
		got := callTool(t, session, test.tool, test.arguments)
		if got.Failed || !strings.HasPrefix(got.Answer, test.answer) || got.Texts[0] != got.Answer || got.Report.Kind != test.kind {
			t.Errorf("%s %s: failed %t, %q, %s; want %q, %s", test.tool, test.arguments, got.Failed, got.Texts, got.Report.Kind, test.answer, test.kind)
		}
		if !strings.Contains(got.Proof, test.proof) {
			t.Errorf("%s %s: the proof lacks %q:\n%s%s", test.tool, test.arguments, test.proof, got.Proof, got.NoProof)
		}
		// The command says the same, if its input is there.
		if args := strings.Fields(strings.TrimPrefix(got.Command, "simulate ")); !strings.Contains(got.Command, "change.yaml") {
			var out, errOut bytes.Buffer
			if code := Main(args, strings.NewReader(""), &out, &errOut); code != 0 || !strings.HasPrefix(strings.Join(strings.Fields(out.String()), " "), got.Answer) {
				t.Errorf("%s ends with %d:\n%s%s", got.Command, code, out.String(), errOut.String())
			}
		} else if !strings.HasPrefix(got.Command, "simulate run --filename=change.yaml --cluster=/") {
			t.Errorf("the command is %s", got.Command)
		}
		if _, err := time.Parse(time.RFC3339, got.Basis.ReadAt); err != nil || !strings.HasSuffix(got.Basis.Source, "dump.json") {
			t.Errorf("%s rests on %+v: %v", test.tool, got.Basis, err)
		}
	}
}

// The error of a tool is that of the command line. A tool can neither name another input nor a flag.
func TestAgentRefuses(t *testing.T) {
	dump := writeDump(t)
	session := startAgent(t, dump)
	for _, test := range []struct{ tool, arguments, want string }{
		{"may_i_drain", `{"nodes": ["n9"]}`, `there is no node "n9"; there are n1, n2`},
		{"may_i_drain", `{"nodes": []}`, "nodes: no node is given; give at least one name"},
		{"may_i_drain", `{"nodes": ["--context=prod"]}`, `nodes: "--context=prod" is not the name of a node`},
		{"may_i_drain", `{"nodes": ["n1"], "timeout": "soon"}`, `timeout: "soon" is not a time above 0; give a number with its unit, such as 10s or 2m`},
		{"may_i_drain", `{"node": "n1"}`, `validating "arguments"`},
		{"may_i_delete", `{"objects": ["--kubeconfig=x/y"]}`, `is neither kind/name nor namespace/kind/name`},
		{"may_i_delete", `{"objects": ["deployment/web"]}`, "command line: --delete: there is no Deployment default/web in the scenario; there is shop/web"},
		{"may_i_scale", `{"workload": "shop/deployment/web"}`, "replicas and factor: give one of them"},
		{"may_i_scale", `{"workload": "shop/deployment/web", "replicas": -1}`, "-1 is negative; give 0 or more"},
		{"may_i_merge", `{}`, "manifests and files: nothing is given"},
		{"may_i_merge", `{"manifests": "kind: ["}`, "change.yaml"},
		{"may_i_merge", `{"files": ["` + dump + `"]}`, "is not below the folder in which the server was started"},
		{"may_i_merge", `{"files": ["nowhere.yaml"]}`, "files: nowhere.yaml: there is no such file"},
		{"why_is_it_pending", `{"object": "` + dump + `"}`, "is neither kind/name nor namespace/kind/name"},
		{"why_is_it_pending", `{"object": "shop/pod/none"}`, "none"},
		{"what_if_a_zone_is_lost", `{"zone": "z"}`, "no node has this label"},
		{"what_if_a_zone_is_lost", `{"level": "--live"}`, `"--live" is not a label of nodes`},
		{"what_must_i_add", `{"survive": ["rack"]}`, "rack"},
		{"how_many_more_fit", `{"workloads": ["shop/deployment/none"]}`, "none"},
	} {
		got := callTool(t, session, test.tool, test.arguments)
		if !got.Failed || len(got.Texts) != 1 || !strings.Contains(got.Texts[0], test.want) || strings.Contains(got.Texts[0], "hint:") {
			t.Errorf("%s %s: failed %t, %q; want %q", test.tool, test.arguments, got.Failed, got.Texts, test.want)
		}
	}
}

// simulate test runs a proof that an agent saves.
func TestAgentProof(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("dump.json", []byte(agentDump), 0o644); err != nil {
		t.Fatal(err)
	}
	session := startAgent(t, "dump.json")
	for _, of := range []struct{ tool, arguments string }{
		{"may_i_scale", `{"workload": "shop/deployment/web", "replicas": 3, "prove": true}`},
		{"may_i_merge", `{"manifests": "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"more\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"c\"}]}}", "prove": true}`},
		{"may_i_drain", `{"nodes": ["n1"], "prove": true}`},
	} {
		got := callTool(t, session, of.tool, of.arguments)
		if got.Report.Proof == nil || !got.Report.Proof.Holds {
			t.Errorf("%s: the claims do not hold: %q", of.tool, got.Texts)
		}
		kept, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: got.ProofURI})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("proof.yaml", []byte(kept.Contents[0].Text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		if code := Main([]string{"test", "proof.yaml"}, strings.NewReader(""), &out, &errOut); code != 0 || !strings.Contains(out.String(), "ok: 1 scenario") {
			t.Errorf("%s: simulate test ends with %d:\n%s%s\n%s", of.tool, code, out.String(), errOut.String(), kept.Contents[0].Text)
		}
	}
}

// A change is also applied to a scenario, as a last step of it.
func TestAgentMergesIntoScenario(t *testing.T) {
	repo, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	session := startAgent(t, filepath.Join(repo, "scenarios/zone-failure"))
	// Each of the three nodes has 4 CPUs, of which 8 are requested: the pod that asks for 2 has room, the one that asks for 5 has none.
	for cpu, pending := range map[string]string{"2": "9 pods: 9 running, 0 pending", "5": "9 pods: 8 running, 1 pending"} {
		got := callTool(t, session, "may_i_merge", `{"manifests": "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"more\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"c\", \"resources\": {\"requests\": {\"cpu\": \"`+cpu+`\"}}}]}}", "prove": true}`)
		if got.Failed || !strings.Contains(strings.Join(got.Texts, "\n"), pending) || got.Report.Proof == nil || !got.Report.Proof.Holds || !strings.Contains(got.Proof, "name: merge") {
			t.Errorf("%s CPUs: failed %t, %q\n%s", cpu, got.Failed, got.Texts, got.Proof)
		}
	}
}

// A report that is too long for a model is left out: the answer has it in words, and a resource has all of it.
func TestAgentLeavesOutLongReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 500, selector: {matchLabels: {app: web}},
template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}}}}`
	if err := os.WriteFile(file, []byte(web), 0o644); err != nil {
		t.Fatal(err)
	}
	session := startAgent(t, file, "--nodes", "20", "--cpu", "16")
	result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "why_is_it_pending"})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := result.StructuredContent.(map[string]any)
	words, _ := got["text"].(string)
	uri, _ := got["reportUri"].(string)
	if got["report"] != nil || !strings.Contains(words, "Insufficient cpu") {
		t.Errorf("it has a report: %t, and in words %q", got["report"] != nil, words)
	}
	whole, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	if text := whole.Contents[0].Text; len(text) < 48<<10 || !strings.Contains(text, `"kind":"Report"`) {
		t.Errorf("the resource has %d bytes", len(text))
	}
}

func TestAgentReads(t *testing.T) {
	session := startAgent(t, writeDump(t))
	read := func(uri string, into any) {
		t.Helper()
		result, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(result.Contents[0].Text), into); err != nil {
			t.Fatal(err)
		}
	}
	var cluster struct {
		Nodes, Workloads int
		Levels           []struct{ Domains map[string]int }
		Pods             map[string]int
		Pending          []struct{ Kind, Name string }
	}
	read("faultline://cluster", &cluster)
	if cluster.Nodes != 2 || cluster.Workloads != 2 || cluster.Pods["running"] != 2 || len(cluster.Pending) != 1 || cluster.Pending[0].Name != "late" {
		t.Errorf("the cluster is %+v", cluster)
	}
	var workloads struct {
		Workloads []struct {
			Name             string
			Running, Pending int
		}
	}
	read("faultline://workloads", &workloads)
	if len(workloads.Workloads) != 2 {
		t.Errorf("the workloads are %+v", workloads)
	}
	var review, kept struct{ Kind string }
	read("faultline://report/review", &review)
	read(callTool(t, session, "may_i_drain", `{"nodes": ["n1"]}`).ReportURI, &kept)
	if review.Kind != "ReviewReport" || kept.Kind != "DrainReport" {
		t.Errorf("the reports are a %s and a %s", review.Kind, kept.Kind)
	}
	if _, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "faultline://report/none"}); err == nil {
		t.Error("there is a report none")
	}
	for prompt, want := range map[string]string{"failure_drill": "what_if_a_zone_is_lost", "capacity_review": "how_many_more_fit"} {
		got, err := session.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: prompt})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, want) {
			t.Errorf("%s says %q", prompt, text)
		}
	}
}

// Each call has a world of its own, so that calls at once have the answers of calls one after the other.
func TestAgentAnswersAtOnce(t *testing.T) {
	session := startAgent(t, writeDump(t))
	ask := func(replicas string) string {
		return callTool(t, session, "may_i_scale", `{"workload": "shop/deployment/web", "replicas": `+replicas+`}`).Answer
	}
	alone := map[string]string{"1": ask("1"), "3": ask("3"), "4": ask("4")}
	var wait sync.WaitGroup
	for range 3 {
		for replicas, want := range alone {
			wait.Go(func() {
				if got := ask(replicas); got != want {
					t.Errorf("%s replicas: %q at once, and %q alone", replicas, got, want)
				}
			})
		}
	}
	wait.Wait()
}

// A live cluster is read again when the last reading is too old. The answer says when, and what may not be read.
func TestAgentLive(t *testing.T) {
	c := livetest.New([]byte(agentDump))
	c.Forbidden = []string{"replicasets"}
	kubeconfig, err := livetest.Kubeconfig(t.TempDir(), "prod", livetest.Serve(t, c).URL)
	if err != nil {
		t.Fatal(err)
	}
	session := startAgent(t, "--kubeconfig", kubeconfig, "--max-age", "0s")
	got := callTool(t, session, "why_is_it_pending", `{"object": "shop/pod/late"}`)
	if !strings.HasPrefix(got.Answer, "Pod shop/late") || got.Basis.Server == "" || cmp.Diff([]string{"ReplicaSets"}, got.Basis.NotRead) != "" || !strings.Contains(got.Texts[1], "ReplicaSets") {
		t.Errorf("%q, %+v", got.Answer, got.Basis)
	}
	if drain := callTool(t, session, "may_i_drain", `{"nodes": ["n1"]}`); !strings.Contains(drain.Proof, "- prod.json.gz") || drain.NoProof != "" {
		t.Errorf("the proof does not name the snapshot: %s%s", drain.Proof, drain.NoProof)
	}
	c.Remove("/api/v1/pods", "late")
	if got := callTool(t, session, "why_is_it_pending", `{"object": "shop/pod/late"}`); !got.Failed {
		t.Errorf("a pod that is gone is still explained: %q", got.Answer)
	}
}

// The end of the time ends the search, and so does the client when it cancels the call.
func TestAgentEndsSearch(t *testing.T) {
	session := startAgent(t, "../../../scenarios/five-thousand-nodes")
	if got := callTool(t, session, "what_is_lost_with_a_node", `{"timeout": "1ns"}`); !got.Failed || !strings.Contains(got.Texts[0], "the time was over") {
		t.Errorf("failed %t, %q", got.Failed, got.Texts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "what_is_lost_with_a_node"})
		ended <- err
	}()
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call has an answer")
	}
	// The session goes on.
	if err := session.Ping(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

// The command in a process of its own, as a client starts it.
func TestAgentProcess(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	command := filepath.Join(folder, "simulate")
	if err := os.Symlink(program, command); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: exec.Command(command, "mcp", writeDump(t))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := callTool(t, session, "may_i_drain", `{"nodes": ["n1"]}`); got.Failed {
		t.Errorf("%q", got.Texts)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

func TestAgentHTTP(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	read, errOut := io.Pipe()
	ended := make(chan int, 1)
	dump := writeDump(t)
	go func() {
		ended <- execute(ctx, inmemory.StartProgram, command.OwnName, []string{"mcp", dump, "--http", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, errOut)
		errOut.Close()
	}()
	defer func() {
		stop()
		_, _ = io.Copy(io.Discard, read)
		if code := <-ended; code != 0 {
			t.Errorf("exit status %d", code)
		}
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`).FindString(string(line[:n]))
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: address}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := callTool(t, session, "may_i_drain", `{"nodes": ["n1"]}`); got.Failed {
		t.Errorf("%q", got.Texts)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*http.Request){
		"a name that was made to stand for this machine": func(r *http.Request) { r.Host = "rebound.example" },
		"another page":             func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a page without an origin": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		change(request)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, response.Status)
		}
	}
}
