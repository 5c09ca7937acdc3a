package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"

	"github.com/faultline/faultline/pkg/cluster"
)

// Quotas is upstream's plugin ResourceQuota for one state. It counts the usage of a quota from the state's objects, as the quota controller
// does, and does not read status.used, which lags behind in a real cluster.
type Quotas struct {
	state    *cluster.State
	registry quota.Registry
	// charged holds the quotas, with their present usage, of the namespaces in which an object was admitted.
	charged map[string][]v1.ResourceQuota
}

// PodUsage caches the usage of pods. A pod's usage is needed often, and never changes, since pods are immutable.
type PodUsage map[*v1.Pod]v1.ResourceList

// NewQuotas returns the quotas of the state. It reads the usage of pods from the cache known, and adds to it.
func NewQuotas(s *cluster.State, known PodUsage) *Quotas {
	q := &Quotas{state: s, charged: map[string][]v1.ResourceQuota{}}
	if len(s.ResourceQuotas) == 0 {
		return q
	}
	var evaluators []quota.Evaluator
	for _, kind := range kindTable {
		if evaluator := evaluatorOf(kind, s); evaluator != nil {
			evaluators = append(evaluators, stateEvaluator{evaluator, s, kind.name, known})
		}
	}
	q.registry = generic.NewRegistry(evaluators)
	return q
}

// evaluatorOf returns upstream's evaluator of a kind, or nil if no quota counts its objects. It returns nil for ControllerRevisions, since
// no quota refuses those of controllers.
func evaluatorOf(kind *Kind, s *cluster.State) quota.Evaluator {
	resource := kind.resource()
	switch kind.name {
	case "Pod":
		return core.NewPodEvaluator(nil, fixedClock{now: s.Now.Time})
	case "PersistentVolumeClaim":
		return core.NewPersistentVolumeClaimEvaluator(nil)
	case "Service":
		return core.NewServiceEvaluator(nil)
	case "ResourceClaim":
		return core.NewResourceClaimEvaluator(nil, ExtendedResources(s), podsWithExtendedClaims(s), extendedResourceClaims(s))
	case "ControllerRevision":
		return nil
	case "ResourceQuota", "ReplicationController": // their resource names are older than count/
		return generic.NewObjectCountEvaluator(resource.GroupResource(), nil, v1.ResourceName(resource.Resource))
	}
	if !cluster.Namespaced(kind.name) {
		return nil
	}
	return generic.NewObjectCountEvaluator(resource.GroupResource(), nil, "")
}

// fixedClock is a clock that always shows the same time.
type fixedClock struct {
	clock.RealClock
	now time.Time
}

func (a fixedClock) Now() time.Time { return a.now }

// stateEvaluator is upstream's evaluator of a kind, reading objects from a state.
type stateEvaluator struct {
	quota.Evaluator
	state *cluster.State
	kind  string
	known PodUsage
}

// UsageStats sums up the usage of a namespace's objects, for the resources that the quota limits.
func (c stateEvaluator) UsageStats(options quota.UsageStatsOptions) (quota.UsageStats, error) {
	limited := func(obj runtime.Object) (v1.ResourceList, error) {
		used, err := c.usageOf(obj)
		return quota.Mask(used, options.Resources), err
	}
	return generic.CalculateUsageStats(options, c.listObjects, c.matchesScope, limited)
}

// usageOf returns the usage of one object. It does not cache the usage of a Terminating pod, which depends on the clock.
func (c stateEvaluator) usageOf(obj runtime.Object) (v1.ResourceList, error) {
	pod, isPod := obj.(*v1.Pod)
	if !isPod || pod.DeletionTimestamp != nil {
		return c.Usage(obj)
	}
	used, found := c.known[pod]
	if !found {
		var err error
		if used, err = c.Usage(pod); err != nil {
			return nil, err
		}
		c.known[pod] = used
	}
	return used, nil
}

