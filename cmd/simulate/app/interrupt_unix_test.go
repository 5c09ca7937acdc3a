//go:build unix

package app

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

// stuck is an input that never ends. Reading it sends the process a signal.
type stuck struct{ signal syscall.Signal }

func (s stuck) Read([]byte) (int, error) {
	if err := syscall.Kill(syscall.Getpid(), s.signal); err != nil {
		return 0, err
	}
	select {}
}

// signals returns the signals that end a command, with the exit status for each.
func signals() map[syscall.Signal]int {
	all := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		all[syscall.SIGHUP] = 129
	}
	return all
}

func TestSignals(t *testing.T) {
	for signal, want := range signals() {
		var errOut bytes.Buffer
		if got := Main([]string{"run", "-f", "-"}, stuck{signal}, io.Discard, &errOut); got != want || errOut.String() != "simulate: interrupted\n" {
			t.Errorf("%s: exit status %d, want %d; standard error %q", signal, got, want, errOut.String())
		}
	}
}

// A command that waits for a pipe without a writer ends at the first signal.
func TestSignalsWhileLoading(t *testing.T) {
	for _, command := range []string{"test", "bench"} {
		folder := t.TempDir()
		pipe := filepath.Join(folder, "web.yaml")
		text := "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- synthetic: {nodeGroups: [{name: w, count: 1}]}\nworkloads:\n- files: [web.yaml]\n"
		if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(filepath.Join(folder, "scenario.yaml"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		go func() {
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // blocks until the command reads
			if err == nil {
				t.Cleanup(func() { writer.Close() })
				err = syscall.Kill(syscall.Getpid(), syscall.SIGINT)
			}
			if err != nil {
				t.Error(err)
			}
		}()
		var errOut bytes.Buffer
		if got := Main([]string{command, folder}, nil, io.Discard, &errOut); got != 130 || errOut.String() != "simulate: interrupted\n" {
			t.Errorf("%s: exit status %d, want 130; standard error %q", command, got, errOut.String())
		}
	}
}

// The gate ends with the command that renders: every process that it has started, which could write into the pipe, is gone.
func TestSignalsWhileRendering(t *testing.T) {
	for signal, want := range signals() {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := os.ReadFile(pipe) // blocks until nobody can write any more
			ended <- err
		}()
		var out, errOut bytes.Buffer
		render := fmt.Sprintf("exec 3> '%s'; (trap '' INT TERM HUP; exec sleep 10000) & kill -%d $PPID; wait; echo", pipe, signal)
		got := Main([]string{"gate", "--render", render}, nil, &out, &errOut)
		if diff := cmp.Diff("simulate: interrupted\n", errOut.String()); got != want || diff != "" || out.Len() > 0 {
			t.Errorf("%s: exit status %d, want %d; standard output %q; standard error (-want +got):\n%s", signal, got, want, out.String(), diff)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// The playground runs until it is interrupted, and then exits with 0.
func TestServeUntilSignalled(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		read, errOut := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- Main([]string{"serve", "--class", "--address", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, errOut)
			errOut.Close()
		}()
		said := bufio.NewReader(read)
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(`^the playground is at (http://127\.0\.0\.1:\d+); interrupt to end it\n$`).FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("%s: standard error begins with %q", signal, line)
		}
		line, err = said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		match = append(match, regexp.MustCompile(`^the answers of the class, for its teacher, are at (http://127\.0\.0\.1:\d+/class\?token=[A-Z2-7]{26})\n$`).FindStringSubmatch(line)...)
		if len(match) != 4 {
			t.Fatalf("%s: standard error goes on with %q", signal, line)
		}
		response, err := http.Post(match[1]+"/api/load", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(body), `"example":"empty"`) || !strings.Contains(string(body), `"class":true`) {
			t.Errorf("%v; the answer is not that of a page for a class", err)
		}
		if response, err = http.Get(match[3]); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if diff := cmp.Diff(http.StatusOK, response.StatusCode); diff != "" {
			t.Errorf("the page of the teacher (-want +got):\n%s", diff)
		}
		if got := askOfScenario(t, match[1]); !strings.HasPrefix(got, `{"report":`) { // by a process of its own
			t.Errorf("the run of a scenario is %.300s", got)
		}
		if err := syscall.Kill(syscall.Getpid(), signal); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(said)
		if got := <-ended; got != exit.Answered || len(rest) > 0 || err != nil {
			t.Errorf("%s: exit status %d, want 0; standard error goes on with %q, %v", signal, got, rest, err)
		}
	}
}

// askOfScenario asks a playground for the run of a scenario, and returns the answer.
func askOfScenario(t *testing.T, address string) string {
	t.Helper()
	const request = `{"input": {"main": "a.yaml", "files": {"a.yaml": "{apiVersion: faultline/v1alpha1, kind: Scenario, cluster: [{synthetic: {nodeGroups: [{count: 1}]}}], workloads: [{objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}]}]}"}}}`
	response, err := http.Post(address+"/api/run", "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
