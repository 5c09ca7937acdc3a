package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/playground/worker"
	reportrun "github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/web"
)

var students = flag.Int("students", 100, "number of students in BenchmarkClass")

// Under the name engine, the test's own program is that of the server's processes.
func TestMain(m *testing.M) {
	if os.Args[0] != "engine" {
		os.Exit(m.Run())
	}
	if err := worker.Serve(playground.New("test"), os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

// startClass starts a server as simulate serve does, with two turns.
func startClass(t testing.TB) (address string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	engine := playground.New("test")
	pool := worker.NewPool(engine, func() *exec.Cmd { return &exec.Cmd{Path: program, Args: []string{"engine"}} })
	t.Cleanup(pool.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- web.New(engine, pool, 2, nil).Serve(t.Context(), listener) }()
	return "http://" + listener.Addr().String()
}

// class counts what its students asked.
type class struct {
	address string

	mu                   sync.Mutex
	asked, lost, refused int
	times                []time.Duration
	problem              string
}

// ask sends a request as the page does, again if it is refused for now.
func (c *class) ask(client *http.Client, method string, request, response any) {
	body, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	began := time.Now()
	for {
		text, err := c.send(client, method, body)
		last := text[bytes.LastIndexByte(bytes.TrimSpace(text), '\n')+1:] // before it are places in the line
		var failure playground.Failure
		if err == nil {
			if err = json.Unmarshal(last, &failure); err == nil && failure.Error != nil && failure.Error.Kind == playground.KindBusy {
				c.mu.Lock()
				c.refused++
				c.mu.Unlock()
				time.Sleep(time.Second)
				continue
			}
		}
		if err == nil && failure.Error != nil {
			err = failure.Error
		}
		if err == nil {
			err = json.Unmarshal(last, response)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asked++; err != nil {
			c.lost++
			c.problem = fmt.Sprintf("%s: %s", method, err)
		}
		c.times = append(c.times, time.Since(began))
		return
	}
}

func (c *class) send(client *http.Client, method string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(http.MethodPost, c.address+"/api/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/x-ndjson")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// attend does what a student does with a lesson: opens it, answers its questions, looks at the failures of each step, and explains a pod. A
// student who changes the lesson asks what nobody else asks.
func (c *class) attend(lesson, change string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var loaded playground.LoadResponse
	c.ask(client, "load", playground.LoadRequest{}, &loaded)
	c.ask(client, "load", playground.LoadRequest{Example: lesson}, &loaded)
	in := loaded.Input
	in.Files = map[string]string{in.Main: in.Files[in.Main] + change}
	var ran playground.RunResponse
	c.ask(client, "run", playground.RunRequest{Input: in}, &ran)
	var quiz playground.QuizResponse
	c.ask(client, "quiz", playground.QuizRequest{Input: in}, &quiz)
	if ran.Report == nil || quiz.Steps == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lost++
		c.problem = fmt.Sprint("no report or no questions: ", ran.Problems, quiz.Problems)
		return
	}
	for _, step := range ran.Report.Steps {
		var failed playground.FailResponse
		c.ask(client, "fail", playground.FailRequest{Input: in, Step: step.Name}, &failed)
	}
	last := ran.Report.Last()
	pod := last.Pods[slices.IndexFunc(last.Pods, func(pod reportrun.Pod) bool { return pod.Node != "" })]
	var explained playground.ExplainResponse
	c.ask(client, "explain", playground.ExplainRequest{Input: in, Namespace: pod.Namespace, Pod: pod.Name}, &explained)
}

// hold lets the students attend a lesson at the same time, each with a change of their own if they change it.
func (c *class) hold(students int, lesson string, changes bool) {
	var group sync.WaitGroup
	for i := range students {
		change := ""
		if changes {
			change = fmt.Sprintf("seed: %d\n", i+2)
		}
		group.Go(func() { c.attend(lesson, change) })
	}
	group.Wait()
}

// In a class of thirty that begins a lesson at the same time, each request is answered, and none is refused.
func TestClass(t *testing.T) {
	for _, changes := range []bool{false, true} {
		c := &class{address: startClass(t)}
		c.hold(30, "lessons/5-selector-drift", changes)
		if diff := cmp.Diff([]int{0, 0}, []int{c.lost, c.refused}); diff != "" || c.asked == 0 {
			t.Errorf("of %d requests, lost and refused (-want +got):\n%s%s", c.asked, diff, c.problem)
		}
	}
}

// BenchmarkClass is a class that begins a lesson at the same time, or in which each changes the lesson at the same time. -args -students 30
// makes it smaller.
func BenchmarkClass(b *testing.B) {
	for _, lesson := range []string{"lessons/1-walkthrough", "lessons/2-soft-or-hard", "lessons/5-selector-drift", "lessons/7-preemption"} {
		for name, changes := range map[string]bool{"same": false, "changed": true} {
			b.Run(lesson+"/"+name, func(b *testing.B) {
				for b.Loop() {
					c := &class{address: startClass(b)}
					c.hold(*students, lesson, changes)
					slices.Sort(c.times)
					b.ReportMetric(float64(c.asked), "requests")
					b.ReportMetric(float64(c.lost), "lost")
					b.ReportMetric(float64(c.refused), "refused")
					b.ReportMetric(c.times[len(c.times)/2].Seconds(), "s-median")
					b.ReportMetric(c.times[len(c.times)-1].Seconds(), "s-max")
					if c.lost > 0 {
						b.Error(c.problem)
					}
				}
			})
		}
	}
}
