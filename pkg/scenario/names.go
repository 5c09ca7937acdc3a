package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
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
		"StorageClass": "storageclass storageclasses sc", "CSINode": "csinode csinodes", "ControllerRevision": "controllerrevision controllerrevisions",
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

// String is the object in a sentence: Deployment "web" in namespace "default".
func (n objectName) String() string {
	if n.namespace == "" {
		return fmt.Sprintf("%s %q", n.kind, n.name)
	}
	return fmt.Sprintf("%s %q in namespace %q", n.kind, n.name, n.namespace)
}

func nameOf(obj cluster.Object) objectName {
	return objectName{KindOf(obj), obj.GetNamespace(), obj.GetName()}
}

func namespaceOr(namespace, kind string) string {
	if clusterScoped[kind] {
		return ""
	}
	return cmp.Or(namespace, v1.NamespaceDefault)
}

// names is everything that the scenario holds at some time, by name.
type names struct {
	objects   map[objectName]bool
	pods      []labels.Set // the labels of pods and of templates of pods
	makesPods bool
}

func newNames(s *Scenario) *names {
	n := &names{objects: map[objectName]bool{}}
	for _, obj := range s.objects() {
		n.add(obj)
	}
	return n
}

func (n *names) add(obj cluster.Object) {
	n.objects[nameOf(obj)] = true
	if spec, _ := PodSpec(obj); spec != nil {
		n.pods = append(n.pods, podLabels(obj))
		n.makesPods = true
	}
}

// mayBeMade tells whether a controller of the scenario may make an object of that name. Such names are on the report and are
// the same in every run, so that a later step can use them.
func (n *names) mayBeMade(wanted objectName) bool {
	for owner := range n.objects {
		if wanted.kind != "PersistentVolume" && owner.namespace != wanted.namespace {
			continue
		}
		made := false
		switch wanted.kind {
		case "Pod":
			made = slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"}, owner.kind)
		case "ReplicaSet":
			made = owner.kind == "Deployment"
		case "Job":
			made = owner.kind == "CronJob"
		case "PersistentVolumeClaim":
			if owner.kind == "StatefulSet" && strings.Contains(wanted.name, "-"+owner.name+"-") {
				return true
			}
		case "PersistentVolume":
			if strings.HasPrefix(wanted.name, "pvc-") {
				return true
			}
		}
		if made && strings.HasPrefix(wanted.name, owner.name+"-") {
			return true
		}
	}
	return false
}

// of lists the objects of the wanted one's kind, those of other namespaces as namespace/name.
func (n *names) of(wanted objectName) string {
	var all []string
	for object := range n.objects {
		switch {
		case object.kind != wanted.kind:
		case object.namespace != wanted.namespace:
			all = append(all, object.namespace+"/"+object.name)
		default:
			all = append(all, object.name)
		}
	}
	return There(wanted.name, all)
}

// There says which names there are.
func There(wanted string, all []string) string {
	switch len(all) {
	case 0:
		return "there is no other"
	case 1:
		return "there is " + all[0]
	}
	return "there are " + enumerate(wanted, all)
}

// enumerate lists names; of many, those that are spelled most like the wanted one.
func enumerate(wanted string, all []string) string {
	const most = 8
	all = slices.Clone(all)
	slices.Sort(all)
	more := len(all) - most
	if more > 0 {
		distance := map[string]int{}
		for _, name := range all {
			distance[name] = levenshtein.Distance(wanted, name, nil)
		}
		slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}
	return strings.Join(all, ", ")
}

// labelHint says which values a label has, or which labels there are instead.
func labelHint(key, what string, sets []labels.Set) string {
	keys, values := map[string]bool{}, map[string]bool{}
	for _, set := range sets {
		for k, v := range set {
			keys[k] = true
			if k == key {
				values[v] = true
			}
		}
	}
	if len(values) == 0 {
		return fmt.Sprintf("no %s has a label %q; %s", what, key, There(key, sortedKeys(keys)))
	}
	if len(values) == 1 {
		return fmt.Sprintf("the one value of %s is %s", key, sortedKeys(values)[0])
	}
	return fmt.Sprintf("the values of %s are %s", key, enumerate("", sortedKeys(values)))
}

// fromControllers tells whether controllers give pods the label.
func fromControllers(key string) bool {
	return slices.Contains([]string{"pod-template-hash", "controller-revision-hash", "pod-template-generation", "job-name", "controller-uid",
		appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel}, key) || strings.HasPrefix(key, "batch.kubernetes.io/")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// KindOf returns the object's kind.
func KindOf(obj cluster.Object) string {
	name := fmt.Sprintf("%T", obj)
	return name[strings.LastIndex(name, ".")+1:]
}

// describe is the object as the errors of manifests have it: Deployment default/web.
func describe(obj cluster.Object) string {
	if obj.GetNamespace() == "" {
		return fmt.Sprintf("%s %s", KindOf(obj), obj.GetName())
	}
	return fmt.Sprintf("%s %s/%s", KindOf(obj), obj.GetNamespace(), obj.GetName())
}

// PodSpec returns the pod specification that the object makes pods from, and where in the object it stands; nil if it makes none.
func PodSpec(obj cluster.Object) (*v1.PodSpec, string) {
	if pod, ok := obj.(*v1.Pod); ok {
		return &pod.Spec, "spec"
	}
	if template, path := podTemplate(obj); template != nil {
		return &template.Spec, path + ".spec"
	}
	return nil, ""
}

// podLabels returns the labels of the pod, or of the pods that the object makes.
func podLabels(obj cluster.Object) labels.Set {
	if pod, ok := obj.(*v1.Pod); ok {
		return pod.Labels
	}
	if template, _ := podTemplate(obj); template != nil {
		return template.Labels
	}
	return nil
}

func podTemplate(obj cluster.Object) (*v1.PodTemplateSpec, string) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template, "spec.template"
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, "spec.template"
	case *appsv1.StatefulSet:
		return &o.Spec.Template, "spec.template"
	case *appsv1.DaemonSet:
		return &o.Spec.Template, "spec.template"
	case *batchv1.Job:
		return &o.Spec.Template, "spec.template"
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, "spec.jobTemplate.spec.template"
	}
	return nil, ""
}
