package topology

import (
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	_ "k8s.io/kubernetes/pkg/features" // defines the gates
)

// declaredFeatures returns the features that a kubelet of this release declares. The scheduler places a pod that needs a feature only on
// nodes that declare it. The kubelet has the process's feature gates, and a container runtime that supports all of them. See
// discoverNodeDeclaredFeatures in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/kubelet_node_declared_features.go.
func declaredFeatures() []string {
	return ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{
		FeatureGates:    gates{utilfeature.DefaultFeatureGate},
		RuntimeFeatures: ndf.RuntimeFeatures{UserNamespacesHostNetwork: true, MountOptions: true},
	})
}

// gates looks up feature gates by their names.
type gates struct{ featuregate.FeatureGate }

func (g gates) Enabled(name string) bool { return g.FeatureGate.Enabled(featuregate.Feature(name)) }
