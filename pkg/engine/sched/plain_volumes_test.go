package sched

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

const ebs = "ebs.csi.aws.com"

// withVolume returns a claim and its volume of the driver.
func withVolume(name string) []cluster.Object {
	claim := claim(name)
	claim.Spec.VolumeName, claim.Status.Phase = "pv-"+name, v1.ClaimBound
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: v1.PersistentVolumeSpec{
		StorageClassName: "class", AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
		ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: name, UID: claim.UID},
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: ebs, VolumeHandle: name}},
	}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}}
	return []cluster.Object{claim, volume}
}

// limiting returns a CSINode on which the driver may have count volumes, and another driver nine.
func limiting(node string, count int32) *storagev1.CSINode {
	nine := int32(9)
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "other", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &nine}},
		{Name: ebs, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
	}}}
}

// The one node takes two volumes. A pod with the claim "new" comes after the pods that run there, and the kept answer equals upstream's.
func TestPlainVolumeLimits(t *testing.T) {
	standard, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	inlined := func(name string) *v1.Pod {
		pod := running(pod(name, "100m", 0), "n1")
		pod.Spec.Volumes = []v1.Volume{{Name: "disk", VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: name}}}}
		return pod
	}
	ephemeral := func(name string) *v1.Pod {
		pod := running(pod(name, "100m", 0), "n1")
		pod.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
		return pod
	}
	runs := func(name string, claimed ...string) *v1.Pod {
		return claims(running(pod(name, "100m", 0), "n1"), claimed...)
	}
	prevents := true
	demanding := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: ebs}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &prevents}}
	for name, c := range map[string]struct {
		there []cluster.Object
		wants []string // claims of the new pod; nil: new
		fits  bool
	}{
		"none there":                         {nil, nil, true},
		"one there":                          {[]cluster.Object{runs("a", "a")}, nil, true},
		"two there":                          {[]cluster.Object{runs("a", "a"), runs("b", "b")}, nil, false},
		"two pods with one claim":            {[]cluster.Object{runs("a", "a"), runs("b", "a")}, nil, true},
		"two there, and the claim is theirs": {[]cluster.Object{runs("a", "a", "new"), runs("b", "a")}, nil, true},
		"two wanted":                         {nil, []string{"new", "b"}, true},
		"three wanted":                       {nil, []string{"new", "b", "a"}, false},
		"a claim that is not there":          {nil, []string{"new", "gone"}, false},
		"a volume in the pod itself there":   {[]cluster.Object{inlined("i"), inlined("j")}, nil, false},
		"an ephemeral volume without claim":  {[]cluster.Object{ephemeral("e"), ephemeral("f")}, nil, true},
		"no limits":                          {[]cluster.Object{runs("a", "a"), runs("b", "b"), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}, nil, true},
		"a driver that must be there, is":    {[]cluster.Object{demanding}, nil, true},
		"a driver that must be there, is not": {[]cluster.Object{demanding, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}, nil,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			objs := []cluster.Object{nodeInZone("z1", "n1"), class(ebs), limiting("n1", 2)}
			for _, name := range []string{"a", "b", "new"} {
				objs = append(objs, withVolume(name)...)
			}
			wants := c.wants
			if wants == nil {
				wants = []string{"new"}
			}
			// The second of them is asked with what the first has left.
			next := claims(pod("next", "100m", 0), "new")
			found := placeBothWays(t, standard, withObjects(append(objs, c.there...)...), withObjects(claims(pod("first", "100m", 0), wants...)), withObjects(next))
			if got := found["first"] == "n1"; got != c.fits {
				t.Errorf("the pod has node %q, want one: %t", found, c.fits)
			}
		})
	}
	// Pods that want different numbers of volumes, one after the other.
	turns := []stateStep{withObjects(nodeInZone("z1", "n1"), class(ebs), limiting("n1", 2)),
		withObjects(withVolume("a")...), withObjects(withVolume("b")...), withObjects(withVolume("new")...)}
	for i, wants := range [][]string{{"new"}, {"new", "a", "b"}, {"new"}} {
		turns = append(turns, withObjects(claims(pod(fmt.Sprint("p", i), "100m", 0), wants...)))
	}
	if found := placeBothWays(t, standard, turns...); found["p0"] != "n1" || found["p1"] != "pending " || found["p2"] != "n1" {
		t.Errorf("have %q, want only the pod with three volumes Pending", found)
	}
	// A limit that falls while pods wait.
	moments := []stateStep{withObjects(nodeInZone("z1", "n1"), class(ebs), limiting("n1", 2)), withObjects(withVolume("new")...)}
	for i := range 4 {
		name := fmt.Sprint("p", i)
		moments = append(moments, withObjects(append(withVolume(name), claims(pod(name, "100m", 0), name))...))
	}
	moments = append(moments, withObjects(limiting("n1", 3)), withObjects(limiting("n1", 1)), withObjects(claims(pod("last", "100m", 0), "new")))
	want := map[string]string{"p0": "n1", "p1": "n1", "p2": "n1", "p3": "pending ", "last": "pending "}
	for name, node := range placeBothWays(t, standard, moments...) {
		if node != want[name] {
			t.Errorf("%s has node %q, want %q", name, node, want[name])
		}
	}
}

// Which nodes reach bound volumes is asked once. It changes with the node, with the volume, and with the other claims of the pod.
func TestPlainVolumeReach(t *testing.T) {
	standard, err := DefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	inZone := func(name, in string, differs ...func(*v1.PersistentVolume)) []cluster.Object {
		objs := withVolume(name)
		pv := objs[1].(*v1.PersistentVolume)
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{in}}}}}}}
		for _, differ := range differs {
			differ(pv)
		}
		return objs
	}
	inTree := func(pv *v1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: pv.Name}}
	}
	wants := func(name string, claimed ...string) stateStep {
		return withObjects(claims(pod(name, "100m", 0), claimed...))
	}
	for name, c := range map[string]struct {
		moments []stateStep // after a pod with a volume in z1 and one with a volume in z2
		want    string      // the node of the pod p, or why it has none
	}{
		"the same zone":                       {[]stateStep{withObjects(inZone("c", "z2")...), wants("p", "c")}, "n2"},
		"a zone without a node":               {[]stateStep{withObjects(inZone("c", "z3")...), wants("p", "c")}, "pending "},
		"volumes in two zones":                {[]stateStep{wants("p", "a", "b")}, "pending "},
		"a node that changes zones":           {[]stateStep{withObjects(nodeInZone("z2", "n1"), nodeInZone("z1", "n2")), wants("p", "a")}, "n2"},
		"a volume that changes":               {[]stateStep{withObjects(inZone("a", "z2")...), wants("p", "a")}, "n2"},
		"a volume that is gone":               {[]stateStep{withoutObjects(inZone("a", "z1")[1]), wants("p", "a")}, "pending "},
		"a claim beside it that is not bound": {[]stateStep{withObjects(claim("new")), wants("p", "b", "new")}, "n2"},
		"a volume in the tree":                {[]stateStep{withObjects(inZone("c", "z2", inTree)...), wants("p", "c")}, "n2"},
	} {
		t.Run(name, func(t *testing.T) {
			moments := append([]stateStep{
				withObjects(nodeInZone("z1", "n1"), nodeInZone("z2", "n2"), class(ebs)), withObjects(inZone("a", "z1")...), withObjects(inZone("b", "z2")...),
				wants("first", "a"), wants("second", "b"),
			}, c.moments...)
			if got := placeBothWays(t, standard, moments...)["p"]; got != c.want {
				t.Errorf("the pod has node %q, want %q", got, c.want)
			}
		})
	}
}
