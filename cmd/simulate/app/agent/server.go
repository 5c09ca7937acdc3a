package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/words"
)

// URIs of the resources, and their types.
const (
	clusterURI   = "faultline://cluster"
	workloadsURI = "faultline://workloads"
	reportURI    = "faultline://report/"
	proofURI     = "faultline://proof/"

	jsonType = "application/json"
	yamlType = "application/yaml"
)

const instructions = `Faultline places the pods of a cluster in memory, by the real kube-scheduler, controllers and admission, and answers before you act:
ask may_i_drain, may_i_delete, may_i_scale or may_i_merge before the command that does it, and why_is_it_pending, what_if_a_zone_is_lost,
what_is_lost_with_a_node, what_must_i_add or how_many_more_fit before you advise. No tool changes anything. An answer begins with yes or no,
or with the number; repeat that line to the user as it is. "basis" says when the input was read, which objects are missing from it, and
what is assumed: pass that on. A proof is a scenario: save it as proof.yaml, and simulate test proof.yaml runs its claims.`

// newServer returns the server of the asker's questions.
func newServer(a *asker) *mcp.Server {
	a.turns, a.kept = make(chan struct{}, maxTurns), map[string]*found{}
	server := mcp.NewServer(&mcp.Implementation{Name: "faultline", Title: "Faultline", Version: a.streams.ToolVersion}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{},
	})
	addTools(server, a)
	addResources(server, a)
	addPrompts(server)
	return server
}

// reports are the reports that a name alone asks for: each is a command without flags of its own.
var reports = []struct{ name, description string }{
	{"run", "where every pod is after the controllers and the scheduler have settled, and why"},
	{"review", "the room in each group of nodes, what losses strand, rules that do not what they say, the cost"},
	{"blast", "what is lost when a region, zone, rack or node fails, and what comes back"},
	{"lint", "rules that do not do what they say, with the fix"},
}

func addResources(server *mcp.Server, a *asker) {
	server.AddResource(&mcp.Resource{
		URI: clusterURI, Name: "cluster", Title: "The cluster's summary", MIMEType: jsonType,
		Description: "nodes, failure domains, numbers of pods and workloads, and what the input lacks",
	}, a.resource(func(ctx context.Context) (any, error) { return a.readCluster(ctx) }))
	server.AddResource(&mcp.Resource{
		URI: workloadsURI, Name: "workloads", Title: "The workloads", MIMEType: jsonType,
		Description: "each workload with its replicas: how many it wants, how many run, how many are Pending",
	}, a.resource(func(ctx context.Context) (any, error) {
		ran, err := a.readRun(ctx)
		if err != nil {
			return nil, err
		}
		return struct {
			Basis     basis      `json:"basis"`
			Workloads []workload `json:"workloads"`
		}{ran.basis, ran.Steps[len(ran.Steps)-1].Workloads}, nil
	}))
	var names []string
	for _, of := range reports {
		names = append(names, of.name)
		server.AddResource(&mcp.Resource{URI: reportURI + of.name, Name: of.name, Title: "The report of simulate " + of.name, MIMEType: jsonType, Description: of.description},
			a.resource(func(ctx context.Context) (any, error) {
				f, err := a.ask(ctx, commandLine{command: of.name})
				if err != nil {
					return nil, err
				}
				return f.report, nil
			}))
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: reportURI + "{name}", Name: "report", Title: "A report by its name", MIMEType: jsonType,
		Description: "a whole report as JSON: " + words.Or(names) + ", or the name in the reportUri of an answer",
	}, a.readKept(reportURI, jsonType, func(f *found) string { return string(f.report) }))
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: proofURI + "{name}", Name: "proof", Title: "The proof of an answer", MIMEType: yamlType,
		Description: "the claims of an answer as a scenario, by the name in its proofUri; simulate test runs it",
	}, a.readKept(proofURI, yamlType, func(f *found) string { return f.proof }))
}

// resource returns the handler of a resource that is read as JSON.
func (a *asker) resource(read func(context.Context) (any, error)) mcp.ResourceHandler {
	return func(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		value, err := read(ctx)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: request.Params.URI, MIMEType: jsonType, Text: string(text)}}}, nil
	}
}

// readKept returns the handler of the answers that are kept.
func (a *asker) readKept(prefix, kind string, part func(*found) string) mcp.ResourceHandler {
	return func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		f := a.find(strings.TrimPrefix(request.Params.URI, prefix))
		if f == nil || part(f) == "" {
			return nil, mcp.ResourceNotFoundError(request.Params.URI)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: request.Params.URI, MIMEType: kind, Text: part(f)}}}, nil
	}
}

// ranReport is what the resources need of a report on a run.
type ranReport struct {
	basis   basis
	Cluster struct {
		Nodes  int `json:"nodes"`
		Levels []struct {
			TopologyKey string `json:"topologyKey"`
			Domains     int    `json:"domains"`
		} `json:"levels"`
	}
	Scheduler struct{ Version, Kubernetes string }
	Nodes     []struct {
		Name     string
		Topology map[string]string
	}
	Steps []struct {
		Nodes []struct {
			Name     string
			Topology map[string]string
		}
		Summary   map[string]any
		Workloads []workload
	}
}

