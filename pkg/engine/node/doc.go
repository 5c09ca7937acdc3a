// Package node cordons, drains, fails and restores nodes, and evicts and ends pods because of their node.
//
// A node that fails is no longer ready (Fail). Reconcile then does what a real cluster would:
//
//	node's conditions ─ node lifecycle controller ──▶ taints                 lifecycle.go, disruption.go
//	taints            ─ taint eviction controller ──▶ pods are Terminating   eviction.go
//	Terminating pods  ─ kubelet, pod collector ─────▶ pods are gone          kubelet.go
//
// The controllers of workloads then replace the pods that are gone; see package controller.
package node
