package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"

	"github.com/faultline/faultline/pkg/cluster"
)

// Quotas is upstream's plugin ResourceQuota on one state. How much of a quota is used is counted from the state's objects, as the quota
// controller does, and not taken from status.used, which in a real cluster lags behind.
type Quotas struct {
	state    *cluster.State
	registry quota.Registry
	// charged are the quotas of the namespaces in which an object was admitted, with what is used of them by now.
	charged map[string][]v1.ResourceQuota
}

// NewQuotas takes the ResourceQuotas of the state.
func NewQuotas(s *cluster.State) *Quotas {
	q := &Quotas{state: s, charged: map[string][]v1.ResourceQuota{}}
	if len(s.ResourceQuotas) == 0 {
		return q
	}
	evaluators := []quota.Evaluator{core.NewPodEvaluator(q.lister, at{now: s.Now.Time}), core.NewPersistentVolumeClaimEvaluator(q.lister), core.NewServiceEvaluator(q.lister)}
	for _, kind := range table {
		if countable(kind) {
			resource, alias := kind.resource(), v1.ResourceName("")
			if kind.name == "ResourceQuota" || kind.name == "ReplicationController" {
				alias = v1.ResourceName(resource.Resource)
			}
			evaluators = append(evaluators, generic.NewObjectCountEvaluator(resource.GroupResource(), generic.ListResourceUsingListerFunc(q.lister, resource), alias))
		}
	}
	q.registry = generic.NewRegistry(evaluators)
	return q
}

// countable reports whether a quota on the number of the kind's objects is kept. What controllers make besides pods and claims is not
// refused to them, and devices are not counted.
func countable(kind *Kind) bool {
	switch kind.name {
	case "Pod", "PersistentVolumeClaim", "Service", "ReplicaSet", "ControllerRevision", "ResourceClaim":
		return false
	}
	return cluster.Namespaced(kind.name)
}

// at is a clock that stands still.
type at struct {
	clock.RealClock
	now time.Time
}

func (a at) Now() time.Time { return a.now }

// lister lists the objects of a kind in the namespaces that have quotas.
func (q *Quotas) lister(resource schema.GroupVersionResource) (cache.GenericLister, error) {
	kind := table[slices.IndexFunc(table, func(kind *Kind) bool { return kind.resource() == resource })]
	limited := map[string]bool{}
	for _, limit := range q.state.ResourceQuotas {
		limited[limit.Namespace] = true
	}
	objects := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, obj := range q.state.Objects() {
		if cluster.KindOf(obj) != kind.name || !limited[obj.GetNamespace()] {
			continue
		}
		if err := objects.Add(obj); err != nil {
			return nil, err
		}
	}
	return cache.NewGenericLister(objects, resource.GroupResource()), nil
}

// of returns the quotas of a namespace with what is used of them.
func (q *Quotas) of(namespace string) ([]v1.ResourceQuota, error) {
	if known, found := q.charged[namespace]; found {
		return known, nil
	}
	var quotas []v1.ResourceQuota
	for _, limit := range q.state.ResourceQuotas {
		if limit.Namespace != namespace {
			continue
		}
		used, err := quota.CalculateUsage(namespace, limit.Spec.Scopes, limit.Spec.Hard, q.registry, limit.Spec.ScopeSelector)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cluster.RefTo(limit).Describe(), err)
		}
		counted := *limit
		counted.Status = v1.ResourceQuotaStatus{Hard: quota.Mask(limit.Spec.Hard, quota.ResourceNames(used)), Used: used}
		quotas = append(quotas, counted)
	}
	q.charged[namespace] = quotas
	return quotas, nil
}

// Admit charges a new object to the quotas of its namespace, or returns why it cannot be.
func (q *Quotas) Admit(obj cluster.Object) error {
	if q.registry == nil {
		return nil
	}
	evaluator := q.registry.Get(KindNamed(cluster.KindOf(obj)).resource().GroupResource())
	if evaluator == nil {
		return nil
	}
	quotas, err := q.of(obj.GetNamespace())
	if err != nil || len(quotas) == 0 {
		return err
	}
	charged, err := resourcequota.CheckRequest(quotas, creationOf(obj, obj), evaluator, nil)
	if err != nil {
		return err
	}
	q.charged[obj.GetNamespace()] = charged
	return nil
}

// notes says of each of the quotas what is used beyond it, and of all of them together what is not counted.
func (q *Quotas) notes(given []*v1.ResourceQuota) ([]string, error) {
	var notes []string
	uncounted := map[v1.ResourceName]bool{}
	for _, limit := range given {
		quotas, err := q.of(limit.Namespace)
		if err != nil {
			return nil, err
		}
		for i := range quotas {
			counted := &quotas[i]
			if counted.Name != limit.Name {
				continue
			}
			if within, exceeded := quota.LessThanOrEqual(counted.Status.Used, counted.Status.Hard); !within {
				notes = append(notes, fmt.Sprintf("%s is exceeded as it is (used: %s, limited: %s); what would add to it is refused", cluster.RefTo(limit).Describe(),
					amounts(quota.Mask(counted.Status.Used, exceeded)), amounts(quota.Mask(counted.Status.Hard, exceeded))))
			}
			for _, name := range quota.Difference(quota.ResourceNames(counted.Spec.Hard), quota.ResourceNames(counted.Status.Hard)) {
				uncounted[name] = true
			}
		}
	}
	if len(uncounted) > 0 {
		var names []string
		for name := range uncounted {
			names = append(names, string(name))
		}
		slices.Sort(names)
		notes = append(notes, fmt.Sprintf("ResourceQuotas limit %s, which a simulation does not count", strings.Join(names, ", ")))
	}
	return notes, nil
}

// amounts writes a list as the API server does: pods=4,requests.cpu=2.
func amounts(list v1.ResourceList) string {
	var parts []string
	for name, quantity := range list {
		parts = append(parts, string(name)+"="+quantity.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
