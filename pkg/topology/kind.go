package topology

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster/constants"

	"github.com/faultline/faultline/pkg/list"
)

// The resources of a node of a kind cluster. In reality each node reports the resources of the whole machine; fixed values make results the
// same on every machine.
const (
	kindCPU              = "8"
	kindMemory           = "16Gi"
	kindPods             = "110"
	kindEphemeralStorage = "100Gi"
)

// controlPlane is the label key and taint key that kubeadm gives control-plane nodes.
const controlPlane = "node-role.kubernetes.io/control-plane"

// FromKind builds the nodes of the cluster that kind would create from a configuration (apiVersion kind.x-k8s.io/v1alpha4), with the names,
// labels and taints that kind, kubeadm and the kubelet give them. Control-plane nodes come first, then workers, both in the order of the
// file. Settings that do not affect how the scheduler sees a node are decoded but not checked. The error lists every problem with its place
// in the configuration.
func FromKind(data []byte) ([]*v1.Node, error) {
	cluster, err := decodeKind(data)
	if err != nil {
		return nil, fmt.Errorf("kind configuration: %w", err)
	}
	nodes, errs := kindNodes(cluster)
	if len(errs) > 0 {
		return nil, fmt.Errorf("kind configuration: %w", errs.ToAggregate())
	}
	return nodes, nil
}

// AsKind returns the nodes of a kind cluster of this name, with a control plane and these workers. The workers keep their labels, taints,
// prices and resources, but get the names that kind gives them.
func AsKind(name string, workers []*v1.Node) ([]*v1.Node, error) {
	cluster := &v1alpha4.Cluster{Name: name, Nodes: []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}}
	for _, worker := range workers {
		labels := maps.Clone(worker.Labels)
		delete(labels, v1.LabelHostname)
		cluster.Nodes = append(cluster.Nodes, v1alpha4.Node{Role: v1alpha4.WorkerRole, Labels: labels})
	}
	nodes, errs := kindNodes(cluster)
	if len(errs) > 0 {
		return nil, fmt.Errorf("kind cluster %s: %w", name, errs.ToAggregate())
	}
	for i, worker := range workers {
		node := nodes[i+1]
		node.Annotations, node.Spec.Taints = worker.Annotations, worker.Spec.Taints
		node.Status.Capacity, node.Status.Allocatable = worker.Status.Capacity, worker.Status.Allocatable
	}
	return nodes, nil
}

