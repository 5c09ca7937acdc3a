package scenario

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
)

// kinds are the kinds that a target can name, by every name that kubectl knows them by.
var kinds = map[string]string{}

// clusterScoped are the kinds without a namespace.
var clusterScoped = map[string]bool{"Node": true, "Namespace": true, "PersistentVolume": true, "PriorityClass": true, "StorageClass": true, "CSINode": true}

func init() {
	for kind, names := range map[string]string{
		"Node": "node nodes no", "Namespace": "namespace namespaces ns", "Pod": "pod pods po", "Service": "service services svc",
		"PersistentVolume": "persistentvolume persistentvolumes pv", "PersistentVolumeClaim": "persistentvolumeclaim persistentvolumeclaims pvc",
		"Deployment": "deployment deployments deploy", "ReplicaSet": "replicaset replicasets rs", "StatefulSet": "statefulset statefulsets sts",
		"DaemonSet": "daemonset daemonsets ds", "Job": "job jobs", "CronJob": "cronjob cronjobs cj",
		"HorizontalPodAutoscaler": "horizontalpodautoscaler horizontalpodautoscalers hpa",
		"PodDisruptionBudget":     "poddisruptionbudget poddisruptionbudgets pdb", "PriorityClass": "priorityclass priorityclasses pc",
		"StorageClass": "storageclass storageclasses sc", "CSINode": "csinode csinodes",
	} {
		for _, name := range strings.Fields(names) {
			kinds[name] = kind
		}
	}
}

// ParseTarget splits a target such as deploy/web into the kind Deployment and the name web.
func ParseTarget(target string) (kind, name string, err error) {
	word, name, found := strings.Cut(target, "/")
	kind = kinds[strings.ToLower(word)]
	switch {
	case !found || name == "" || strings.Contains(name, "/"):
		return "", "", fmt.Errorf("%q does not name an object; give kind/name, for example deployment/web", target)
	case kind == "":
		return "", "", fmt.Errorf("%q is of no kind that takes part in scheduling; give for example deployment/web or node/worker-1", target)
	}
	return kind, name, nil
}

type objectName struct{ kind, namespace, name string }

// names is everything that the scenario holds at some time, by name.
type names struct {
	objects map[objectName]bool
	nodes   map[string]bool
	labels  []labels.Set // of the nodes
	pods    bool         // whether anything makes a pod
}

func newNames(s *Scenario) *names {
	n := &names{objects: map[objectName]bool{}, nodes: map[string]bool{}}
	for _, obj := range s.objects() {
		n.objects[objectName{KindOf(obj), obj.GetNamespace(), obj.GetName()}] = true
		if node, ok := obj.(*v1.Node); ok {
			n.nodes[node.Name] = true
			n.labels = append(n.labels, node.Labels)
		}
		if spec, _ := podSpec(obj); spec != nil {
			n.pods = true
		}
	}
	return n
}

// claims tells whether the object's pods can have the claim: it is given, or the object is a pod whose StatefulSet makes it.
func (n *names) claims(claim string, obj cluster.Object) bool {
	if n.objects[objectName{"PersistentVolumeClaim", obj.GetNamespace(), claim}] {
		return true
	}
	for _, owner := range obj.GetOwnerReferences() {
		if owner.Kind == "StatefulSet" && strings.HasSuffix(claim, "-"+obj.GetName()) {
			return true
		}
	}
	return false
}

// of lists the names of a kind, shortened.
func (n *names) of(kind string) string {
	var all []string
	for object := range n.objects {
		if object.kind == kind {
			all = append(all, object.name)
		}
	}
	return enumerate(all)
}

// keys lists the nodes' label keys.
func (n *names) keys() string {
	var all []string
	for _, set := range n.labels {
		for key := range set {
			if !slices.Contains(all, key) {
				all = append(all, key)
			}
		}
	}
	return enumerate(all)
}

func enumerate(all []string) string {
	const most = 8
	slices.Sort(all)
	switch {
	case len(all) == 0:
		return "none"
	case len(all) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}

// KindOf returns the object's kind.
func KindOf(obj cluster.Object) string {
	name := fmt.Sprintf("%T", obj)
	return name[strings.LastIndex(name, ".")+1:]
}

func describe(obj cluster.Object) string {
	if obj.GetNamespace() == "" {
		return fmt.Sprintf("%s %s", KindOf(obj), obj.GetName())
	}
	return fmt.Sprintf("%s %s/%s", KindOf(obj), obj.GetNamespace(), obj.GetName())
}

// podSpec returns the pod specification that the object makes pods from, and where in the object it stands; nil if it makes none.
func podSpec(obj cluster.Object) (*v1.PodSpec, string) {
	switch o := obj.(type) {
	case *v1.Pod:
		return &o.Spec, "spec"
	case *appsv1.Deployment:
		return &o.Spec.Template.Spec, "spec.template.spec"
	case *appsv1.ReplicaSet:
		return &o.Spec.Template.Spec, "spec.template.spec"
	case *appsv1.StatefulSet:
		return &o.Spec.Template.Spec, "spec.template.spec"
	case *appsv1.DaemonSet:
		return &o.Spec.Template.Spec, "spec.template.spec"
	case *batchv1.Job:
		return &o.Spec.Template.Spec, "spec.template.spec"
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template.Spec, "spec.jobTemplate.spec.template.spec"
	}
	return nil, ""
}
