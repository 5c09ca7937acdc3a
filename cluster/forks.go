package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

// forks are the clusters that go on from this one, each in a process of its own: the API server's feature gates and metrics belong to its process.
type forks struct {
	ctx        context.Context // ends all
	opts       inmemory.Options
	kubeconfig string
	err        io.Writer

	mu      sync.Mutex
	running map[string]*fork
}

type fork struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// stopTime is how long a fork may take to end.
const stopTime = 5 * time.Second

// start starts a fork, and returns when it is ready. A fork that has the name already ends.
func (f *forks) start(_ context.Context, name string, saved io.Reader) (string, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return "", fmt.Errorf("name: %q: %s", name, strings.Join(problems, "; "))
	}
	if name == f.opts.Name {
		return "", fmt.Errorf("name: %s is this cluster; give another name", name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := f.running[name]; before != nil {
		before.stop()
		<-before.ended
	}
	file, err := os.CreateTemp("", "faultline-*.cluster") // mode 0600
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it has been read
	if _, err := io.Copy(file, saved); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithCancel(f.ctx)
	args := []string{"cluster", "--load", file.Name(), "--name", name, "--kubeconfig-file", f.kubeconfig, "--time", f.opts.Pace.String(), "--job-duration", f.opts.JobDuration.String(), "--missing-image", strings.Join(f.opts.MissingImages, ",")}
	if f.opts.RBAC {
		args = append(args, "--rbac")
	}
	cmd := exec.CommandContext(ctx, own, args...)
	var said bytes.Buffer
	cmd.Stderr = io.MultiWriter(&said, f.err)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return "", err
	}
	ready := bufio.NewScanner(out).Scan() // the line with the kubeconfig
	one := &fork{stop, make(chan struct{})}
	go func() {
		defer close(one.ended)
		defer stop()
		_ = cmd.Wait() // what it said of its end is written
	}()
	if !ready {
		<-one.ended
		return "", fmt.Errorf("the fork has ended: %s", strings.TrimSpace(said.String()))
	}
	f.running[name] = one
	return fmt.Sprintf("fork %s; use it with --context %s", name, name), nil
}

// wait waits until all forks have ended.
func (f *forks) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.running {
		<-one.ended
	}
}

// explain explains a target of the cluster by simulate explain, which reads the cluster as any other.
func (f *forks) explain(ctx context.Context, target inmemory.Target) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	args := []string{"explain", "--kubeconfig", f.kubeconfig, "--context", f.opts.Name}
	if target.Namespace != "" {
		args = append(args, "--namespace", target.Namespace)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, own, append(args, "--", target.Target)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		problem, _, _ := strings.Cut(strings.TrimPrefix(said.String(), "simulate: error: "), "\n")
		return "", fmt.Errorf("%s", problem)
	}
	return out.String(), nil
}
