package input

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// Shell completion reads the input that the command line names so far. It runs nothing, so the pods that controllers would make are not
// among the names. It completes nothing if the input is invalid, large, or can be read only once.

// maxCompleted is the largest input, in bytes, that is read for a completion. Reading it takes about a second.
const maxCompleted = 32 << 20

// CompleteFlags adds completion to the command's flags whose values depend on the input.
func CompleteFlags(cmd *cobra.Command) {
	if cmd.Flags().Lookup("context") != nil {
		_ = cmd.RegisterFlagCompletionFunc("context", completeContexts)
	}
	for flag, names := range map[string]func(*scenario.Scenario) []string{
		"step": stepsOf, "level": levelsOf, "survive": levelsOf, "keys": levelsOf, "namespace": NamespacesOf,
		"node":     func(s *scenario.Scenario) []string { return namesOf(s, "", "Node") },
		"workload": workloadsOf, "quorum": workloadsOf, "restart": workloadsOf,
		"trigger": cronJobsOf, "with-cronjobs": cronJobsOf,
		"variant": func(s *scenario.Scenario) (names []string) {
			for _, v := range s.Variants {
				names = append(names, v.Name)
			}
			return names
		},
	} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			s := inputSoFar(cmd, args)
			if s == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return filterByPrefix(begun, names(s)), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// CompleteTargets completes objects of these kinds, as TYPE/NAME or as TYPE and NAME, and the files of the input.
func CompleteTargets(kinds []string) cobra.CompletionFunc {
	return Completion{Kinds: kinds}.Complete
}

// Completion completes the target of a command: objects of some kinds and, if Resources is set, custom resources.
type Completion struct {
	Kinds     []string
	Resources func(*scenario.Scenario) []cluster.Ref // nil for a command that takes none
}

// Complete is the completion function for cobra.
func (t Completion) Complete(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	word, name, slash := strings.Cut(begun, "/")
	if !slash && len(args) > 0 && !strings.Contains(args[len(args)-1], "/") {
		before := args[:len(args)-1]
		if kind := t.matchKind(cmd, before, args[len(args)-1]); kind != "" {
			return t.completeNames(cmd, before, kind, "", begun)
		}
	}
	if slash {
		if kind := t.matchKind(cmd, args, word); kind != "" {
			return t.completeNames(cmd, args, kind, word+"/", name)
		}
		return t.completeObjects(cmd, args, begun, cluster.Ref.Qualified), cobra.ShellCompDirectiveDefault
	}
	if targets, _ := SplitTargets(args); len(targets) > 0 && !slices.Contains(t.Kinds, "Node") {
		return nil, cobra.ShellCompDirectiveDefault // the shell then completes files
	}
	var types []string
	if s := inputSoFar(cmd, args); s != nil {
		for _, kind := range t.Kinds {
			if len(namesOf(s, "", kind)) > 0 {
				types = append(types, strings.ToLower(kind)+"/")
			}
		}
		for _, resource := range t.resourcesOf(s) {
			types = append(types, strings.ToLower(resource.Kind)+"/")
		}
	}
	if types = filterByPrefix(begun, slices.Compact(types)); len(types) == 0 && begun != "" {
		return t.completeObjects(cmd, args, begun, func(ref cluster.Ref) string { return ref.Name }), cobra.ShellCompDirectiveDefault
	}
	return types, cobra.ShellCompDirectiveNoSpace
}

// completeObjects completes objects of the kinds by the text that as makes of them, where it is not TYPE/NAME.
func (t Completion) completeObjects(cmd *cobra.Command, args []string, begun string, as func(cluster.Ref) string) []cobra.Completion {
	s := inputSoFar(cmd, args)
	if s == nil {
		return nil
	}
	return filterByPrefix(begun, collectTexts(s, func(obj cluster.Object) (string, bool) {
		ref := cluster.RefTo(obj)
		return as(ref), slices.Contains(t.Kinds, ref.Kind) && metav1.GetControllerOfNoCopy(obj) == nil
	}))
}

// matchKind returns the kind that the word names, or "" if the command does not take it.
func (t Completion) matchKind(cmd *cobra.Command, args []string, word string) string {
	if kind, _, err := scenario.ParseTarget(word + "/name"); err == nil {
		if !slices.Contains(t.Kinds, kind) {
			return ""
		}
		return kind
	}
	if t.Resources == nil {
		return ""
	}
	if s := inputSoFar(cmd, args); s != nil {
		for _, resource := range t.Resources(s) {
			if IsKind(word, resource.Kind) {
				return resource.Kind
			}
		}
	}
	return ""
}

// resourcesOf returns the custom resources of the input, sorted by kind. It returns none for a command that takes none.
func (t Completion) resourcesOf(s *scenario.Scenario) []cluster.Ref {
	if t.Resources == nil {
		return nil
	}
	resources := t.Resources(s)
	slices.SortStableFunc(resources, func(a, b cluster.Ref) int { return strings.Compare(a.Kind, b.Kind) })
	return resources
}

func (t Completion) completeNames(cmd *cobra.Command, args []string, kind, prefix, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := inputSoFar(cmd, args)
	if s == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, _ := cmd.Flags().GetString("namespace")
	names := namesOf(s, namespace, kind)
	for _, resource := range t.resourcesOf(s) {
		if resource.Kind == kind && (namespace == "" || resource.Namespace == namespace) && !slices.Contains(names, resource.Name) {
			names = append(names, resource.Name)
		}
	}
	names = filterByPrefix(begun, names)
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// inputSoFar reads the input that the arguments and flags name. It returns nil if that is impossible or would take long.
func inputSoFar(cmd *cobra.Command, args []string) *scenario.Scenario {
	if HasLiveFlag(cmd) {
		return nil // reading a cluster may take long
	}
	var in Flags
	own := &cobra.Command{}
	if cmd.Flags().Lookup("cluster") != nil {
		in.Register(own)
	} else {
		in.RegisterConfiguration(own)
	}
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if flag := own.Flags().Lookup(given.Name); flag == nil {
			return
		} else if values, several := given.Value.(pflag.SliceValue); several {
			_ = flag.Value.(pflag.SliceValue).Replace(values.GetSlice()) // a flag of the same kind has accepted the values before
		} else {
			_ = flag.Value.Set(given.Value.String())
		}
	})
	_, args = SplitTargets(args)
	paths := slices.Concat(in.Cluster, in.Files, args)
	slices.Sort(paths) // cobra parses the flags twice, so that each path is there twice
	var size int64
	for _, path := range slices.Compact(paths) {
		if path == manifest.Stdin {
			return nil
		}
		files, _ := manifest.ListFiles(nil, path)
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			} else if err == nil {
				return nil
			}
		}
	}
	if size > maxCompleted {
		return nil
	}
	s, err := in.read(cmd, nil, nil, output.NewProgress(nil), args)
	if err != nil {
		return nil
	}
	return s
}

