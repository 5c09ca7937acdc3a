package inmemory

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// APIPath is where a cluster in memory takes what kubectl cannot do, each as a POST: steps takes a step of a scenario, advance an [Advance], step
// nothing, fork a [Fork] and why a [Target]. All answer with a Status, and save with a saved cluster.
const APIPath = "/apis/faultline.dev/v1/"

// Advance is the request to let time pass.
type Advance struct {
	By metav1.Duration `json:"by"`
}

// Fork is the request to start another cluster that goes on from this one.
type Fork struct {
	Name string `json:"name"`
}

// Target is the request to explain a pod or the pods of a workload, such as pod/web-0.
type Target struct {
	Target    string `json:"target"`
	Namespace string `json:"namespace,omitempty"`
}

func newFail(s command.Streams) *cobra.Command {
	var mode string
	cmd := newNodesCommand(s, "fail", "Let nodes of a cluster in memory fail, and see what becomes of their pods", func(nodes scenario.Nodes) scenario.Step {
		return scenario.Step{Fail: &scenario.Fail{Nodes: nodes, Mode: mode}}
	})
	cmd.Flags().StringVar(&mode, "mode", "unreachable", "`MODE` of the failure: unreachable, out-of-service or deleted")
	output.CompleteValues(cmd, "mode", []string{"unreachable", "out-of-service", "deleted"})
	return cmd
}

func newRestore(s command.Streams) *cobra.Command {
	return newNodesCommand(s, "restore", "Bring nodes of a cluster in memory back that have failed", func(nodes scenario.Nodes) scenario.Step {
		return scenario.Step{Restore: &scenario.NodesInTurn{Nodes: nodes, Together: true}}
	})
}

// newNodesCommand returns a command that does something to nodes.
func newNodesCommand(s command.Streams, name, short string, step func(scenario.Nodes) scenario.Step) *cobra.Command {
	var connection input.Connection
	var selector string
	cmd := &cobra.Command{
		Use:   name + " (NODE... | zone/NAME | region/NAME | -l SELECTOR)",
		Short: short,
		Long: short + `.

The cluster is one that simulate cluster runs: that of kubeconfig's current context, unless --context or --kubeconfig name another.
The command ends when nothing moves any more in the cluster.`,
		Example: `  simulate ` + name + ` node-1
  simulate ` + name + ` zone/west-1a`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := command.NewCall(cmd, s, nil, args)
			nodes, err := parseNodes(c, args, selector)
			if err != nil {
				return err
			}
			return post(c, &connection, "steps", step(nodes))
		},
	}
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "`SELECTOR` of the nodes' labels, as for kubectl")
	connection.Register(cmd)
	return cmd
}

// parseNodes returns the nodes that arguments like node-1 or zone/west-1a name.
func parseNodes(c *command.Call, args []string, selector string) (scenario.Nodes, error) {
	nodes := scenario.Nodes{Selector: selector}
	for _, arg := range args {
		word, name, isDomain := strings.Cut(arg, "/")
		switch {
		case !isDomain:
			nodes.Names = append(nodes.Names, arg)
		case word == "node" || word == "nodes":
			nodes.Names = append(nodes.Names, name)
		case nodes.Selector != "":
			return nodes, c.Usage("%s: one domain or selector at a time; give several zones as -l 'topology.kubernetes.io/zone in (a,b)'", arg)
		default:
			nodes.Selector = topology.Key(word) + "=" + name
		}
	}
	if !nodes.Selects() {
		return nodes, c.Usage("no node is named; give names, a domain such as zone/west-1a, or -l SELECTOR")
	}
	return nodes, nil
}

func newAdvance(s command.Streams) *cobra.Command {
	var connection input.Connection
	cmd := &cobra.Command{
		Use:   "advance DURATION",
		Short: "Let time pass in a cluster in memory",
		Long: `Let time pass in a cluster in memory, such as 10m, and what waits for it happen: deadlines of Jobs, and restored nodes' leases.

The cluster is one that simulate cluster runs: that of kubeconfig's current context, unless --context or --kubeconfig name another.`,
		Example: `  simulate advance 10m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := command.NewCall(cmd, s, nil, args)
			if len(args) != 1 {
				return c.Usage("give one length of time, such as 10m")
			}
			by, err := time.ParseDuration(args[0])
			if err != nil || by <= 0 {
				return c.Usage("%q is no length of time; give one such as 10m", args[0])
			}
			return post(c, &connection, "advance", Advance{metav1.Duration{Duration: by}})
		},
	}
	connection.Register(cmd)
	return cmd
}

func newStep(s command.Streams) *cobra.Command {
	var connection input.Connection
	cmd := &cobra.Command{
		Use:   "step",
		Short: "Let the next thing happen in a cluster in memory whose time stands",
		Long: `Let the controllers, the scheduler and the kubelets of a cluster in memory act once. If nothing moves, time passes until something does.
It is for a cluster that simulate cluster --time stand runs, in which nothing happens by itself.

The cluster is one that simulate cluster runs: that of kubeconfig's current context, unless --context or --kubeconfig name another.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return post(command.NewCall(cmd, s, nil, args), &connection, "step", struct{}{})
		},
	}
	connection.Register(cmd)
	return cmd
}

