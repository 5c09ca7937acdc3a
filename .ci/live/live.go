// Package live tests that a live cluster can be read on a real kube-apiserver, built from Kubernetes' modules. It is a module of its own, so
// that the program's own dependencies stay what the program needs:
//
//	go test -C .ci/live -tags live .
package live
