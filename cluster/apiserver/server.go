// Package apiserver runs the API server of Kubernetes in this process, over a store in memory. All of it is upstream's code: storage, strategies,
// defaulting, validation, admission, discovery, OpenAPI, custom resources and aggregation.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"

	"github.com/faultline/faultline/cluster/memory"
)

// Options are how to run a server.
type Options struct {
	// Port is the port on 127.0.0.1; 0 takes any that is free.
	Port int
	// RBAC switches on authorization by roles. Otherwise everybody who has a token may do everything.
	RBAC bool
	// Wrap, if set, wraps the handler of requests that have been authorized.
	Wrap func(http.Handler) http.Handler
}

// Server is a server that runs. A process can have one, since Kubernetes' feature gates and metrics belong to the process.
type Server struct {
	// Address is the host and port at which the server listens.
	Address string
	// Loopback is the configuration of a client that may do everything.
	Loopback *rest.Config
	// Storage is how the server stores each resource. Enabled reports whether it has a resource.
	Storage *serverstorage.DefaultStorageFactory
	Enabled func(schema.GroupVersionResource) bool

	credentials *credentials
	ended       chan error
}

// Certificate is the certificate with which clients know the server, as PEM.
func (s *Server) Certificate() []byte { return s.credentials.authority }

// SigningFiles are the files of the certificate and the key with which the server's clients' certificates are signed.
func (s *Server) SigningFiles() (certificate, key string) {
	return s.credentials.certificate, s.credentials.key
}

// Kubeconfig returns the configuration of a client, with a context of the name.
func (s *Server) Kubeconfig(name string) *clientcmdapi.Config {
	return s.credentials.kubeconfig(name, s.Address)
}

// Wait waits until the server has ended, which it does when the context of Start ends.
func (s *Server) Wait() error { return <-s.ended }

// Start starts a server over the store, and returns when the server is ready. It ends with the context.
func Start(ctx context.Context, store *memory.Store, opts Options) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opts.Port)))
	if err != nil {
		return nil, fmt.Errorf("%w: name another port with --port", err)
	}
	folder, err := os.MkdirTemp("", "faultline-") // mode 0700
	if err != nil {
		return nil, err
	}
	s := &Server{Address: listener.Addr().String(), ended: make(chan error, 1)}
	if err := s.start(ctx, store, listener, folder, opts); err != nil {
		_ = os.RemoveAll(folder) // the error says what happened
		return nil, err
	}
	return s, nil
}

// start starts the server, with its files in the folder, which goes when the server has ended.
func (s *Server) start(ctx context.Context, store *memory.Store, listener net.Listener, folder string, opts Options) error {
	credentials, err := writeCredentials(folder)
	if err != nil {
		return err
	}
	storeInMemory(store)
	config, err := configure(ctx, listener, credentials, opts)
	if err != nil {
		return err
	}
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	chain, err := app.CreateServerChain(completed)
	if err != nil {
		return err
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return err
	}
	generic := config.KubeAPIs.ControlPlane.Generic
	s.Storage, s.Enabled = config.KubeAPIs.ControlPlane.Extra.StorageFactory.(*serverstorage.DefaultStorageFactory), generic.MergedResourceConfig.ResourceEnabled
	s.Loopback, s.credentials = chain.GenericAPIServer.LoopbackClientConfig, credentials
	go func() {
		err := prepared.Run(ctx)
		_ = os.RemoveAll(folder) // the server watches its files as long as it runs
		s.ended <- err
	}()
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	return s.createPriorityClasses(ctx)
}

// flags are the flags of kube-apiserver that make it small and quick to start: nothing here has a second server, a cloud, or traffic to keep out.
func flags(credentials *credentials, port int, rbac bool) []string {
	mode := "AlwaysAllow"
	if rbac {
		mode = "Node,RBAC"
	}
	return []string{
		"--etcd-servers=http://memory.invalid", // see storeInMemory
		"--etcd-compaction-interval=0",
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
		"--bind-address=127.0.0.1",
		"--advertise-address=172.18.0.1", // that of the Service kubernetes, whose endpoints may not be loopback; nobody listens there
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + credentials.certificate,
		"--tls-private-key-file=" + credentials.key,
		"--token-auth-file=" + credentials.tokens,
		"--anonymous-auth=false",
		"--authorization-mode=" + mode,
		"--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + credentials.key,
		"--service-account-key-file=" + credentials.certificate,
		"--service-cluster-ip-range=10.96.0.0/12",
		"--allow-privileged=true",
		"--client-ca-file=" + credentials.certificate,
		"--shutdown-delay-duration=0s",
		"--profiling=false",
		"--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false",
	}
}

// configure returns the configuration of the server that listens with the listener.
func configure(ctx context.Context, listener net.Listener, credentials *credentials, opts Options) (*app.Config, error) {
	s := options.NewServerRunOptions()
	set := s.Flags()
	all := set.FlagSet("all")
	for _, name := range set.Order {
		all.AddFlagSet(set.FlagSets[name])
	}
	if err := all.Parse(flags(credentials, listener.Addr().(*net.TCPAddr).Port, opts.RBAC)); err != nil {
		return nil, err
	}
	s.SecureServing.Listener = listener
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // of the server's own requests
	complete, err := s.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(complete.Validate()...); err != nil {
		return nil, err
	}
	config, err := app.NewConfig(complete)
	if err != nil {
		return nil, err
	}
	if opts.Wrap != nil {
		outermost := &config.Aggregator.GenericConfig.Config
		build := outermost.BuildHandlerChainFunc
		outermost.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
			return build(opts.Wrap(handler), c)
		}
	}
	return config, nil
}

// createPriorityClasses creates the classes that every cluster has, for which the server's own hook waits for a second.
func (s *Server) createPriorityClasses(ctx context.Context) error {
	client, err := schedulingclient.NewForConfig(s.Loopback)
	if err != nil {
		return err
	}
	for _, class := range schedulingapi.SystemPriorityClasses() {
		if _, err := client.PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// readyPath asks whether the server is ready, but for the classes that createPriorityClasses creates.
const readyPath = "/readyz?exclude=poststarthook/" + schedulingrest.PostStartHookName

// awaitReady waits until the server answers that it is ready.
func (s *Server) awaitReady(ctx context.Context) error {
	client, err := rest.HTTPClientFor(s.Loopback)
	if err != nil {
		return err
	}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Loopback.Host+readyPath, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close() // nothing is read from it
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("the API server has ended before it was ready: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
