package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// The kubelet declares the features that its gates allow. These are the features of 1.37.
func TestDeclaredFeatures(t *testing.T) {
	two := 2
	built := func() [][]string {
		nodes, err := Build(Spec{NodeGroups: []NodeGroup{{Count: &two}}})
		if err != nil {
			t.Fatal(err)
		}
		kind, err := AsKind("k", nodes)
		if err != nil {
			t.Fatal(err)
		}
		return [][]string{nodes[1].Status.DeclaredFeatures, kind[0].Status.DeclaredFeatures}
	}
	standard := []string{"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
		"RestartAllContainersOnContainerExits"}
	if diff := cmp.Diff([][]string{standard, standard}, built()); diff != "" {
		t.Errorf("by default (-want +got):\n%s", diff)
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.VolumeBindMountOptions, true)
	more := append(standard[:4:4], "VolumeBindMountOptions")
	if diff := cmp.Diff([][]string{more, more}, built()); diff != "" {
		t.Errorf("with VolumeBindMountOptions (-want +got):\n%s", diff)
	}
}
