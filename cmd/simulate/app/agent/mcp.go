package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/web"
)

// defaultMaxAge is the default of --max-age.
const defaultMaxAge = time.Minute

func newMCP(s command.Streams, run command.Runner) *cobra.Command {
	var in input.Flags
	var address, timeout string
	var maxAge time.Duration
	cmd := &cobra.Command{
		Use:   "mcp [SCENARIO | MANIFEST...]",
		Short: "Answer the questions of AI agents, over the Model Context Protocol",
		Long: `Serve the program's questions as tools of the Model Context Protocol: may I drain this node, may I delete, scale or merge this, why is
this pod Pending, what if this zone is lost, what must I add, how many more fit? An agent asks before it acts. Each answer has its first
line, the report, what it rests on, and its claims as a scenario that simulate test runs.

No tool writes anything, to files or to a cluster. The input is what the command line names: a scenario, a dump, manifests, or a live
cluster, only with --context or another of kubectl's flags. A live cluster is read by list requests, again when --max-age is over; each
answer says when it was read, and which kinds may not be read.

The protocol goes over standard input and output, or with --http over HTTP on this machine alone, at the path /mcp. The page for agents,
docs/agents.md, has the configuration of clients. The end of standard input ends the command, and so does an interrupt: exit code 0.`,
		Example: `  simulate mcp dump.json
  simulate mcp --context prod
  simulate mcp --context prod --http 127.0.0.1:8081`,
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := command.ParseTimeLimit(timeout)
			switch {
			case err != nil:
				return exit.Usage(cmd, "--timeout: %w", err)
			case maxAge < 0:
				return exit.Usage(cmd, "--max-age: %s is negative; give 0s or more", maxAge)
			case slices.Contains(slices.Concat(in.Cluster, in.Files, args), manifest.Stdin):
				return exit.Usage(cmd, "standard input has the requests; name a file in place of -")
			case len(in.Cluster)+len(in.Files)+len(args) == 0 && !input.HasLiveFlag(cmd):
				return exit.Usage(cmd, "no input is named; give a dump or a scenario, or a live cluster with --context")
			case in.Live(cmd, args) && !input.HasLiveFlag(cmd):
				return exit.Usage(cmd, "the live cluster is not named; give --context, or --live for kubectl's current one")
			}
			from, err := newSource(cmd, &in, args, maxAge)
			if err != nil {
				return err
			}
			dump, _, err := from.read(cmd.Context())
			if err != nil {
				return err
			}
			in.Give(&input.Given{Dump: dump})
			in.Federated = true // as a few of the commands
			loaded, err := command.NewCall(cmd, s, &in, args).Load(args)
			if err != nil {
				return err // now, and not with the first question
			}
			from.hasNodes = !loaded.MadeUp
			server := newServer(&asker{run: run, streams: s, source: from, timeout: limit, program: cmd.Root().DisplayName()})
			if address == "" {
				err = server.Run(cmd.Context(), &mcp.IOTransport{Reader: io.NopCloser(s.In), Writer: nopCloser{s.Out}})
			} else {
				err = serveHTTP(cmd, server, address, s.Err)
			}
			if exit.Interrupted(err) || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		},
	}
	in.Register(cmd)
	cmd.Flags().StringVar(&address, "http", "", "serve over HTTP at this `ADDRESS` of this machine, such as 127.0.0.1:8081, in place of standard input and output")
	cmd.Flags().StringVar(&timeout, "timeout", "5m", "answer with what is known after this `TIME`, such as 10s or 2m, as a true part of the answer")
	cmd.Flags().DurationVar(&maxAge, "max-age", defaultMaxAge, "read a live cluster again for a question if the last reading is older than this `TIME`")
	return cmd
}

// serveHTTP serves at an address of this machine until the context ends.
func serveHTTP(cmd *cobra.Command, server *mcp.Server, address string, progress io.Writer) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return exit.Usage(cmd, "--http %s: is not HOST:PORT; give one such as 127.0.0.1:8081", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return exit.Usage(cmd, "--http %s: is no address of this machine alone; give one such as 127.0.0.1:8081, and reach it by a tunnel", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--http %s: %w; give another address, or port 0 for any that is free", address, err)
	}
	fmt.Fprintf(progress, "the server is at http://%s/mcp; interrupt to end it\n", listener.Addr())
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		SessionTimeout: time.Hour, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", checkHost(web.HostsOf(host), http.NewCrossOriginProtection().Handler(handler)))
	serving := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	go func() { ended <- serving.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-cmd.Context().Done():
	}
	rest, stop := context.WithTimeout(context.WithoutCancel(cmd.Context()), 2*time.Second)
	defer stop()
	return cmp.Or(errors.Join(serving.Shutdown(rest), serving.Close()), nil)
}

// checkHost refuses the requests of a page that reaches this machine by a name of its own.
func checkHost(hosts web.Hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Has(r.Host) {
			http.Error(w, fmt.Sprintf("nothing is served as %q; use the address that simulate mcp printed", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// nopCloser is a writer that outlives the connection.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
