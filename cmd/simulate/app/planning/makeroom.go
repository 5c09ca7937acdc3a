package planning

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askcapacity "github.com/faultline/faultline/pkg/ask/capacity"
	askmakeroom "github.com/faultline/faultline/pkg/ask/makeroom"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/makeroom"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

func newMakeRoom(s command.Streams) *cobra.Command {
	var in input.Flags
	var step string
	var tries int
	var deleteData bool
	var proof command.Proof
	var out output.Flags
	var timeout command.Timeout
	cmd := &cobra.Command{
		Use:   "make-room [TYPE/NAME...] [SCENARIO | MANIFEST...]",
		Short: "Find the fewest moves of running pods that make room for pods that wait",
		Long: `Run a scenario to its end, then find the fewest moves after which the pods of the named workloads, or the pods of -f, have a node; without
either, all pods that wait. A move is an eviction that the pod's budget allows at that moment. The pod's controller replaces it, and the
scheduler gives the replacement a node before the next move. The nodes that are freed are cordoned meanwhile. Pods without a controller never
move, nor do static pods and pods of DaemonSets; pods with emptyDir volumes only with --delete-emptydir-data.

Up to three moves are the fewest, if the report does not say otherwise: all sets of pods without which there may be room are tried, the
cheapest first: of low priority, young, with many replicas. Above, one node after the other is freed, and the report names a bound. If nothing
makes room, it is asked again without budgets. The report has the moves as commands of kubectl, each of which waits for the replacement.`,
		Example: `  simulate make-room dump.json -f job.yaml
  simulate make-room job/train dump.json -n batch
  simulate make-room pod/train-0 dump.json --delete-emptydir-data
  simulate make-room --context prod -f job.yaml -o json`,
		ValidArgsFunction: input.CompleteTargets(append([]string{"Pod", "Job", "DaemonSet"}, scenario.ReplicatedKinds[:4]...)),
		RunE: command.Question[makeroom.Report]{
			Input: &in, Output: &out, Formats: makeroom.Formats, Timeout: &timeout, Check: proof.Check,
			Ask: func(c *command.Call) (*makeroom.Report, error) {
				if tries < 1 {
					return nil, c.Usage("--tries: %d is less than 1; give the largest number of sequences of moves to run", tries)
				}
				targets, files := input.SplitTargets(c.Args)
				c.Args = files
				loaded, err := loadOneCluster(c, step)
				if err != nil {
					return nil, err
				}
				result, err := simulation.Run(c.Context(), askcapacity.Base(loaded, ""), simulation.Options{Progress: c.Bar.Counts("pods")})
				if err != nil {
					return nil, err
				}
				opts := askmakeroom.Options{DeleteEmptyDirData: deleteData, Files: in.Files, Tries: tries, Progress: c.Bar.Counts("tries")}
				if opts.Targets, err = roomTargets(c, loaded, result, targets); err != nil {
					return nil, err
				}
				w, err := simulation.NewCluster(result.Scenario)
				if err != nil {
					return nil, err
				}
				defer w.Close()
				answer, stopped := askmakeroom.Find(c.Context(), w, result, opts)
				if answer == nil {
					return nil, stopped
				}
				found := makeroom.New(result, answer, c.ToolVersion)
				if stopped != nil {
					return found, stopped
				}
				return found, proof.Prove(c, loaded, files, answer.Claims(), &found.Head)
			},
		}.Run(s),
	}
	in.Register(cmd)
	in.RegisterAutoscaler(cmd)
	in.Namespace.Register(cmd, false)
	flags := cmd.Flags()
	flags.BoolVar(&deleteData, "delete-emptydir-data", false, "also move pods with emptyDir volumes, whose data is lost")
	flags.IntVar(&tries, "tries", askmakeroom.DefaultTries, "largest `NUMBER` of sequences of moves to run; as many again without budgets, if none makes room")
	flags.StringVar(&step, "step", "", "the `STEP` after which pods move (default the last)")
	proof.Register(cmd)
	timeout.Register(cmd)
	out.Register(cmd, makeroom.Formats.Names(), "the answer, on one line", "list every pod")
	return cmd
}

// roomTargets returns the workloads and pods for which room is asked: the targets, the objects of -f, or none for all pods that wait.
func roomTargets(c *command.Call, loaded *scenario.Scenario, result *simulation.Result, targets []string) ([]cluster.Ref, error) {
	state := result.State()
	if len(targets) == 0 {
		if len(c.Input.Files) == 0 {
			if len(state.Unscheduled()) == 0 {
				return nil, c.Usage("no pod waits for a node; give pods that ask for room with -f FILE")
			}
			return nil, nil
		}
		return objectsOfFiles(loaded, state, c.Input.Files)
	}
	owners := state.Owners()
	var known []cluster.Ref
	for _, pod := range state.Pods {
		known = append(known, owners(pod), cluster.RefTo(pod))
	}
	for _, obj := range state.Objects() {
		known = append(known, cluster.RefTo(obj))
	}
	var found []cluster.Ref
	var problems []error
	for _, target := range targets {
		wanted, err := c.Input.Namespace.ParseTarget(c.Command, target)
		if err != nil {
			return nil, err
		}
		var matches []cluster.Ref
		for _, ref := range known {
			if strings.EqualFold(ref.Kind, wanted.Kind) && ref.Name == wanted.Name && (wanted.Namespace == "" || ref.Namespace == wanted.Namespace) && !slices.Contains(matches, ref) {
				matches = append(matches, ref)
			}
		}
		switch len(matches) {
		case 0:
			problems = append(problems, c.Usage("%s is not there%s; give a workload or a pod of the input", target, cmp.Or(inNamespace(wanted.Namespace), " at the end of the run")))
		case 1:
			found = append(found, matches[0])
		default:
			problems = append(problems, c.Usage("%s is in several namespaces: %s; choose with -n", target, strings.Join(list.Map(matches, func(r cluster.Ref) string { return r.Namespace }), ", ")))
		}
	}
	return found, exit.UsageProblems(c.Command, problems...)
}

// objectsOfFiles returns the objects with pods that the files have.
func objectsOfFiles(loaded *scenario.Scenario, state *cluster.State, files []string) ([]cluster.Ref, error) {
	var found []cluster.Ref
	for _, sources := range loaded.Sources {
		for ref, source := range sources {
			in := func(file string) bool {
				matches, _ := filepath.Match(file, source.File)
				return matches || source.File == filepath.Clean(file) || strings.HasPrefix(source.File, filepath.Clean(file)+string(filepath.Separator))
			}
			if !slices.ContainsFunc(files, in) {
				continue
			}
			if spec, _ := cluster.PodSpec(state.Find(ref)); spec != nil {
				found = append(found, ref)
			}
		}
	}
	if len(found) == 0 {
		return nil, exit.InvalidInput(fmt.Errorf("%s: no object that makes pods; give the pods that ask for room", strings.Join(files, ", ")))
	}
	slices.SortFunc(found, cluster.Ref.Compare)
	return slices.Compact(found), nil
}

func inNamespace(name string) string {
	if name == "" {
		return ""
	}
	return " in the namespace " + name
}
