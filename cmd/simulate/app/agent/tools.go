package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/pkg/words"
)

// options are the inputs that every tool has.
type options struct {
	Prove   bool   `json:"prove,omitempty" jsonschema:"also run each claim of the answer in a cluster of its own, and say whether it holds; takes longer"`
	Timeout string `json:"timeout,omitempty" jsonschema:"end the search after this time, such as 30s, with the part of the answer that is known by then"`
}

// add adds the options to the command line.
func (o options) add(line *commandLine) error {
	if o.Prove {
		line.flags = append(line.flags, "--prove")
	}
	if o.Timeout == "" {
		return nil
	}
	limit, err := command.ParseTimeLimit(o.Timeout)
	if err != nil {
		return fmt.Errorf("timeout: %w", err)
	}
	line.timeout = limit
	return nil
}

type drainInput struct {
	Nodes              []string `json:"nodes" jsonschema:"names of the nodes, which are drained in this order"`
	Force              bool     `json:"force,omitempty" jsonschema:"also evict pods without a controller, which nothing replaces, as kubectl drain --force does"`
	DeleteEmptyDirData bool     `json:"deleteEmptyDirData,omitempty" jsonschema:"also evict pods with emptyDir volumes, whose data is lost"`
	options
}

func (in drainInput) line() (commandLine, error) {
	line := commandLine{command: "drain"}
	if len(in.Nodes) == 0 {
		return line, errors.New("nodes: no node is given; give at least one name")
	}
	for _, node := range in.Nodes {
		node = strings.TrimPrefix(node, "node/")
		if !objectName.MatchString(node) {
			return line, fmt.Errorf("nodes: %q is not the name of a node", node)
		}
		line.targets = append(line.targets, "node/"+node)
	}
	line.addSwitch("force", in.Force)
	line.addSwitch("delete-emptydir-data", in.DeleteEmptyDirData)
	return line, in.add(&line)
}

type deleteInput struct {
	Objects   []string `json:"objects" jsonschema:"the objects to delete, in this order, as kind/name or namespace/kind/name: deployment/web, shop/pod/web-0, node/worker-1, poddisruptionbudget/web"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"the namespace of objects that are given without one; default: default"`
	options
}

func (in deleteInput) line() (commandLine, error) {
	line := commandLine{command: "run"}
	if len(in.Objects) == 0 {
		return line, errors.New("objects: no object is given; give at least one as kind/name")
	}
	for _, object := range in.Objects {
		if err := checkObject("objects", object); err != nil {
			return line, err
		}
		line.add("delete", object)
	}
	line.addInNamespace(in.Namespace)
	return line, in.add(&line)
}

type scaleInput struct {
	Workload  string   `json:"workload,omitempty" jsonschema:"the workload, as kind/name or namespace/kind/name; without one, factor multiplies the replicas of all workloads"`
	Replicas  *int     `json:"replicas,omitempty" jsonschema:"the new number of replicas"`
	Factor    *float64 `json:"factor,omitempty" jsonschema:"in place of replicas: a factor of the present replicas, such as 1.2 for 20 % more"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"the namespace of a workload that is given without one; default: default"`
	options
}

func (in scaleInput) line() (commandLine, error) {
	line := commandLine{command: "run"}
	if in.Workload != "" {
		if err := checkObject("workload", in.Workload); err != nil {
			return line, err
		}
	}
	switch {
	case (in.Replicas == nil) == (in.Factor == nil):
		return line, errors.New("replicas and factor: give one of them")
	case in.Replicas != nil && in.Workload == "":
		return line, errors.New("workload: is missing; replicas are of one workload")
	case in.Replicas != nil:
		line.add("set-replicas", in.Workload+"="+strconv.Itoa(*in.Replicas))
	default:
		line.add("scale", strings.TrimPrefix(in.Workload+"="+strconv.FormatFloat(*in.Factor, 'g', -1, 64), "="))
	}
	line.addInNamespace(in.Namespace)
	return line, in.add(&line)
}

type mergeInput struct {
	Manifests string   `json:"manifests,omitempty" jsonschema:"the objects as they are after the change, as YAML or JSON documents"`
	Files     []string `json:"files,omitempty" jsonschema:"files or folders of such objects, below the folder in which the server was started"`
	options
}

// changeFile is the name of the file that has the manifests of a change, and changeStep that of the step that applies them to a scenario.
const (
	changeFile = "change.yaml"
	changeStep = "merge"
)

func (in mergeInput) line() (commandLine, error) {
	line := commandLine{command: "run"}
	if in.Manifests == "" && len(in.Files) == 0 {
		return line, errors.New("manifests and files: nothing is given; give the objects as they are after the change")
	}
	for _, file := range in.Files {
		if err := checkFile(file); err != nil {
			return line, err
		}
	}
	line.changed, line.manifests = in.Files, in.Manifests
	return line, in.add(&line)
}

