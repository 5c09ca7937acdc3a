package cluster

import "k8s.io/kubernetes/pkg/capabilities"

// Upstream's validation reads from a global variable whether containers may be privileged. kube-apiserver sets it from a flag:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kube-apiserver/app/server.go. The flag defaults to false, but kubeadm, kind and
// every managed Kubernetes set --allow-privileged, because kube-proxy and network plugins need it.
func init() { capabilities.Setup(true, 0) }

// APIServer is how the API server is run.
type APIServer struct {
	// Plugins are the admission plugins that are on, although they are off by default.
	Plugins []string
	// User makes the requests that no controller makes; "" is kubectl's user in a cluster of kubeadm.
	User string
}