func (c stateEvaluator) listObjects(namespace string) ([]runtime.Object, error) {
	var objects []runtime.Object
	if c.kind == "Pod" { // fast, since there are many pods
		for _, pod := range c.state.Pods {
			if pod.Namespace == namespace {
				objects = append(objects, pod)
			}
		}
		return objects, nil
	}
	for _, obj := range c.state.Objects() {
		if obj.GetNamespace() == namespace && cluster.KindOf(obj) == c.kind && !isAPIServerService(obj) {
			objects = append(objects, obj)
		}
	}
	if c.kind == "Service" && namespace == v1.NamespaceDefault {
		objects = append(objects, apiServerService)
	}
	return objects, nil
}

// apiServerService is the Service that every API server creates for itself, whether or not the input has it. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controlplane/controller/kubernetesservice/controller.go.
var apiServerService = &v1.Service{
	ObjectMeta: metav1.ObjectMeta{Namespace: v1.NamespaceDefault, Name: "kubernetes"},
	Spec:       v1.ServiceSpec{Type: v1.ServiceTypeClusterIP, Ports: []v1.ServicePort{{Name: "https", Port: 443}}},
}

func isAPIServerService(obj cluster.Object) bool {
	return cluster.RefTo(obj) == cluster.RefTo(apiServerService)
}

func (c stateEvaluator) matchesScope(scope v1.ScopedResourceSelectorRequirement, obj runtime.Object) (bool, error) {
	matched, err := c.MatchingScopes(obj, []v1.ScopedResourceSelectorRequirement{scope})
	return len(matched) > 0, err
}

// inNamespace returns the quotas of a namespace with their usage.
func (q *Quotas) inNamespace(namespace string) ([]v1.ResourceQuota, error) {
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

// QuotasWithStatus returns the ResourceQuotas of the state with the status that the quota controller gives them. It panics if the usage cannot be
// counted; admission has counted it before, so this does not happen.
func QuotasWithStatus(s *cluster.State) []v1.ResourceQuota {
	var all []v1.ResourceQuota
	quotas := NewQuotas(s, PodUsage{})
	for _, given := range s.ResourceQuotas {
		counted, err := quotas.inNamespace(given.Namespace)
		if err != nil {
			panic(err)
		}
		all = append(all, counted[slices.IndexFunc(counted, func(q v1.ResourceQuota) bool { return q.Name == given.Name })])
	}
	return all
}

// Admit charges a new object to the quotas of its namespace. The error says why they refuse the object.
func (q *Quotas) Admit(obj cluster.Object) error {
	return q.charge(newCreateRequest(obj, obj))
}

// Change charges the change of an object to the quotas of its namespace. The error says why they refuse the change.
func (q *Quotas) Change(obj, was cluster.Object) error {
	if q.registry == nil {
		return nil
	}
	old := was.DeepCopyObject().(cluster.Object)
	old.SetResourceVersion("1") // without it upstream takes the change for a creation
	return q.charge(newUpdateRequest(obj, old))
}

func (q *Quotas) charge(request apiadmission.Attributes) error {
	if q.registry == nil {
		return nil
	}
	evaluator := q.registry.Get(request.GetResource().GroupResource())
	if evaluator == nil {
		return nil
	}
	quotas, err := q.inNamespace(request.GetNamespace())
	if err != nil || len(quotas) == 0 {
		return err
	}
	charged, err := resourcequota.CheckRequest(quotas, request, evaluator, nil)
	if err != nil {
		return err
	}
	q.charged[request.GetNamespace()] = charged
	return nil
}

// noteExceeded returns a note for each given quota that is exceeded, and one note about the limited resources that a simulation does not count.
func (q *Quotas) noteExceeded(given []*v1.ResourceQuota) ([]string, error) {
	var notes []string
	uncounted := map[v1.ResourceName]bool{}
	for _, limit := range given {
		quotas, err := q.inNamespace(limit.Namespace)
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
					formatAmounts(quota.Mask(counted.Status.Used, exceeded)), formatAmounts(quota.Mask(counted.Status.Hard, exceeded))))
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

// formatAmounts formats a list as the API server does: pods=4,requests.cpu=2.
func formatAmounts(list v1.ResourceList) string {
	var parts []string
	for name, quantity := range list {
		parts = append(parts, string(name)+"="+quantity.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