type pendingInput struct {
	Object    string `json:"object,omitempty" jsonschema:"a pod or a workload, as kind/name or namespace/kind/name, such as pod/web-0 or deployment/web; default: every Pending pod"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace of an object that is given without one"`
	options
}

func (in pendingInput) line() (commandLine, error) {
	line := commandLine{command: "run"}
	if in.Object != "" {
		if err := checkObject("object", in.Object); err != nil {
			return line, err
		}
		line = commandLine{command: "explain", targets: []string{in.Object}}
	}
	line.addInNamespace(in.Namespace)
	return line, in.add(&line)
}

// lossInput are the inputs of tools about the loss of nodes.
type lossInput struct {
	Workloads []string `json:"workloads,omitempty" jsonschema:"report only these workloads, as kind/name or namespace/kind/name"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"report only the workloads of this namespace"`
	Mode      string   `json:"mode,omitempty" jsonschema:"how nodes fail: unreachable (default), out-of-service or deleted"`
	options
}

func (in lossInput) line(level, domain string) (commandLine, error) {
	line := commandLine{command: "blast"}
	if !labelKey.MatchString(level) || domain != "" && !labelValue.MatchString(domain) {
		return line, fmt.Errorf("%q is not a label of nodes", strings.TrimSuffix(level+"="+domain, "="))
	}
	line.add("level", strings.TrimSuffix(level+"="+domain, "="))
	for _, workload := range in.Workloads {
		if err := checkObject("workloads", workload); err != nil {
			return line, err
		}
		line.add("workload", workload)
	}
	if in.Mode != "" {
		line.add("mode", in.Mode)
	}
	line.addInNamespace(in.Namespace)
	return line, in.add(&line)
}

type zoneInput struct {
	Zone  string `json:"zone,omitempty" jsonschema:"the zone, or another domain of level; default: each, one at a time"`
	Level string `json:"level,omitempty" jsonschema:"the level that fails: zone (default), region, or a label of the nodes such as rack"`
	lossInput
}

func (in zoneInput) line() (commandLine, error) {
	if in.Level == "" {
		in.Level = "zone"
	}
	return in.lossInput.line(in.Level, in.Zone)
}

type nodeInput struct {
	Node string `json:"node,omitempty" jsonschema:"the name of the node; default: each, one at a time"`
	lossInput
}

func (in nodeInput) line() (commandLine, error) {
	return in.lossInput.line("node", strings.TrimPrefix(in.Node, "node/"))
}

type addInput struct {
	Survive []string `json:"survive,omitempty" jsonschema:"the levels of which any one domain may be lost: zone (default), region, node or a label of the nodes, also one domain as zone=eu-west-1b"`
	Peak    bool     `json:"peak,omitempty" jsonschema:"with every HorizontalPodAutoscaler at its maximum"`
	options
}

func (in addInput) line() (commandLine, error) {
	line := commandLine{command: "plan"}
	if len(in.Survive) == 0 {
		in.Survive = []string{"zone"}
	}
	for _, level := range in.Survive {
		line.add("survive", level)
	}
	if in.Peak {
		line.add("hpa", "max")
	}
	return line, in.add(&line)
}

type capacityInput struct {
	Workloads []string `json:"workloads,omitempty" jsonschema:"the workloads that grow, as kind/name or namespace/kind/name; default: each"`
	Survive   []string `json:"survive,omitempty" jsonschema:"count only replicas that still fit after the loss of any one domain of these levels: zone, node, region or a label of the nodes"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"the namespace of workloads that are given without one"`
	UpTo      int      `json:"upTo,omitempty" jsonschema:"look for at most this number more"`
	options
}

func (in capacityInput) line() (commandLine, error) {
	line := commandLine{command: "capacity"}
	for _, workload := range in.Workloads {
		if err := checkObject("workloads", workload); err != nil {
			return line, err
		}
		line.add("workload", workload)
	}
	for _, level := range in.Survive {
		line.add("survive", level)
	}
	if in.UpTo != 0 {
		line.add("up-to", strconv.Itoa(in.UpTo))
	}
	line.addInNamespace(in.Namespace)
	return line, in.add(&line)
}

// add adds a flag with its value. The value cannot become a word of its own.
func (l *commandLine) add(flag, value string) { l.flags = append(l.flags, "--"+flag+"="+value) }

func (l *commandLine) addSwitch(flag string, on bool) {
	if on {
		l.flags = append(l.flags, "--"+flag)
	}
}

func (l *commandLine) addInNamespace(namespace string) {
	if namespace != "" {
		l.add("namespace", namespace)
	}
}

var (
	objectName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?$`)
	labelKey   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9./_-]*[A-Za-z0-9])?$`)
	labelValue = objectName
)

