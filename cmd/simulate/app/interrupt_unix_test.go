//go:build unix

package app

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

// stuck is an input that never ends. Whoever reads it sends the process a signal.
type stuck struct{ signal syscall.Signal }

func (s stuck) Read([]byte) (int, error) {
	if err := syscall.Kill(syscall.Getpid(), s.signal); err != nil {
		return 0, err
	}
	select {}
}

func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		var errOut bytes.Buffer
		if got := Main([]string{"run", "-f", "-"}, stuck{signal}, io.Discard, &errOut); got != want || errOut.String() != "simulate: interrupted\n" {
			t.Errorf("%s: exit status %d, want %d; standard error %q", signal, got, want, errOut.String())
		}
	}
}

// A pipe into which nobody writes is waited for until the first signal.
func TestSignalsWhileLoading(t *testing.T) {
	for _, command := range []string{"test", "bench"} {
		folder := t.TempDir()
		pipe := filepath.Join(folder, "web.yaml")
		text := "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- synthetic: {nodeGroups: [{name: w, count: 1}]}\nworkloads:\n- files: [web.yaml]\n"
		if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(filepath.Join(folder, "scenario.yaml"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		go func() {
			writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it is read
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

// The playground answers until it is told to end, which is what its user wants: no failure.
func TestServeUntilSignalled(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		read, errOut := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- Main([]string{"serve", "--address", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, errOut)
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
		response, err := http.Post(match[1]+"/api/load", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(body), `"example":"kind-walkthrough"`) {
			t.Errorf("%v; the answer is not that of the walkthrough", err)
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
