// Package action has the steps by which a user changes a cluster, and the commands of kubectl that do the same.
package action

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Target names an object in a step.
func Target(ref cluster.Ref) scenario.Target {
	t := scenario.Target{Target: ref.String(), Namespace: ref.Namespace}
	if t.Namespace == v1.NamespaceDefault {
		t.Namespace = ""
	}
	return t
}

// Delete returns the step that deletes objects of a namespace at the same moment.
func Delete(namespace string, targets ...string) scenario.Step {
	if namespace == v1.NamespaceDefault {
		namespace = ""
	}
	return scenario.Step{Delete: &scenario.Delete{Targets: targets, Namespace: namespace, Together: true}}
}

// Merge returns the step that patches an object with a merge patch.
func Merge(target scenario.Target, change map[string]any) scenario.Step {
	raw, err := json.Marshal(change)
	if err != nil {
		panic(err) // this is plain data
	}
	return scenario.Step{Patch: &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: raw}}}
}

// MakeReady returns the step that makes all conditions of a pod true, as its kubelet does once the pod is ready.
func MakeReady(pod *v1.Pod) scenario.Step {
	conditions := list.Map(pod.Status.Conditions, func(condition v1.PodCondition) v1.PodCondition {
		condition.Status = v1.ConditionTrue
		return condition
	})
	return Merge(Target(cluster.RefTo(pod)), map[string]any{"status": map[string]any{"conditions": conditions}})
}

// OutOfService is the taint by which an operator says that a machine is off, so that the pods on it end although no kubelet confirms that.
var OutOfService = v1.Taint{Key: v1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}

// DeclareOff returns the step that gives a node the taint [OutOfService].
func DeclareOff(node *v1.Node) scenario.Step {
	return Merge(Target(cluster.RefTo(node)), map[string]any{"spec": map[string]any{"taints": append(slices.Clip(node.Spec.Taints), OutOfService)}})
}

// Commands returns the steps as commands of kubectl; none if kubectl cannot do one of them.
func Commands(steps []scenario.Step) []string {
	var commands []string
	for i := range steps {
		command := commandOf(&steps[i])
		if command == "" {
			return nil
		}
		commands = append(commands, command)
	}
	return commands
}

func commandOf(step *scenario.Step) string {
	switch {
	case step.Patch != nil && setsStatus(step.Patch):
		return "" // a kubelet does that
	case step.Patch != nil:
		if labels := labelsOf(step.Patch); labels != "" {
			return fmt.Sprintf("kubectl label %s %s --overwrite", strings.Replace(step.Patch.Target.Target, "/", " ", 1), labels)
		}
		return fmt.Sprintf("kubectl patch %s --type=%s -p %s", step.Patch.Argument(), step.Patch.Type, quoteForShell(string(step.Patch.Patch.Raw)))
	case step.Scale != nil:
		return fmt.Sprintf("kubectl scale %s --replicas=%d", step.Scale.Argument(), step.Scale.Replicas)
	case step.Delete != nil:
		return "kubectl delete " + cluster.KubectlArgument(step.Delete.Namespace, strings.Join(step.Delete.Targets, " "))
	case step.Cordon != nil:
		return "kubectl cordon " + strings.Join(step.Cordon.Names, " ")
	case step.Uncordon != nil:
		return "kubectl uncordon " + strings.Join(step.Uncordon.Names, " ")
	case step.Trigger != nil:
		_, name, _ := strings.Cut(step.Trigger.Target.Target, "/")
		return fmt.Sprintf("kubectl create job %s --from=%s", cluster.KubectlArgument(step.Trigger.Namespace, name+"-again"), step.Trigger.Target.Target)
	case step.Apply != nil:
		return "kubectl create -f - <<< " + quoteForShell(string(step.Apply.Objects[0].Raw))
	}
	return ""
}

// labelsOf returns the labels that a patch of a node or a volume sets, as arguments of kubectl label.
func labelsOf(patch *scenario.Patch) string {
	var sets struct {
		Metadata struct{ Labels map[string]string }
	}
	if patch.Type != "merge" || json.Unmarshal(patch.Patch.Raw, &sets) != nil {
		return ""
	}
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(sets.Metadata.Labels)) {
		labels = append(labels, key+"="+sets.Metadata.Labels[key])
	}
	return strings.Join(labels, " ")
}

// setsStatus reports whether a patch sets a status, as that of a node.
func setsStatus(patch *scenario.Patch) bool {
	var sets struct{ Status map[string]any }
	return json.Unmarshal(patch.Patch.Raw, &sets) == nil && len(sets.Status) > 0
}

// quoteForShell returns the argument, quoted for a shell.
func quoteForShell(argument string) string {
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
