// Package node does what happens to nodes, and to pods because of their node: nodes are cordoned, drained, lost and restored, and pods
// leave them.
//
// A node that fails is no longer ready (Fail). Reconcile then does what a real cluster would:
//
//	node's conditions ─ node lifecycle controller ──▶ taints                 lifecycle.go, disruption.go
//	taints            ─ taint eviction controller ──▶ pods are Terminating   eviction.go
//	Terminating pods  ─ kubelet, pod collector ─────▶ pods are gone          kubelet.go
//
// The controllers of workloads see the pods that are gone, and make others; see package controller.
package node
