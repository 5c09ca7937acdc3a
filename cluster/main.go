// Command simulate-cluster is simulate with the API server of Kubernetes in it: it runs the clusters in memory of simulate cluster.
package main

import (
	"context"
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
)

func main() {
	os.Exit(app.MainWithCluster(serve, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// serve runs a cluster until the call's context ends, or the command of the options.
func serve(c *command.Call, opts inmemory.Options) error {
	defer c.Bar.Done()
	s, err := c.Load(c.Args)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.Context()))
	defer stop()
	store := memory.NewStore()
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
	p, err := controlplane.New(c.Context(), s, store, controlplane.Storage{DefaultStorageFactory: server.Storage, Enabled: server.Enabled}, controlplane.Options{Clock: time.Now, Pace: opts.Pace})
	if err != nil {
		return exit.InvalidInput(fmt.Errorf("%s: %w", s.File, err))
	}
	defer p.Close()
	plane.Store(p)
	go p.Run(ctx, report)
	certificate, key := server.SigningFiles()
	if err := controllers.Start(ctx, server.Loopback, server.Certificate(), certificate, key); err != nil {
		return err
	}
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		return err
	}
	c.Bar.Clear()
	if opts.Command != nil {
		return runCommand(c, opts.Command, kubeconfig)
	}
	path, err := filepath.Abs(opts.Kubeconfig)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }() // somebody may have taken it away
	fmt.Fprintf(c.Out, "export KUBECONFIG=%s\n", path)
	fmt.Fprintf(c.Streams.Err, "%s runs at https://%s; interrupt to end it\n", s.Name, server.Address)
	<-c.Context().Done()
	return nil
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
func runCommand(c *command.Call, args []string, kubeconfig []byte) error {
	file, err := os.CreateTemp("", "faultline-*.kubeconfig") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // the command may have taken it away
	if _, err := file.Write(kubeconfig); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	cmd := exec.CommandContext(c.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+file.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, c.Out, c.Streams.Err
	return exit.OfProgram(cmd.Run())
}
