package cluster

import "k8s.io/kubernetes/pkg/capabilities"

// The validation of objects asks the process whether containers may be privileged, as kube-apiserver sets it from its flags:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kube-apiserver/app/server.go. The flag's default is false, but kubeadm, and
// with it kind, and every managed Kubernetes sets --allow-privileged: without it neither kube-proxy nor a network plugin runs.
func init() { capabilities.Setup(true, 0) }
