package check

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// knownNames has the names of all objects that the scenario has at some time.
type knownNames struct {
	// objects has all names. The next two maps have some of them.
	objects map[cluster.Ref]bool
	applied map[cluster.Ref]bool // what the workloads and the steps apply
	unknown map[cluster.Ref]bool // controllers of which the input has only the pods
	owners  map[cluster.Ref]bool // controllers that own objects and are not in the input, such as the Rollout of a ReplicaSet
	pods    []labels.Set         // the labels of pods and of templates of pods
}

// newKnownNames returns the names of the scenario's objects.
func newKnownNames(s *scenario.Scenario) *knownNames {
	n := &knownNames{objects: map[cluster.Ref]bool{}, applied: map[cluster.Ref]bool{}, unknown: map[cluster.Ref]bool{}, owners: map[cluster.Ref]bool{}}
	for _, obj := range s.Objects() {
		n.addObject(obj)
	}
	for _, obj := range s.Workloads {
		n.applied[cluster.RefTo(obj)] = true
	}
	for i := range s.Steps {
		for _, obj := range s.Steps[i].Objects {
			n.applied[cluster.RefTo(obj)] = true
		}
	}
	return n
}

// addPods adds the labels of the target's pods, after a patch has changed them.
func (n *knownNames) addPods(state *cluster.State, target scenario.Target) {
	wanted, err := target.Ref()
	if err != nil {
		return // the problem is reported already
	}
	if obj := cluster.Find(state.Objects(), wanted); obj != nil {
		n.addObject(obj)
	}
}

// addObject adds the object, its controller, and the labels of its pods.
func (n *knownNames) addObject(obj cluster.Object) {
	n.objects[cluster.RefTo(obj)] = true
	if by := metav1.GetControllerOfNoCopy(obj); by != nil {
		n.owners[cluster.Ref{Kind: by.Kind, Namespace: obj.GetNamespace(), Name: by.Name}] = true
	}
	if _, unknown := obj.(*cluster.UnknownOwner); unknown {
		n.unknown[cluster.RefTo(obj)] = true
	}
	if spec, _ := cluster.PodSpec(obj); spec != nil {
		n.pods = append(n.pods, cluster.PodLabels(obj))
	}
}

// mayBeMade reports whether a controller of the scenario may make an object with that name. Reports show such names, and they are the same
// in every run, so a later step can use them.
func (n *knownNames) mayBeMade(wanted cluster.Ref) bool {
	for owner := range n.objects {
		if wanted.Kind != "PersistentVolume" && owner.Namespace != wanted.Namespace {
			continue
		}
		made := false
		switch wanted.Kind {
		case "Pod":
			made = n.unknown[owner] || owner.Kind != "Pod" && slices.Contains(cluster.WorkloadKinds, owner.Kind)
		case "ReplicaSet":
			made = owner.Kind == "Deployment"
		case "Job":
			made = owner.Kind == "CronJob"
		case "PersistentVolumeClaim":
			if owner.Kind == "StatefulSet" && strings.Contains(wanted.Name, "-"+owner.Name+"-") {
				return true
			}
		case "PersistentVolume":
			if strings.HasPrefix(wanted.Name, "pvc-") {
				return true
			}
		}
		if made && strings.HasPrefix(wanted.Name, owner.Name+"-") {
			return true
		}
	}
	return false
}

// isRecreated reports whether a pod with that name is made again once it is deleted: by a StatefulSet, or by an unknown controller, which may
// reuse names.
func (n *knownNames) isRecreated(wanted cluster.Ref) bool {
	for owner := range n.objects {
		if wanted.Kind == "Pod" && (owner.Kind == "StatefulSet" || n.unknown[owner]) && owner.Namespace == wanted.Namespace && strings.HasPrefix(wanted.Name, owner.Name+"-") {
			return true
		}
	}
	return false
}