// decodeKind decodes and defaults a configuration as kind does; see
// https://github.com/kubernetes-sigs/kind/blob/v0.33.0/pkg/internal/apis/config/encoding/load.go.
func decodeKind(data []byte) (*v1alpha4.Cluster, error) {
	var meta v1alpha4.TypeMeta
	if err := yaml.Unmarshal(data, &meta); err != nil {
		return nil, oneLine(err)
	}
	if meta.APIVersion != "kind.x-k8s.io/v1alpha4" {
		return nil, fmt.Errorf("apiVersion: unknown version %q: use kind.x-k8s.io/v1alpha4", meta.APIVersion)
	}
	if meta.Kind != "Cluster" {
		return nil, fmt.Errorf("kind: unknown kind %q: use Cluster", meta.Kind)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	cluster := &v1alpha4.Cluster{}
	if err := decoder.Decode(cluster); err != nil {
		return nil, oneLine(err)
	}
	v1alpha4.SetDefaultsCluster(cluster)
	cluster.Name = cmp.Or(cluster.Name, constants.DefaultClusterName)
	return cluster, nil
}

// oneLine joins the problems of a YAML file, one per line, into a single line.
func oneLine(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if problems := (*yaml.TypeError)(nil); errors.As(err, &problems) {
		text = strings.Join(problems.Errors, "; ")
	}
	return errors.New(strings.Join(strings.Fields(text), " "))
}

// kindName is the pattern for cluster names from https://github.com/kubernetes-sigs/kind/blob/v0.33.0/pkg/internal/apis/config/validate.go.
var kindName = regexp.MustCompile(`^[a-z0-9.-]+$`)

// kindNodes returns the nodes of the cluster, and all problems of its configuration.
func kindNodes(cluster *v1alpha4.Cluster) ([]*v1.Node, field.ErrorList) {
	var errs field.ErrorList
	if !kindName.MatchString(cluster.Name) {
		errs = append(errs, field.Invalid(field.NewPath("name"), cluster.Name, "cluster names must match "+kindName.String()))
	}
	roles := []v1alpha4.NodeRole{v1alpha4.ControlPlaneRole, v1alpha4.WorkerRole}
	byRole := map[v1alpha4.NodeRole][]*v1.Node{}
	used := map[string]bool{}
	for i := range cluster.Nodes {
		config, path := &cluster.Nodes[i], field.NewPath("nodes").Index(i)
		if !slices.Contains(roles, config.Role) {
			errs = append(errs, field.NotSupported(path.Child("role"), config.Role, roles))
			continue
		}
		nth := len(byRole[config.Role]) + 1
		r, problems := registerNode(cluster, config, nth, path)
		errs = append(errs, problems...)
		r.name = cmp.Or(r.name, containerName(cluster.Name, config.Role, nth))
		if problems := validation.IsDNS1123Subdomain(r.name); len(problems) > 0 {
			errs = append(errs, field.Invalid(path, r.name, "must be a node name: "+strings.Join(problems, "; ")))
		} else if problems := validation.IsValidLabelValue(r.name); len(problems) > 0 {
			errs = append(errs, field.Invalid(path, r.name, "must be a host name: "+strings.Join(problems, "; ")))
		} else if used[r.name] {
			errs = append(errs, field.Duplicate(path, r.name))
		}
		used[r.name] = true
		byRole[config.Role] = append(byRole[config.Role], kindNode(r, config.Role, len(cluster.Nodes) == 1))
	}
	if len(byRole[v1alpha4.ControlPlaneRole]) == 0 {
		errs = append(errs, field.Required(field.NewPath("nodes"), "at least one node must have the role control-plane"))
	}
	return append(byRole[v1alpha4.ControlPlaneRole], byRole[v1alpha4.WorkerRole]...), errs
}

// containerName returns the name of the nth node of a role. kind's load balancer in front of several control planes is not a node of the
// cluster. See https://github.com/kubernetes-sigs/kind/blob/v0.33.0/pkg/cluster/internal/providers/common/namer.go.
func containerName(cluster string, role v1alpha4.NodeRole, nth int) string {
	if nth == 1 {
		return fmt.Sprintf("%s-%s", cluster, role)
	}
	return fmt.Sprintf("%s-%s%d", cluster, role, nth)
}

// kindNode returns the node after kind has created the cluster; single means that it is the only node.
func kindNode(r registration, role v1alpha4.NodeRole, single bool) *v1.Node {
	// The kubelet's own labels, which --node-labels may override; see initialNode in
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/kubelet_node_status.go.
	labels := map[string]string{
		v1.LabelHostname: r.name,
		v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	maps.Copy(labels, r.labels)
	taints := r.kubeletTaints
	if role == v1alpha4.ControlPlaneRole {
		// See https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kubeadm/app/phases/markcontrolplane/markcontrolplane.go.
		labels[controlPlane] = ""
		taints = r.taints
		if taints == nil {
			taints = []v1.Taint{{Key: controlPlane, Effect: v1.TaintEffectNoSchedule}}
		}
		for _, taint := range r.kubeletTaints {
			if !slices.Contains(taints, taint) {
				taints = append(slices.Clip(taints), taint)
			}
		}
		// kind lets pods and load balancers use a single control-plane node; see
		// https://github.com/kubernetes-sigs/kind/blob/v0.33.0/pkg/cluster/internal/create/actions/kubeadminit/init.go.
		if single {
			taints = list.Without(taints, func(taint v1.Taint) bool { return taint.Key == controlPlane })
		} else {
			labels[v1.LabelNodeExcludeBalancers] = ""
		}
	} else if r.kubeletTaints == nil {
		taints = r.taints
	}
	node := newNode(v1.ResourceList{
		v1.ResourceCPU:              resource.MustParse(kindCPU),
		v1.ResourceMemory:           resource.MustParse(kindMemory),
		v1.ResourcePods:             resource.MustParse(kindPods),
		v1.ResourceEphemeralStorage: resource.MustParse(kindEphemeralStorage),
	}, taints)
	node.Name = r.name
	node.Labels = labels
	node.Status.NodeInfo = v1.NodeSystemInfo{OperatingSystem: labels[v1.LabelOSStable], Architecture: labels[v1.LabelArchStable]}
	return node
}