func filterByPrefix(with string, all []string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return !strings.HasPrefix(one, with) })
}

// namesOf returns the names of the objects of a kind, in all namespaces if namespace is "".
func namesOf(s *scenario.Scenario, namespace, kind string) []string {
	return collectTexts(s, func(obj cluster.Object) (string, bool) {
		return obj.GetName(), cluster.KindOf(obj) == kind && (namespace == "" || obj.GetNamespace() == namespace)
	})
}

// workloadsOf returns the workloads in the form that flags take.
func workloadsOf(s *scenario.Scenario) []string {
	return collectTexts(s, func(obj cluster.Object) (string, bool) {
		ref := cluster.RefTo(obj)
		return ref.Qualified(), slices.Contains(scenario.ReplicatedKinds, ref.Kind)
	})
}

// cronJobsOf returns the CronJobs in the form that flags take.
func cronJobsOf(s *scenario.Scenario) []string {
	return collectTexts(s, func(obj cluster.Object) (string, bool) {
		ref := cluster.RefTo(obj)
		return ref.Qualified(), ref.Kind == "CronJob"
	})
}

// NamespacesOf returns the namespaces that have a pod or an object that makes pods.
func NamespacesOf(s *scenario.Scenario) []string {
	return collectTexts(s, func(obj cluster.Object) (string, bool) {
		spec, _ := cluster.PodSpec(obj)
		return obj.GetNamespace(), spec != nil
	})
}

// collectTexts calls as for each object, and returns the wanted texts, sorted and without duplicates.
func collectTexts(s *scenario.Scenario, as func(cluster.Object) (text string, wanted bool)) []string {
	var all []string
	for _, obj := range s.Objects() {
		if text, wanted := as(obj); wanted {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// levelsOf returns the topology levels of the nodes, by their short names if they have one.
func levelsOf(s *scenario.Scenario) []string {
	short := map[string]string{topology.LabelCluster: "cluster", v1.LabelTopologyRegion: "region", v1.LabelTopologyZone: "zone", v1.LabelHostname: "node"}
	levels := topology.Levels(s.Nodes(), s.LevelKeys...)
	for i, level := range levels {
		if short[level] != "" {
			levels[i] = short[level]
		}
	}
	return levels
}

// IsKind reports whether the word names the kind, as kubectl does: flinkdeployment, or flinkdeployments.flink.apache.org.
func IsKind(word, kind string) bool {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	kind = strings.ToLower(kind)
	return word == kind || word == kind+"s"
}