// workload is a workload with its replicas.
type workload struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Desired   int    `json:"desired"`
	Running   int    `json:"running"`
	Pending   int    `json:"pending"`
}

func (a *asker) readRun(ctx context.Context) (*ranReport, error) {
	f, err := a.ask(ctx, commandLine{command: "run"})
	if err != nil {
		return nil, err
	}
	ran := &ranReport{basis: f.Basis}
	if err := json.Unmarshal(f.report, ran); err != nil {
		return nil, err
	}
	if len(ran.Steps) == 0 {
		return nil, fmt.Errorf("the input has no step")
	}
	for _, step := range ran.Steps {
		if step.Nodes != nil {
			ran.Nodes = step.Nodes
		}
	}
	return ran, nil
}

// summary is the cluster at a glance.
type summary struct {
	Basis      basis          `json:"basis"`
	Scheduler  string         `json:"scheduler"`
	Nodes      int            `json:"nodes"`
	Levels     []level        `json:"levels"`
	Pods       map[string]any `json:"pods"`
	Workloads  int            `json:"workloads"`
	Namespaces []string       `json:"namespaces"`
	Pending    []workload     `json:"pending"`
}

// level is a kind of failure domain, with the number of nodes in each domain. The domains of single nodes are only counted.
type level struct {
	TopologyKey string         `json:"topologyKey"`
	Count       int            `json:"count"`
	Domains     map[string]int `json:"domains,omitempty"`
}

func (a *asker) readCluster(ctx context.Context) (*summary, error) {
	ran, err := a.readRun(ctx)
	if err != nil {
		return nil, err
	}
	last := ran.Steps[len(ran.Steps)-1]
	s := &summary{Basis: ran.basis, Scheduler: "kube-scheduler " + ran.Scheduler.Version, Nodes: len(ran.Nodes), Pods: last.Summary, Workloads: len(last.Workloads), Pending: []workload{}}
	if ran.Scheduler.Kubernetes != "" {
		s.Scheduler += " as Kubernetes " + ran.Scheduler.Kubernetes
	}
	for _, of := range ran.Cluster.Levels {
		one := level{TopologyKey: of.TopologyKey, Domains: map[string]int{}}
		for _, node := range ran.Nodes {
			if value, has := node.Topology[of.TopologyKey]; has {
				one.Domains[value]++
			}
		}
		if one.Count = len(one.Domains); one.TopologyKey == v1.LabelHostname {
			one.Domains = nil
		}
		s.Levels = append(s.Levels, one)
	}
	for _, of := range last.Workloads {
		s.Namespaces = append(s.Namespaces, of.Namespace)
		if of.Pending > 0 {
			s.Pending = append(s.Pending, of)
		}
	}
	slices.Sort(s.Namespaces)
	s.Namespaces = slices.Compact(s.Namespaces)
	return s, nil
}

func addPrompts(server *mcp.Server) {
	add := func(name, title, description string, text func(args map[string]string) string, args ...*mcp.PromptArgument) {
		server.AddPrompt(&mcp.Prompt{Name: name, Title: title, Description: description, Arguments: args}, func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text(request.Params.Arguments)}}}}, nil
		})
	}
	add("failure_drill", "A failure drill", "Rehearse the loss of a zone with the cluster as it is: what is lost, what comes back, what to do before it happens.",
		func(args map[string]string) string {
			of := "each zone in turn"
			if zone := args["zone"]; zone != "" {
				of = "zone " + zone
			}
			return fmt.Sprintf(`Lead me through a failure drill for the loss of %s.

1. Read %s for the size of the cluster, and say when it was read and what is missing or assumed.
2. Ask what_if_a_zone_is_lost. List which workloads lose pods, which budgets and quorums break, which pods come back, and for each pod that
   does not: why, with the numbers.
3. Ask what_must_i_add. Give the nodes to add and the patches, each with what it is for.
4. For each step that you propose, ask may_i_merge or may_i_scale first, and say its answer.
5. End with a runbook of at most ten lines: what to do now, what to watch in the failure, what comes back by itself.

Change nothing. Repeat the first line of each answer as it is.`, of, clusterURI)
		}, &mcp.PromptArgument{Name: "zone", Description: "the zone; default: each"})
	add("capacity_review", "A capacity review", "Review how much room the cluster has, what stops growth, and what the loss of a zone leaves of it.",
		func(args map[string]string) string {
			of := "the cluster"
			if workload := args["workload"]; workload != "" {
				of = workload
			}
			return fmt.Sprintf(`Review the capacity of %s.

1. Read %s and %sreview. Say when the cluster was read, and what is missing or assumed.
2. Ask how_many_more_fit, then again with survive zone. Say for each workload how many more fit, and what stops the next one.
3. If pods are Pending, ask why_is_it_pending, and give the cheapest change that places them.
4. Ask what_must_i_add with peak. Say whether the cluster holds with every HorizontalPodAutoscaler at its maximum while a zone is lost.
5. End with a table: workload, replicas, room, room after the loss of a zone, what stops it, what to do.

Change nothing. Repeat the first line of each answer as it is.`, of, clusterURI, reportURI)
		}, &mcp.PromptArgument{Name: "workload", Description: "the workload, as kind/name or namespace/kind/name; default: all"})
}
