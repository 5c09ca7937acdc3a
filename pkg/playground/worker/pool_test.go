package worker_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/playground/worker"
)

// The test's own program is the program of the processes. Under the name hangs its engine never returns from a request to load the cluster
// again, and under the name dies it panics.
func TestMain(m *testing.M) {
	engine := playground.New("test")
	switch os.Args[0] {
	case "answers":
	case "hangs":
		engine.Live.Read = func(context.Context) (playground.Input, error) { select {} }
	case "dies":
		engine.Live.Read = func(context.Context) (playground.Input, error) { panic("dies") }
	default:
		os.Exit(m.Run())
	}
	if err := worker.Serve(engine, os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// newPool returns a pool of the test's own program under a name, and the number of processes that it has started.
func newPool(t *testing.T, name string, engine *playground.Engine) (*worker.Pool, *int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := new(int)
	pool := worker.NewPool(engine, func() *exec.Cmd {
		*started++
		return &exec.Cmd{Path: program, Args: []string{name}}
	})
	t.Cleanup(pool.Close)
	return pool, started
}

const scenario = `
apiVersion: faultline/v1alpha1
kind: Scenario
cluster: [{synthetic: {nodeGroups: [{count: 2}]}}]
workloads: [{objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}]}]
`

func runRequest(t *testing.T, in playground.Input) []byte {
	t.Helper()
	request, err := json.Marshal(playground.RunRequest{Input: in})
	if err != nil {
		t.Fatal(err)
	}
	return request
}

const again = `{"again": true}`

// One process answers all requests that come one after the other, with the bytes of an engine.
func TestAnswers(t *testing.T) {
	pool, started := newPool(t, "answers", playground.New("test"))
	request := runRequest(t, playground.Input{Main: "a.yaml", Files: map[string]string{"a.yaml": scenario}})
	want := string(playground.New("test").Answer(t.Context(), "run", request))
	for range 2 {
		if diff := cmp.Diff(want, string(pool.Answer(t.Context(), "run", request))); diff != "" || *started != 1 {
			t.Errorf("%d processes; (-engine +pool):\n%s", *started, diff)
		}
	}
}

// A process gets the large files that a request names from the engine of the pool.
func TestLargeFiles(t *testing.T) {
	engine := playground.New("test")
	var kept playground.KeepResponse
	keep, _ := json.Marshal(playground.KeepRequest{Text: scenario})
	if err := json.Unmarshal(engine.Answer(t.Context(), "keep", keep), &kept); err != nil {
		t.Fatal(err)
	}
	pool, _ := newPool(t, "answers", engine)
	for id, want := range map[string]string{kept.ID: `{"report":`, "unknown": `{"error":{"kind":"missing"`} {
		request := runRequest(t, playground.Input{Main: "a.yaml", Kept: map[string]string{"a.yaml": id}})
		if got := string(pool.Answer(t.Context(), "run", request)); !strings.HasPrefix(got, want) {
			t.Errorf("%.300s, want %s", got, want)
		}
	}
}

// Whatever a request does, it ends with its client and at the time limit, and the next one is answered.
func TestRequestsEnd(t *testing.T) {
	for _, test := range []struct {
		name, program string
		leave         bool
		limit         time.Duration
		want          string
	}{
		{"the client leaves", "hangs", true, 0, `"kind":"canceled"`},
		{"the time is over", "hangs", false, time.Millisecond, `"kind":"limit","message":"no answer within 1ms; `},
		{"the process dies", "dies", false, 0, `"kind":"internal","message":"the engine has ended: exit status 2"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine := playground.New("test")
			engine.Limits.Time = test.limit
			pool, started := newPool(t, test.program, engine)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if test.leave {
				time.AfterFunc(time.Second, leave) // the process has the request by then
			}
			if got := string(pool.Answer(ctx, "load", []byte(again))); !strings.Contains(got, test.want) {
				t.Errorf("%.300s, want %s", got, test.want)
			}
			if got := string(pool.Answer(t.Context(), "load", []byte("{}"))); playground.IsRefusal([]byte(got)) || *started != 2 {
				t.Errorf("%d processes, and the next answer is %.300s", *started, got)
			}
		})
	}
}

// A program that cannot be started is an error of each request.
func TestNoProgram(t *testing.T) {
	pool := worker.NewPool(playground.New("test"), func() *exec.Cmd { return exec.Command("/no/such/program") })
	const want = `"message":"the engine does not start: `
	if got := string(pool.Answer(t.Context(), "load", []byte("{}"))); !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
