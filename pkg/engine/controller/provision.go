package controller

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/faultline/faultline/pkg/topology"
)

// VolumeTopologyAnnotation on a StorageClass says which nodes reach a volume that the class provisions: "zone" is the zone of the node for
// which the volume was provisioned, "node" that node alone, "none" all nodes. Without the annotation the provisioner's name decides. An
// unknown provisioner makes zonal volumes, as cloud disks are.
const VolumeTopologyAnnotation = "faultline.dev/volume-topology"

const (
	TopologyZone = "zone"
	TopologyNode = "node"
	TopologyNone = "none"
)

// provisionerTopology says which nodes reach the volumes of well-known provisioners. Other provisioners are zonal.
var provisionerTopology = map[string]string{
	"rancher.io/local-path":         TopologyNode,
	"docker.io/hostpath":            TopologyNode,
	"k8s.io/minikube-hostpath":      TopologyNode,
	"microk8s.io/hostpath":          TopologyNode,
	"hostpath.csi.k8s.io":           TopologyNode,
	"openebs.io/local":              TopologyNode,
	"local.csi.openebs.io":          TopologyNode,
	"topolvm.io":                    TopologyNode,
	"directpv-min-io":               TopologyNode,
	"efs.csi.aws.com":               TopologyNone,
	"fsx.csi.aws.com":               TopologyNone,
	"file.csi.azure.com":            TopologyNone,
	"filestore.csi.storage.gke.io":  TopologyNone,
	"nfs.csi.k8s.io":                TopologyNone,
	"smb.csi.k8s.io":                TopologyNone,
	"driver.longhorn.io":            TopologyNone,
	"rook-ceph.rbd.csi.ceph.com":    TopologyNone,
	"rook-ceph.cephfs.csi.ceph.com": TopologyNone,
	"rbd.csi.ceph.com":              TopologyNone,
	"cephfs.csi.ceph.com":           TopologyNone,
}

// Provision returns the volume that the class provides for the claim, and the claim, bound to each other. The node is the one that the
// scheduler has selected. It is nil if the volume is provisioned before it has a consumer: then only the first of the allowedTopologies
// restricts the volume. The volume's name is pvc-<UID of the claim>, as external provisioners name it. The volume lacks UID and creation
// time.
func Provision(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node *v1.Node) (*v1.PersistentVolume, *v1.PersistentVolumeClaim) {
	name := "pvc-" + string(claim.UID)
	reclaim, mode := v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeFilesystem
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	if claim.Spec.VolumeMode != nil {
		mode = *claim.Spec.VolumeMode
	}
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{volume.AnnDynamicallyProvisioned: class.Provisioner},
		},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			VolumeMode:                    &mode,
			MountOptions:                  class.MountOptions,
			NodeAffinity:                  volumeAffinity(class, node),
			ClaimRef: &v1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: name},
			},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
	}
	if VolumeTopology(class) == TopologyNode {
		pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/" + name}}
	}
	return pv, boundClaim(claim, pv)
}

// VolumeTopology returns which nodes reach the volumes of the class: TopologyZone, TopologyNode or TopologyNone.
func VolumeTopology(class *storagev1.StorageClass) string {
	if topology, ok := class.Annotations[VolumeTopologyAnnotation]; ok {
		return topology
	}
	if topology, ok := provisionerTopology[class.Provisioner]; ok {
		return topology
	}
	return TopologyZone
}

// topologyKnown reports whether the class or its provisioner says which nodes reach a volume.
func topologyKnown(class *storagev1.StorageClass) bool {
	_, annotated := class.Annotations[VolumeTopologyAnnotation]
	_, known := provisionerTopology[class.Provisioner]
	return annotated || known || len(class.AllowedTopologies) > 0
}

// volumeAffinity returns the affinity to the nodes that reach a volume of the class that was provisioned for the node; nil for all nodes.
func volumeAffinity(class *storagev1.StorageClass, node *v1.Node) *v1.VolumeNodeAffinity {
	var requirements []v1.NodeSelectorRequirement
	require := func(key, value string) {
		requirements = append(requirements, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
	}
	switch reach := VolumeTopology(class); {
	case len(class.AllowedTopologies) > 0 && reach != TopologyNode:
		for _, expression := range allowedTerm(class, node).MatchLabelExpressions {
			value := expression.Values[0]
			if node != nil {
				value = node.Labels[expression.Key]
			}
			require(expression.Key, value)
		}
	case node == nil || reach == TopologyNone:
	case reach == TopologyNode:
		if host, ok := node.Labels[v1.LabelHostname]; ok {
			require(v1.LabelHostname, host)
		}
	default:
		key := topology.ZoneKey([]*v1.Node{node})
		if zone, ok := node.Labels[key]; ok {
			require(key, zone)
		}
	}
	return requiredAffinity(requirements)
}

// requiredAffinity returns the affinity to nodes that meet all requirements; nil without any.
func requiredAffinity(requirements []v1.NodeSelectorRequirement) *v1.VolumeNodeAffinity {
	if len(requirements) == 0 {
		return nil
	}
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: requirements}}}}
}

// allowedTerm returns the first of the allowed topologies that the node belongs to or, without a node, the first.
func allowedTerm(class *storagev1.StorageClass, node *v1.Node) v1.TopologySelectorTerm {
	for _, term := range class.AllowedTopologies {
		if node == nil || !slices.ContainsFunc(term.MatchLabelExpressions, func(e v1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(e.Values, node.Labels[e.Key])
		}) {
			return term
		}
	}
	return v1.TopologySelectorTerm{}
}
