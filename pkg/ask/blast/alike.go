package blast

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/alike"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// classifyNodes is [classifyNodesOf] for a cluster or for each member of a federation, since a member's objects mention only its own names. Nodes of two
// members never have the same text: pods of a lost node move to other nodes in each.
func classifyNodes(state *cluster.State, config *sched.Config) (func(node string) string, error) {
	if state.Federation == nil {
		return classifyNodesOf(state, config)
	}
	in := map[string]func(string) string{}
	for _, m := range state.Federation.Members {
		var err error
		if in[m.Name], err = classifyNodesOf(m.State, config); err != nil {
			return nil, err
		}
	}
	return func(joined string) string {
		member, name := cluster.SplitName(joined)
		return cluster.JoinName(member, in[member](name))
	}, nil
}

// classifyNodesOf returns a function that maps two nodes to the same text if schedulers and controllers cannot distinguish them: the nodes and their
// pods differ only in names that no other object mentions. What can come of the loss of one node can then, but for these names, come of the
// loss of the other. The order of the nodes still decides ties, as chance does in a real cluster.
func classifyNodesOf(state *cluster.State, config *sched.Config) (func(node string) string, error) {
	if config.Foreign() {
		return func(node string) string { return node }, nil
	}
	encoded, err := config.Encode()
	if err != nil {
		return nil, err
	}
	arguments, err := yaml.YAMLToJSON(encoded)
	if err != nil {
		return nil, err
	}
	var classes alike.PodClasses
	on, single, aged := map[string][]string{}, map[string]bool{}, choosesByAge(state)
	for _, pod := range state.Pods {
		switch of := pod.Spec.NodeName; {
		case isPlainReplica(pod):
			class := classes.Class(pod)
			if !cluster.IsTerminal(pod) {
				on[of] = append(on[of], class+podHistory(pod, aged))
			}
		case !cluster.IsTerminal(pod): // a pod that has ended matters only to Jobs, which know about it once it is gone
			single[of] = true
		}
	}
	names := sync.OnceValue(func() *alike.NodeNames {
		names := alike.NewNodeNames(state.Nodes, v1.LabelHostname)
		names.Mention(string(arguments))
		for look := range classes.Looks() {
			names.Mention(look)
		}
		for _, obj := range state.Objects() {
			pod, isPod := obj.(*v1.Pod)
			switch {
			case isPod && isPlainReplica(pod):
				names.Mention(pod.Status.NominatedNodeName)
			case isPod:
				elsewhere := *pod
				elsewhere.Spec.NodeName = ""
				names.Mention(alike.EncodeJSON(&elsewhere))
			case cluster.KindOf(obj) != "Node":
				names.Mention(alike.EncodeJSON(obj))
			}
		}
		return names
	})
	nodes := state.NodesByName()
	return func(name string) string {
		if single[name] {
			return name
		}
		plain := *nodes[name]
		plain.Annotations, plain.Status.Conditions = nil, nil // nobody reads them, except for whether the node answers
		slices.Sort(on[name])
		return fmt.Sprint(names().Look(&plain), cluster.KubeletResponds(nodes[name]), on[name])
	}, nil
}

// isPlainReplica reports whether the pod can be like others: it belongs to a ReplicaSet or ReplicationController and has no volumes or devices.
// Any other pod has something of its own.
func isPlainReplica(pod *v1.Pod) bool {
	controller := metav1.GetControllerOfNoCopy(pod)
	return controller != nil && (controller.Kind == "ReplicaSet" || controller.Kind == "ReplicationController") &&
		len(pod.Spec.Volumes) == 0 && len(pod.Spec.ResourceClaims) == 0
}

// podHistory describes what happened to a pod since its creation, as far as schedulers and controllers read it.
func podHistory(pod *v1.Pod, aged bool) string {
	text := " " + string(pod.Status.Phase)
	if podutil.IsPodReady(pod) {
		text += " ready"
	}
	if pod.DeletionTimestamp != nil || len(pod.Finalizers) > 0 {
		text += alike.EncodeJSON(&metav1.ObjectMeta{
			DeletionTimestamp: pod.DeletionTimestamp, DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds, Finalizers: pod.Finalizers,
		})
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		text += alike.EncodeJSON(container.Resources) + alike.EncodeJSON(container.AllocatedResources) // a resize in progress
	}
	if aged {
		text += alike.EncodeJSON(pod.CreationTimestamp) + alike.EncodeJSON(pod.Status)
	}
	return text
}

// choosesByAge reports whether anything may choose among pods by age: preemption, or a controller that scales down.
func choosesByAge(state *cluster.State) bool {
	rolling := map[types.UID]bool{}
	for _, set := range state.ReplicaSets {
		if replicas, _ := cluster.Replicas(set); replicas > 0 {
			deployment := metav1.GetControllerOfNoCopy(set)
			if deployment != nil && rolling[deployment.UID] {
				return true
			}
			if deployment != nil {
				rolling[deployment.UID] = true
			}
		}
	}
	return len(state.HorizontalPodAutoscalers) > 0 || alike.CanPreempt(state.Objects())
}
