package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The page shows the cluster, and says when it has changed. It is served under no other name.
func TestPage(t *testing.T) {
	c := testCluster{filepath.Join(t.TempDir(), "kubeconfig")}
	cmd := program(t.Context(), "simulate", "cluster", "--kubeconfig-file", c.kubeconfig, "--nodes", "3", "--zones", "3", "--page")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "the page is at ") {
		t.Log(lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // until the cluster ends
	at := strings.TrimPrefix(lines.Text(), "the page is at ")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	get := func(path, host string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	for _, test := range []struct {
		path, host, shows string
		code              int
	}{
		{"/", "", `<iframe title="The cluster" src="map`, 200},
		{"/map", "", "no pods yet", 200},
		{"/", "attacker.example", "not served", 403},
		{"/kubeconfig", "", "", 404},
	} {
		if code, text := get(test.path, test.host); code != test.code || !strings.Contains(text, test.shows) {
			t.Errorf("%s for %q: %d %.300s", test.path, test.host, code, text)
		}
	}
	_, before := get("/version?after=-1", "")
	changed := make(chan string)
	go func() {
		_, version := get("/version?after="+before, "")
		changed <- version
	}()
	c.run(t, "kubectl create deployment shown --image=pause --replicas=2")
	select {
	case version := <-changed:
		if version == before {
			t.Errorf("the version stays %s after a change", version)
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody says that the cluster has changed")
	}
	if code, text := get("/map", ""); code != 200 || !strings.Contains(text, "shown-") || !strings.Contains(text, "zone-3-node-1") {
		t.Errorf("the map lacks the new pods: %d %.300s", code, text)
	}
}