func newSave(s command.Streams) *cobra.Command {
	var connection input.Connection
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Write a cluster in memory to a file, from which simulate cluster --load goes on",
		Long: `Write a cluster in memory as it is to a file: all objects with their UIDs and versions, and the cluster's time.

The cluster is one that simulate cluster runs: that of kubeconfig's current context, unless --context or --kubeconfig name another.`,
		Example: `  simulate save monday.cluster
  simulate cluster --load monday.cluster`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := command.NewCall(cmd, s, nil, args)
			if len(args) != 1 {
				return c.Usage("give one file to write to")
			}
			name, data, err := send(c, &connection, "save", nil)
			if err != nil {
				return err
			}
			if err := os.WriteFile(args[0], data, 0o600); err != nil { // it holds the cluster's Secrets
				return err
			}
			_, err = fmt.Fprintf(c.Out, "%s: saved in %s\n", name, args[0])
			return err
		},
	}
	connection.Register(cmd)
	return cmd
}

func newFork(s command.Streams) *cobra.Command {
	var connection input.Connection
	cmd := &cobra.Command{
		Use:   "fork NAME",
		Short: "Start another cluster in memory that goes on from this one",
		Long: `Start another cluster that is as this one is now, with the same objects, UIDs and versions, and goes on by itself. It has a port of its own,
and the kubeconfig gets a context NAME for it. It ends with the first cluster, or when another fork takes its name.

The cluster is one that simulate cluster runs: that of kubeconfig's current context, unless --context or --kubeconfig name another.`,
		Example: `  simulate fork what-if
  simulate fail zone/west-1a --context what-if
  kubectl --context what-if get pods`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := command.NewCall(cmd, s, nil, args)
			if len(args) != 1 {
				return c.Usage("give one name for the new cluster")
			}
			return post(c, &connection, "fork", Fork{args[0]})
		},
	}
	connection.Register(cmd)
	return cmd
}

func newWhy(s command.Streams) *cobra.Command {
	var connection input.Connection
	var namespace string
	cmd := &cobra.Command{
		Use:   "why TYPE/NAME",
		Short: "Explain where a pod of a cluster in memory is, or why it is Pending",
		Long: `Explain where a pod or the pods of a workload are, or why they are Pending, as simulate explain does of the cluster as it is now.

The cluster is one that simulate cluster runs: that of kubeconfig's current context, unless --context or --kubeconfig name another.`,
		Example: `  simulate why pod/web-0
  simulate why deploy/web -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := command.NewCall(cmd, s, nil, args)
			if len(args) != 1 {
				return c.Usage("give one pod or workload, such as pod/web-0")
			}
			_, data, err := send(c, &connection, "why", Target{args[0], namespace})
			if err != nil {
				return err
			}
			var answer metav1.Status
			if err := json.Unmarshal(data, &answer); err != nil {
				return err
			}
			_, err = io.WriteString(c.Out, answer.Message)
			return err
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the `NAMESPACE` of what is named without one (default default)")
	connection.Register(cmd)
	return cmd
}

// post sends a request to the cluster, and prints what it did.
func post(c *command.Call, connection *input.Connection, verb string, body any) error {
	name, data, err := send(c, connection, verb, body)
	if err != nil {
		return err
	}
	var answer metav1.Status
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%s: %s\n", name, answer.Message)
	return err
}

// send sends a request to the cluster, and returns the cluster's name and its answer.
func send(c *command.Call, connection *input.Connection, verb string, body any) (name string, answer []byte, err error) {
	name, config, err := connection.Config(c.Command)
	if err != nil {
		return "", nil, err
	}
	config.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	config.GroupVersion = &schema.GroupVersion{}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return "", nil, err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return "", nil, err
	}
	result := client.Post().AbsPath(APIPath + verb).Body(data).Do(c.Context())
	switch err := result.Error(); {
	case apierrors.IsBadRequest(err):
		return "", nil, exit.InvalidInput(fmt.Errorf("%s: %w", name, err))
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err):
		return "", nil, exit.InvalidInput(fmt.Errorf("%s: this is no cluster in memory; start one with simulate cluster, and name it with --kubeconfig", name))
	case err != nil:
		return "", nil, fmt.Errorf("%s: %w", name, err)
	}
	answer, err = result.Raw()
	return name, answer, err
}
