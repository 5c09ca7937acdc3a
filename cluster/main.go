// Command simulate-cluster is simulate with the API server of Kubernetes in it: it runs the clusters in memory of simulate cluster.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline/faultline/cluster/apiserver"
	"github.com/faultline/faultline/cluster/controllers"
	"github.com/faultline/faultline/cluster/controlplane"
	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/cluster"
)

func main() {
	os.Exit(app.MainWithCluster(serve, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// serve runs a cluster until the call's context ends, or the command of the options.
func serve(c *command.Call, opts inmemory.Options) (err error) {
	defer c.Bar.Done()
	s, err := c.Load(c.Args)
	if err != nil {
		return err
	}
	name, store := s.Name, memory.NewStore()
	saved, err := readSaved(opts.Load)
	if err != nil {
		return exit.InvalidInput(err)
	}
	if saved != nil {
		name, store = opts.Name, memory.Restore(saved.Store)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context()))
	defer stop()
	report := newReport(c.Streams.Err)
	var plane atomic.Pointer[controlplane.Plane]
	server, err := apiserver.Start(ctx, store, apiserver.Options{
		Port: opts.Port, RBAC: opts.RBAC, Wrap: func(next http.Handler) http.Handler { return controlplane.Wrap(plane.Load, report, next) },
	})
	if err != nil {
		return err
	}
	defer func() {
		stop()
		_ = server.Wait() // whatever becomes of it, the cluster is gone
	}()
	file, err := kubeconfigFile(opts)
	if err != nil {
		return err
	}
	others := &forks{ctx: ctx, opts: opts, kubeconfig: file, err: c.Streams.Err, running: map[string]*fork{}}
	p, err := controlplane.New(c.Context(), s, store, controlplane.Storage{DefaultStorageFactory: server.Storage, Enabled: server.Enabled}, controlplane.Options{
		Clock: time.Now, Pace: opts.Pace, Containers: cluster.Containers{JobDuration: opts.JobDuration, MissingImages: opts.MissingImages}, Saved: saved, Fork: others.start, Explain: others.explain,
	})
	if err != nil {
		return exit.InvalidInput(fmt.Errorf("%s: %w", s.File, err))
	}
	defer p.Close()
	plane.Store(p)
	certificate, key := server.SigningFiles()
	if err := controllers.Start(ctx, server.Loopback, server.Certificate(), certificate, key); err != nil {
		return err
	}
	go p.Run(ctx, report)
	if err := addContext(file, opts.Name, server.Kubeconfig(opts.Name)); err != nil {
		return err
	}
	defer func() {
		stop()
		others.wait()
		err = cmp.Or(err, removeContext(file, opts.Name))
	}()
	if opts.Page {
		at, err := servePage(ctx, &page{plane: p, run: []string{"run", "--kubeconfig", file, "--context", opts.Name, "-o", "html"}})
		if err != nil {
			return err
		}
		fmt.Fprintf(c.Streams.Err, "the page is at %s\n", at)
	}
	if opts.Save != "" {
		defer func() { err = cmp.Or(save(p, opts.Save), err) }()
	}
	c.Bar.Clear()
	if opts.Command != nil {
		return runCommand(c, opts.Command, file)
	}
	fmt.Fprintf(c.Out, "export KUBECONFIG=%s\n", file)
	fmt.Fprintf(c.Streams.Err, "%s runs at https://%s; interrupt to end it\n", name, server.Address)
	<-c.Context().Done()
	return nil
}

// readSaved reads a saved cluster; nil if no file is named.
func readSaved(file string) (*controlplane.Saved, error) {
	if file == "" {
		return nil, nil
	}
	from, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // nothing is written to it
	saved, err := controlplane.ReadSaved(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return saved, nil
}

// save writes the cluster to a file, which holds its Secrets.
func save(p *controlplane.Plane, file string) error {
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(p.Save(to), to.Close())
}

// kubeconfigFile returns the path of the kubeconfig: with a command it is a temporary file.
func kubeconfigFile(opts inmemory.Options) (string, error) {
	if opts.Command == nil {
		return filepath.Abs(opts.Kubeconfig)
	}
	file, err := os.CreateTemp("", "faultline-*.kubeconfig") // mode 0600
	if err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// newReport returns a function that writes each error once.
func newReport(to io.Writer) func(error) {
	var mu sync.Mutex
	written := map[string]bool{}
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if !written[err.Error()] {
			written[err.Error()] = true
			fmt.Fprintf(to, "simulate: error: %v\n", err)
		}
	}
}

// runCommand runs a command with the kubeconfig.
func runCommand(c *command.Call, args []string, kubeconfig string) error {
	cmd := exec.CommandContext(c.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, c.Out, c.Streams.Err
	return exit.OfProgram(cmd.Run())
}
