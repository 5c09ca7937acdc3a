package controller

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

func storageClass(name, more string) string {
	return fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %s, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
%s`, name, more)
}

func claim(name, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}%s}
`, name, more)
}

func staticVolume(name, size, modes, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: %s}, accessModes: [%s], hostPath: {path: /x}, storageClassName: ""%s}
`, name, size, modes, more)
}

func TestClaimTakesTheSmallestVolumeThatFits(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(strings.Join([]string{
		staticVolume("small", "1Gi", "ReadWriteOnce", ""),
		staticVolume("large", "9Gi", "ReadWriteOnce", ""),
		staticVolume("shared", "2Gi", "ReadWriteOnce, ReadWriteMany", ""), // more modes: only when no other is left
		staticVolume("fits", "3Gi", "ReadWriteOnce", ""),
		claim("a", `, storageClassName: ""`), claim("b", `, storageClassName: ""`),
		claim("c", `, storageClassName: ""`), claim("d", `, storageClassName: ""`),
	}, "---"))
	bound := map[string]string{}
	for _, claim := range w.state.PersistentVolumeClaims {
		bound[claim.Name] = claim.Spec.VolumeName + " " + string(claim.Status.Phase)
	}
	w.check("bound", bound, map[string]string{"a": "fits Bound", "b": "large Bound", "c": "shared Bound", "d": " Pending"})
}

func TestReclaim(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(strings.Join([]string{
		storageClass("fast", "provisioner: ebs.csi.aws.com\n"),
		claim("dynamic", ""),
		staticVolume("static", "2Gi", "ReadWriteOnce", ""), claim("static", `, storageClassName: ""`),
	}, "---"))
	phases := func() string {
		var all []string
		for _, pv := range w.state.PersistentVolumes {
			all = append(all, string(pv.Spec.PersistentVolumeReclaimPolicy)+" "+string(pv.Status.Phase))
		}
		return strings.Join(all, ", ")
	}
	w.check("bound", phases(), "Retain Bound, Delete Bound")
	w.check("name", w.state.PersistentVolumes[1].Name, "pvc-"+string(w.state.PersistentVolumeClaims[0].UID))
	w.state = admission.Delete(w.state, w.state.PersistentVolumeClaims[0], w.state.PersistentVolumeClaims[1])
	w.settle()
	w.check("released", phases(), "Retain Released")
}

func TestClaimThatWaitsForItsFirstConsumer(t *testing.T) {
	w := newWorld(t, 2, placeAnywhere)
	w.apply(storageClass("fast", "provisioner: ebs.csi.aws.com\nvolumeBindingMode: WaitForFirstConsumer\n") + "---" + claim("data", ""))
	waiting := w.state.PersistentVolumeClaims[0]
	w.check("before", []any{*waiting.Spec.StorageClassName, waiting.Status.Phase}, []any{"fast", v1.ClaimPending})

	selected := waiting.DeepCopy()
	metav1.SetMetaDataAnnotation(&selected.ObjectMeta, "volume.kubernetes.io/selected-node", "n2")
	w.state = w.state.With(selected)
	w.settle()
	w.check("after", w.state.PersistentVolumeClaims[0].Status.Phase, v1.ClaimBound)
	w.check("zone", affinityOf(w.state.PersistentVolumes[0]), "topology.kubernetes.io/zone=z2")
}

func TestBindVolume(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.admit(decode(t, staticVolume("disk", "5Gi", "ReadWriteOnce, ReadOnlyMany", "")+"---"+claim("data", `, storageClassName: ""`))...)
	given, pvc := w.state.PersistentVolumes[0], w.state.PersistentVolumeClaims[0]
	reserved := given.DeepCopy() // as the scheduler reserves it
	reserved.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: pvc.Namespace, Name: pvc.Name, UID: pvc.UID}
	volume, bound := BindVolume(reserved, pvc)
	w.check("volume", []any{volume.Status.Phase, volume.Spec.ClaimRef.UID}, []any{v1.VolumeBound, pvc.UID})
	storage := bound.Status.Capacity[v1.ResourceStorage]
	w.check("claim", []any{bound.Spec.VolumeName, bound.Status.Phase, storage.String(), bound.Status.AccessModes},
		[]any{"disk", v1.ClaimBound, "5Gi", []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany}})
	w.check("annotations", bound.Annotations, map[string]string{"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"})
	w.check("what was given stays", []any{reserved.Status.Phase, pvc.Spec.VolumeName, len(pvc.Annotations)}, []any{given.Status.Phase, "", 0})
	w.state = w.state.With(volume, bound)
	w.settle()
	w.check("the controller has nothing to add", []any{w.state.PersistentVolumes[0], w.state.PersistentVolumeClaims[0]}, []any{volume, bound})
}

func affinityOf(pv *v1.PersistentVolume) string {
	if pv.Spec.NodeAffinity == nil {
		return ""
	}
	var all []string
	for _, e := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions {
		all = append(all, e.Key+"="+strings.Join(e.Values, "|"))
	}
	return strings.Join(all, ",")
}

func TestProvisionTopology(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{v1.LabelHostname: "h1", v1.LabelTopologyZone: "z1"}}}
	allowed := []v1.TopologySelectorTerm{
		{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{"z2", "z1"}}}},
	}
	tests := []struct {
		name, provisioner, annotation string
		allowed                       []v1.TopologySelectorTerm
		node                          *v1.Node
		want                          string
	}{
		{"a cloud disk", "ebs.csi.aws.com", "", nil, node, "topology.kubernetes.io/zone=z1"},
		{"a cloud disk without consumer", "ebs.csi.aws.com", "", nil, nil, ""},
		{"a node without zone", "ebs.csi.aws.com", "", nil, &v1.Node{}, ""},
		{"a local disk", "rancher.io/local-path", "", nil, node, "kubernetes.io/hostname=h1"},
		{"a shared file system", "efs.csi.aws.com", "", nil, node, ""},
		{"annotated node", "ebs.csi.aws.com", "node", nil, node, "kubernetes.io/hostname=h1"},
		{"annotated none", "ebs.csi.aws.com", "none", nil, node, ""},
		{"annotated zone", "rancher.io/local-path", "zone", nil, node, "topology.kubernetes.io/zone=z1"},
		{"allowed, of the node", "ebs.csi.aws.com", "", allowed, node, "topology.kubernetes.io/zone=z1"},
		{"allowed, the first", "ebs.csi.aws.com", "", allowed, nil, "topology.kubernetes.io/zone=z2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := &storagev1.StorageClass{Provisioner: test.provisioner, AllowedTopologies: test.allowed}
			if test.annotation != "" {
				class.Annotations = map[string]string{VolumeTopologyAnnotation: test.annotation}
			}
			pv, pvc := Provision(&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", UID: "u"}}, class, test.node)
			if got := affinityOf(pv); got != test.want {
				t.Errorf("affinity %q, want %q", got, test.want)
			}
			if pvc.Spec.VolumeName != pv.Name || pv.Spec.ClaimRef.UID != pvc.UID {
				t.Errorf("volume %s and claim %s do not name each other", pv.Name, pvc.Name)
			}
		})
	}
}

// TestDeletedClaimGoesWithItsPods has two claims that are being deleted. The pod with a node keeps the one; the pod without a node does not keep the other.
func TestDeletedClaimGoesWithItsPods(t *testing.T) {
	deleted := func(name, pod, node string) string {
		return strings.Replace(claim(name, `, storageClassName: ""`), "{name: "+name+"}", "{name: "+name+`, resourceVersion: "1", deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0, finalizers: [kubernetes.io/pvc-protection]}`, 1) +
			fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {%scontainers: [{name: c, image: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}]}\n", pod, node, name)
	}
	w := newWorld(t, 1, func(*cluster.State, *v1.Pod) string { return "" })
	w.apply(strings.Join([]string{deleted("kept", "runs", "nodeName: n1, "), deleted("gone", "waits", "")}, "---"))
	var left []string
	for _, claim := range w.state.PersistentVolumeClaims {
		left = append(left, claim.Name)
	}
	w.check("claims", left, []string{"kept"})
}

// TestReleasedVolumeOfTheSameName has a volume that an earlier claim of the same name has released, which no claim gets, and one that is free.
func TestReleasedVolumeOfTheSameName(t *testing.T) {
	w := newWorld(t, 1, placeAnywhere)
	w.apply(strings.Join([]string{
		staticVolume("free", "3Gi", "ReadWriteOnce", ""),
		staticVolume("released", "2Gi", "ReadWriteOnce", ", claimRef: {namespace: default, name: a, uid: earlier}"),
		claim("a", `, storageClassName: ""`),
	}, "---"))
	w.check("volume", w.state.PersistentVolumeClaims[0].Spec.VolumeName, "free")
}
