package cluster

import "k8s.io/kubernetes/pkg/capabilities"

// Validation asks the process whether containers may be privileged, which kube-apiserver sets from its flags:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kube-apiserver/app/server.go. The flag defaults to false, but kubeadm, and so
// kind, and every managed Kubernetes set --allow-privileged: kube-proxy and network plugins need it.
func init() { capabilities.Setup(true, 0) }
