package apiserver

import (
	_ "unsafe" // for go:linkname

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	_ "k8s.io/apiserver/pkg/storage/storagebackend/factory" // has newETCD3Client

	"github.com/faultline/faultline/cluster/memory"
)

// newETCD3Client is the function with which upstream connects to etcd. Everything that an API server stores goes through a client that this
// function has made, even the allocator of node ports, for which upstream has no other way to replace the client. TestStoresInMemory fails if
// upstream renames the variable. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go.
//
//go:linkname newETCD3Client k8s.io/apiserver/pkg/storage/storagebackend/factory.newETCD3Client
var newETCD3Client func(storagebackend.TransportConfig) (*kubernetes.Client, error)

// storeInMemory makes all API servers of the process keep their objects in the store.
func storeInMemory(store *memory.Store) {
	newETCD3Client = func(storagebackend.TransportConfig) (*kubernetes.Client, error) { return memory.NewClient(store), nil }
	feature.DefaultFeatureSupportChecker = allFeatures{feature.DefaultFeatureSupportChecker}
}

// allFeatures says that the storage has the newer features of etcd, such as progress notifications, for which upstream would ask the version of
// an etcd.
type allFeatures struct{ feature.FeatureSupportChecker }

// Supports reports true.
func (allFeatures) Supports(storage.Feature) bool { return true }

// MarkUnsupported does nothing.
func (allFeatures) MarkUnsupported(storage.Feature) {}
