package sched

import (
	"cmp"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// sortCapacities gives the factory a CSIStorageCapacity lister that lists by name. Upstream takes the first capacity with room for a claim,
// but its own lister uses random map order.
func sortCapacities(factory informers.SharedInformerFactory) {
	factory.InformerFor(&storagev1.CSIStorageCapacity{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		informer := cache.NewSharedIndexInformer(nil, &storagev1.CSIStorageCapacity{}, 0, cache.Indexers{})
		return capacityInformer{informer, &capacityIndexer{Indexer: informer.GetIndexer()}}
	})
}

type capacityInformer struct {
	cache.SharedIndexInformer
	indexer *capacityIndexer
}

func (i capacityInformer) GetIndexer() cache.Indexer { return i.indexer }

// capacityIndexer caches its list until something changes, because upstream lists all capacities for each node.
type capacityIndexer struct {
	cache.Indexer
	listed []any
}

func (i *capacityIndexer) List() []any {
	if i.listed == nil {
		i.listed = i.Indexer.List()
		slices.SortFunc(i.listed, func(a, b any) int {
			x, y := a.(*storagev1.CSIStorageCapacity), b.(*storagev1.CSIStorageCapacity)
			return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
		})
		for n, obj := range i.listed {
			// Upstream's Score assumes that Capacity is not nil.
			if given := obj.(*storagev1.CSIStorageCapacity); given.Capacity == nil && given.MaximumVolumeSize != nil {
				complete := *given
				complete.Capacity = given.MaximumVolumeSize
				i.listed[n] = &complete
			}
		}
	}
	return i.listed
}

func (i *capacityIndexer) Update(obj any) error {
	i.listed = nil
	return i.Indexer.Update(obj)
}

func (i *capacityIndexer) Delete(obj any) error {
	i.listed = nil
	return i.Indexer.Delete(obj)
}

func (i *capacityIndexer) Replace(objs []any, version string) error {
	i.listed = nil
	return i.Indexer.Replace(objs, version)
}
