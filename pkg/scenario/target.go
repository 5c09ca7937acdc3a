package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// Target names one object.
type Target struct {
	// Target is kind/name as for kubectl, for example deployment/web; short names such as deploy/web are legal. A patch can also change a
	// custom resource of a known operator, for example kafkacluster/main, and in a federation cluster/name or a policy.
	Target string `json:"target"`
	// Namespace is the object's namespace, if its kind has one. Default: default.
	Namespace string `json:"namespace,omitempty"`
}

// Argument returns the target as an argument of kubectl.
func (t Target) Argument() string { return cluster.KubectlArgument(t.Namespace, t.Target) }

// kinds maps every name that kubectl knows for a kind to the kind, for all kinds that a target can name.
var kinds = map[string]string{}

func init() {
	for kind, names := range map[string]string{
		"Node": "node nodes no", "Namespace": "namespace namespaces ns", "Pod": "pod pods po", "Service": "service services svc",
		"ServiceAccount":   "serviceaccount serviceaccounts sa",
		"PersistentVolume": "persistentvolume persistentvolumes pv", "PersistentVolumeClaim": "persistentvolumeclaim persistentvolumeclaims pvc",
		"Deployment": "deployment deployments deploy", "ReplicaSet": "replicaset replicasets rs", "StatefulSet": "statefulset statefulsets sts",
		"DaemonSet": "daemonset daemonsets ds", "Job": "job jobs", "CronJob": "cronjob cronjobs cj",
		"HorizontalPodAutoscaler": "horizontalpodautoscaler horizontalpodautoscalers hpa",
		"PodDisruptionBudget":     "poddisruptionbudget poddisruptionbudgets pdb", "PriorityClass": "priorityclass priorityclasses pc",
		"StorageClass": "storageclass storageclasses sc", "CSINode": "csinode csinodes", "ControllerRevision": "controllerrevision controllerrevisions",
		"ReplicationController": "replicationcontroller replicationcontrollers rc", "LimitRange": "limitrange limitranges limits",
		"ResourceQuota": "resourcequota resourcequotas quota", "RuntimeClass": "runtimeclass runtimeclasses",
		"CSIDriver": "csidriver csidrivers", "CSIStorageCapacity": "csistoragecapacity csistoragecapacities",
		"ResourceClaim": "resourceclaim resourceclaims", "ResourceClaimTemplate": "resourceclaimtemplate resourceclaimtemplates",
		"DeviceClass": "deviceclass deviceclasses", "ResourceSlice": "resourceslice resourceslices",
		"DeviceTaintRule": "devicetaintrule devicetaintrules", "Workload": "workload workloads", "PodGroup": "podgroup podgroups", "CompositePodGroup": "compositepodgroup compositepodgroups",
	} {
		for _, name := range strings.Fields(names) {
			kinds[name] = kind
		}
	}
}

// ParseTarget splits a target such as deploy/web into the kind Deployment and the name web. An object that a member of a federation has by
// itself is named cluster/name: pod/member1/web-0.
func ParseTarget(target string) (kind, name string, err error) {
	word, name, found := strings.Cut(target, "/")
	kind = kinds[strings.ToLower(word)]
	switch {
	case !found || slices.Contains(strings.Split(name, "/"), "") || strings.Count(name, "/") > 1:
		return "", "", fmt.Errorf("%q does not name an object; give kind/name, such as deployment/web", target)
	case kind == "":
		return "", "", unknownKindError(target)
	}
	return kind, name, nil
}

// unknownKindError returns the error for a target whose kind is not known.
func unknownKindError(target string) error {
	return fmt.Errorf("%q has a kind that takes no part in scheduling, or whose template only its operator knows; give an object such as deployment/web or node/worker-1", target)
}

// Ref returns the name of the object.
func (t *Target) Ref() (cluster.Ref, error) {
	kind, name, err := ParseTarget(t.Target)
	if err != nil {
		return cluster.Ref{}, err
	}
	ref := cluster.Ref{Kind: kind, Name: name}
	if cluster.Namespaced(kind) {
		ref.Namespace = cmp.Or(t.Namespace, v1.NamespaceDefault)
	}
	return ref, nil
}

// RefOfKind returns the name of the object, which must have one of the kinds. Without kinds, any kind is legal.
func (t *Target) RefOfKind(kinds ...string) (cluster.Ref, error) {
	if t.Target == "" {
		return cluster.Ref{}, errors.New("is missing; give kind/name, such as deployment/web")
	}
	ref, err := t.Ref()
	if err == nil && len(kinds) > 0 && !slices.Contains(kinds, ref.Kind) {
		err = fmt.Errorf("%q is a %s; name a %s", t.Target, ref.Kind, words.Or(kinds))
	}
	return ref, err
}

// validateTarget reports a target that does not name an object of one of the kinds. If others is true, any other kind is legal, too, since
// only the objects can decide.
func validateTarget(p *Problems, path *field.Path, target Target, others bool, kinds ...string) {
	if _, err := target.RefOfKind(kinds...); err != nil && !(others && isOtherKind(target.Target)) {
		p.Add(path.Child("target"), "%s", err)
	}
}

// ParseWorkload splits kind/name or namespace/kind/name. For kind/name the namespace is empty, which means any. A kind that is not
// Kubernetes' own stays as it is written, since it may be that of a controller of which only the pods are in the input.
func ParseWorkload(text string) (cluster.Ref, error) {
	var ref cluster.Ref
	target := text
	if strings.Count(text, "/") == 2 {
		ref.Namespace, target, _ = strings.Cut(text, "/")
	}
	var err error
	if ref.Kind, ref.Name, err = ParseTarget(target); err != nil && isOtherKind(target) {
		ref.Kind, ref.Name, _ = strings.Cut(target, "/")
		err = nil
	}
	if err != nil || target != text && ref.Namespace == "" {
		return cluster.Ref{}, fmt.Errorf("%q is neither kind/name nor namespace/kind/name; give a name such as statefulset/db", text)
	}
	return ref, nil
}

// MatchesName reports whether the object has a name that ParseWorkload returned.
func MatchesName(object, name cluster.Ref) bool {
	return strings.EqualFold(object.Kind, name.Kind) && object.Name == name.Name && (name.Namespace == "" || object.Namespace == name.Namespace)
}

// NamesResource reports whether the target names a custom resource as kubectl does: nodepool/default, nodepools/default or
// nodepools.karpenter.sh/default. The resource's namespace is empty if its kind has none.
func (t Target) NamesResource(apiVersion, kind, namespace, name string) bool {
	word, asked, found := strings.Cut(t.Target, "/")
	word, group, _ := strings.Cut(strings.ToLower(word), ".")
	ofGroup, _, _ := strings.Cut(apiVersion, "/")
	own := strings.ToLower(kind)
	return found && asked == name && (word == own || word == own+"s" || word == own+"es") && (group == "" || group == ofGroup) &&
		(namespace == "" || namespace == cmp.Or(t.Namespace, v1.NamespaceDefault))
}

// isOtherKind reports whether a target is kind/name with a kind that is not Kubernetes' own. A controller of such a kind may be among the
// objects, if the input has its pods.
func isOtherKind(target string) bool {
	kind, name, _ := strings.Cut(target, "/")
	return kind != "" && name != "" && !strings.Contains(name, "/") && kinds[strings.ToLower(kind)] == ""
}
