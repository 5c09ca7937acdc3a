package page

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/playground/worker"
	"github.com/faultline/faultline/pkg/web"
)

// playgroundLimits bounds one request of the page: it suffices for a class, and does not fill the machine.
var playgroundLimits = playground.Limits{
	Bytes: 64 << 20, YAML: 4 << 20, Nodes: 5_000, Devices: 100_000, Pods: 20_000, Versions: 1_000, Time: time.Minute,
}

// maxTurns is the maximum number of requests that are answered at a time. Each takes up to 4 GiB of memory.
const maxTurns = 4

func newServe(s command.Streams) *cobra.Command {
	var in input.Flags
	var address string
	var class bool
	cmd := &cobra.Command{
		Use:   "serve [SCENARIO | MANIFEST...]",
		Short: "Open the playground: write a scenario in the browser, and see at once where its pods go",
		Long: `Serve a page on which a scenario can be written, and answered while it is: where its pods go and why, what a failure takes,
what would move a pod. It begins with the scenario, or with the manifests, that the arguments and flags name, and without any
with its lessons on kube-scheduler.

The page is served to this machine alone, unless --address says otherwise; with 0.0.0.0:8080 the command also prints
an address for others. It reads no files but those named here, writes
none, and asks nothing of the network but the live cluster that --context names. The page reads that again on demand. Interrupt the command to end it: that is success, exit code 0.`,
		Example: `  simulate serve
  simulate serve scenarios/soft-or-hard
  simulate serve -f app.yaml --nodes 9 --zones 3
  simulate serve --cluster dump.json --address 127.0.0.1:9000
  simulate serve --class --address 0.0.0.0:8080
  simulate serve --context prod`,
		RunE: func(cmd *cobra.Command, args []string) error {
			host, service, err := net.SplitHostPort(address)
			if err == nil {
				if _, wrong := net.LookupPort("tcp", service); wrong != nil {
					err = errors.New("invalid port")
				}
			}
			if err != nil {
				return exit.Usage(cmd, "--address %s: %s; give HOST:PORT, such as 127.0.0.1:8080", address, strings.TrimPrefix(err.Error(), "address "+address+": "))
			}
			engine := playground.New(s.ToolVersion)
			engine.Limits, engine.Strict, engine.Class = playgroundLimits, in.Options.Strict, class
			start, err := exit.CallInterruptibly(cmd.Context(), func() (*playground.Input, error) { return in.ReadText(cmd.Context(), cmd, s.In, args) })
			switch {
			case errors.As(err, new(*live.Error)):
				return err
			case err != nil:
				return exit.InvalidInput(err)
			case start != nil:
				engine.Start = *start
			}
			if in.Live(cmd, args) {
				if engine.Live.Name, _, err = in.Connection.Config(cmd); err != nil {
					return err
				}
				engine.Live.Read = func(ctx context.Context) (playground.Input, error) {
					read, err := in.ReadText(ctx, cmd, nil, args)
					if err != nil {
						return playground.Input{}, err
					}
					return *read, nil
				}
			}
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return fmt.Errorf("--address %s: %w; give another address, or port 0 for any that is free", address, err)
			}
			port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
			at := "http://" + net.JoinHostPort(localHost(host), port)
			if others := externalAddresses(host); len(others) > 0 {
				at += ", and for others at http://" + net.JoinHostPort(others[0], port)
			}
			fmt.Fprintf(s.Err, "the playground is at %s; interrupt to end it\n", at)
			program, err := os.Executable()
			if err != nil {
				return err
			}
			pool := worker.NewPool(engine, func() *exec.Cmd {
				return &exec.Cmd{Path: program, Args: []string{"simulate", engineName, fmt.Sprintf("--strict=%t", engine.Strict)}}
			})
			defer pool.Close()
			if start := engine.StartRequest(); start != nil {
				go pool.Answer(cmd.Context(), "run", start) // the first page has its answer sooner
			}
			server := web.New(engine, pool, turns(), web.HostsOf(host))
			if class {
				token := rand.Text()
				server.Class = web.NewClass(token)
				fmt.Fprintf(s.Err, "the answers of the class, for its teacher, are at http://%s/class?token=%s\n", net.JoinHostPort(localHost(host), port), token)
			}
			return server.Serve(cmd.Context(), listener)
		},
	}
	in.RegisterFiles(cmd)
	input.RegisterStrict(cmd, &in.Options.Strict)
	cmd.Flags().StringVar(&address, "address", "127.0.0.1:8080", "`ADDRESS` to listen at; anybody who can reach it can use the page")
	cmd.Flags().BoolVar(&class, "class", false, "count the answers to the questions of lessons, without names, and print the address of the numbers")
	return cmd
}

// turns returns the number of requests that are answered at a time. There are at least two, so that a slow one does not delay all others.
func turns() int { return min(max(runtime.GOMAXPROCS(0), 2), maxTurns) }

// engineName is the command that [newServe] starts to answer requests.
const engineName = "engine"

// newEngine returns the command of the processes that answer the requests of serve. It is no command for users.
func newEngine(s command.Streams) *cobra.Command {
	engine := playground.New(s.ToolVersion)
	engine.Limits = playgroundLimits
	cmd := &cobra.Command{
		Use:    engineName,
		Short:  "Answer the requests of serve on standard input",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return worker.Serve(engine, s.In, s.Out) },
	}
	input.RegisterStrict(cmd, &engine.Strict)
	return cmd
}

// localHost returns the host by which this machine reaches a server that listens at host.
func localHost(host string) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return host
}

// externalAddresses returns the addresses by which other machines reach a server that listens everywhere: IPv4 first, since it is easier to type.
// It returns none for a server that listens at one host.
func externalAddresses(host string) []string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return nil
	}
	addresses, _ := net.InterfaceAddrs() // without addresses nobody else can reach this machine
	var v4, v6 []string
	for _, address := range addresses {
		switch of, is := address.(*net.IPNet); {
		case !is || !of.IP.IsGlobalUnicast():
		case of.IP.To4() != nil:
			v4 = append(v4, of.IP.String())
		default:
			v6 = append(v6, of.IP.String())
		}
	}
	return append(v4, v6...)
}