// checkObject rejects what does not name an object, such as a path or a flag.
func checkObject(input, object string) error {
	parts := strings.Split(object, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.ContainsFunc(parts, func(part string) bool { return !objectName.MatchString(part) }) {
		return fmt.Errorf("%s: %q is neither kind/name nor namespace/kind/name; give a name such as deployment/web", input, object)
	}
	if _, err := os.Stat(object); err == nil {
		return fmt.Errorf("%s: %q is a file here; give the object with its namespace, as namespace/kind/name", input, object)
	}
	return nil
}

// checkFile rejects files outside of the folder in which the server was started.
func checkFile(file string) error {
	real, err := filepath.EvalSymlinks(file)
	here, wrong := os.Getwd()
	if err := errors.Join(err, wrong); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("files: %s: there is no such file", file)
	} else if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if filepath.IsAbs(real) {
		if real, err = filepath.Rel(here, real); err != nil {
			return fmt.Errorf("files: %w", err)
		}
	}
	if !filepath.IsLocal(real) {
		return fmt.Errorf("files: %s is not below the folder in which the server was started; give its text as manifests", file)
	}
	return nil
}

// liner is the input of a tool.
type liner interface {
	line() (commandLine, error)
}

// addTools adds the tools: each is a question, named as an agent would ask it.
func addTools(server *mcp.Server, a *asker) {
	addTool[drainInput](server, a, "may_i_drain", "May I drain these nodes?",
		"Call this before kubectl drain. Says whether the drain ends, what it evicts, which disruption budgets stop it, in which order it would end, and which pods have no node afterwards.")
	addTool[deleteInput](server, a, "may_i_delete", "May I delete these objects?",
		"Call this before kubectl delete. Says which pods go with a workload, a node, a volume claim or another object, which of the others lose their node, and which Pending pods get one.")
	addTool[scaleInput](server, a, "may_i_scale", "May I scale this workload?",
		"Call this before kubectl scale. Says how many of the new pods fit, why the others do not, whom they preempt, and what a HorizontalPodAutoscaler allows.")
	addTool[mergeInput](server, a, "may_i_merge", "May I merge this change of manifests?",
		"Call this before a change is merged or applied. Applies the objects to the cluster in memory, as kubectl apply does, with the real admission, controllers and scheduler. Says whether the new pods fit, which are refused or Pending and why, and who loses a node.")
	addTool[pendingInput](server, a, "why_is_it_pending", "Why is this pod Pending?",
		"Says what each scheduler plugin decided about the nodes, with the numbers on both sides, and which changes would place the pod: each was run. Also why a running pod is where it is.")
	addTool[zoneInput](server, a, "what_if_a_zone_is_lost", "What if this zone is lost?",
		"Says which pods, disruption budgets and quorums are lost with a zone, a region or a rack, which pods come back and where, which are stranded and why, and which nothing replaces.")
	addTool[nodeInput](server, a, "what_is_lost_with_a_node", "What is lost when a node fails?",
		"The same for a node, or for each node one at a time.")
	addTool[addInput](server, a, "what_must_i_add", "What must I add so that a loss strands nobody?",
		"Says how many nodes of which group and zone to add, and which rules to change, so that after the loss of any zone every pod runs again. The plan was tried as a whole.")
	addTool[capacityInput](server, a, "how_many_more_fit", "How many more replicas fit?",
		"Says how many more replicas of a workload fit, what stops the next one, and with survive how many still fit after a loss.")
}

func addTool[In liner](server *mcp.Server, a *asker, name, title, description string) {
	no := false
	tool := &mcp.Tool{Name: name, Title: title, Description: description, OutputSchema: answerSchema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}}
	mcp.AddTool(server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, answer, error) {
		line, err := in.line()
		if err != nil {
			return nil, answer{}, err
		}
		f, err := a.ask(ctx, line)
		if err != nil {
			return nil, answer{}, err
		}
		a.keep(name, f)
		return f.result(), f.answer, nil
	})
}

// result returns the content of a tool's result: the first line, the rest of the report in words with its basis, and the proof.
func (f *found) result() *mcp.CallToolResult {
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: f.Answer}, &mcp.TextContent{Text: strings.TrimSpace(f.text + "\n\n" + f.Basis.lines())}}}
	if f.failed != "" {
		result.IsError = true
		result.Content = append(result.Content, &mcp.TextContent{Text: f.failed})
	}
	switch {
	case f.proof == "":
	case len(f.proof) <= maxProof:
		result.Content = append(result.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: f.ProofURI, MIMEType: yamlType, Text: f.proof}})
	default:
		result.Content = append(result.Content, &mcp.ResourceLink{URI: f.ProofURI, Name: "proof", MIMEType: yamlType, Description: "the claims of the answer, " + words.Count(len(f.proof)>>10, "KiB") + " of YAML"})
	}
	return result
}
