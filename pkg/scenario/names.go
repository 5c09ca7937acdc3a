package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
)

// kinds are the kinds that a target can name, by every name that kubectl knows them by.
var kinds = map[string]string{}

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

func namespaceOr(namespace, kind string) string {
	if !cluster.Namespaced(kind) {
		return ""
	}
	return cmp.Or(namespace, v1.NamespaceDefault)
}

// names is everything that the scenario holds at some time, by name.
type names struct {
	objects   map[cluster.Ref]bool
	pods      []labels.Set // the labels of pods and of templates of pods
	makesPods bool
}

func newNames(s *Scenario) *names {
	n := &names{objects: map[cluster.Ref]bool{}}
	for _, obj := range s.objects() {
		n.add(obj)
	}
	return n
}

func (n *names) add(obj cluster.Object) {
	n.objects[cluster.RefTo(obj)] = true
	if spec, _ := cluster.PodSpec(obj); spec != nil {
		n.pods = append(n.pods, cluster.PodLabels(obj))
		n.makesPods = true
	}
}

// mayBeMade tells whether a controller of the scenario may make an object of that name. Such names are on the report and are
// the same in every run, so that a later step can use them.
func (n *names) mayBeMade(wanted cluster.Ref) bool {
	for owner := range n.objects {
		if wanted.Kind != "PersistentVolume" && owner.Namespace != wanted.Namespace {
			continue
		}
		made := false
		switch wanted.Kind {
		case "Pod":
			made = slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"}, owner.Kind)
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

// of lists the objects of the wanted one's kind, those of other namespaces as namespace/name.
func (n *names) of(wanted cluster.Ref) string {
	var all []string
	for object := range n.objects {
		switch {
		case object.Kind != wanted.Kind:
		case object.Namespace != wanted.Namespace:
			all = append(all, object.Namespace+"/"+object.Name)
		default:
			all = append(all, object.Name)
		}
	}
	return There(wanted.Name, all)
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
