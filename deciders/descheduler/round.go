package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworkprofile "sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/faultline/faultline/deciders/kit"
)

// round is one loop of the descheduler: all Deschedule plugins of all profiles, then all Balance plugins. See runProfiles in
// https://github.com/kubernetes-sigs/descheduler/blob/v0.36.0/pkg/descheduler/descheduler.go, which keeps its parts to itself. The
// descheduler's caches have objects and no connection; the order of nodes and pods, which in the descheduler is that of Go's maps, is drawn
// from the seed.
//
// Plugins also iterate over maps of their own. So a first pass only finds out which pods they evict; these are evicted in an order of the
// seed. If the API server refuses one, a second pass tells the plugins so, and they may choose others.
type round struct {
	cluster  *kit.Cluster
	client   *fake.Clientset
	objects  []runtime.Object
	nodes    []*v1.Node
	pods     map[string][]*v1.Pod // by node
	youngest time.Time            // when the youngest pod was created, in the cluster's time
	order    map[kit.Ref]int      // of the pods, by the seed
	plans    bool                 // whether this is the first pass, whose evictions are wanted
	wanted   []eviction
	answers  map[kit.Ref]error // of the evictions that were tried
	evicted  int
	events   []kit.Event
	failed   error // of the connection to simulate
}

// eviction is a pod that a plugin evicts, and why.
type eviction struct {
	pod kit.Ref
	why string
}

// newRound reads the cluster. The descheduler compares the ages of pods with the machine's clock, so all times are moved by as much as that
// clock is ahead of the cluster's.
func newRound(c *kit.Cluster, request kit.Request, number uint64) (*round, error) {
	r := &round{cluster: c, client: fake.NewClientset(), pods: map[string][]*v1.Pod{}, order: map[kit.Ref]int{}, answers: map[kit.Ref]error{}}
	ahead := time.Since(request.Now.Time)
	for _, object := range c.Objects() {
		typed, err := scheme.Scheme.New(object.GroupVersionKind())
		if err != nil {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
		if created := object.GetCreationTimestamp(); object.GetKind() == "Pod" && created.After(r.youngest) {
			r.youngest = created.Time
		}
		moveTimes(typed, ahead)
		r.objects = append(r.objects, typed)
		switch o := typed.(type) {
		case *v1.Node:
			r.nodes = append(r.nodes, o)
		case *v1.Pod:
			r.pods[o.Spec.NodeName] = append(r.pods[o.Spec.NodeName], o)
		}
	}
	random := rand.New(rand.NewPCG(request.Seed, number))
	random.Shuffle(len(r.nodes), func(i, j int) { r.nodes[i], r.nodes[j] = r.nodes[j], r.nodes[i] })
	for _, node := range r.nodes {
		pods := r.pods[node.Name]
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		for _, pod := range pods {
			r.order[podRef(pod.Namespace, pod.Name)] = len(r.order)
		}
	}
	r.client.PrependReactor("create", "pods", r.evict)
	return r, nil
}

// moveTimes moves the times by which plugins compute ages.
func moveTimes(obj runtime.Object, by time.Duration) {
	if of, err := meta.Accessor(obj); err == nil {
		of.SetCreationTimestamp(metav1.NewTime(of.GetCreationTimestamp().Add(by)))
	}
	if pod, is := obj.(*v1.Pod); is {
		if pod.Status.StartTime != nil {
			pod.Status.StartTime = &metav1.Time{Time: pod.Status.StartTime.Add(by)}
		}
		for i := range pod.Status.Conditions {
			at := &pod.Status.Conditions[i].LastTransitionTime
			at.Time = at.Add(by)
		}
	}
}

// run runs the profiles, and returns the number of evicted pods.
func (r *round) run(ctx context.Context, policy *api.DeschedulerPolicy) (int, error) {
	r.plans = true
	if err := r.pass(ctx, policy); err != nil {
		return 0, err
	}
	r.plans = false
	slices.SortStableFunc(r.wanted, func(a, b eviction) int { return cmp.Compare(r.order[a.pod], r.order[b.pod]) })
	refused := false
	for _, e := range r.wanted {
		refused = r.ask(e) != nil || refused
	}
	if refused && r.failed == nil {
		r.events = nil
		if err := r.pass(ctx, policy); err != nil {
			return 0, err
		}
	}
	slices.SortStableFunc(r.events, func(a, b kit.Event) int { return cmp.Compare(r.order[a.Object], r.order[b.Object]) })
	return r.evicted, r.failed
}

// ask passes on an eviction, once for each pod.
func (r *round) ask(e eviction) error {
	if answer, asked := r.answers[e.pod]; asked {
		return answer
	}
	err := r.cluster.Evict(e.pod, e.why)
	var refused *kit.Refusal
	switch {
	case err == nil:
		r.evicted++
	case errors.As(err, &refused):
		err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(refused.Code), Reason: metav1.StatusReason(refused.Reason), Message: refused.Message}}
	default:
		r.failed = err
	}
	r.answers[e.pod] = err
	return err
}

// pass runs the plugins of all profiles.
func (r *round) pass(ctx context.Context, policy *api.DeschedulerPolicy) error {
	shared := informers.NewSharedInformerFactory(r.client, 0)
	podInformer := shared.Core().V1().Pods().Informer()
	_ = shared.Core().V1().PersistentVolumeClaims().Informer()
	evictor, err := evictions.NewPodEvictor(ctx, r.client, recorder{r}, podInformer, features.DefaultMutableFeatureGate, evictions.NewOptions().
		WithPolicyGroupVersion(policyv1.SchemeGroupVersion.String()).
		WithMaxPodsToEvictPerNode(policy.MaxNoOfPodsToEvictPerNode).
		WithMaxPodsToEvictPerNamespace(policy.MaxNoOfPodsToEvictPerNamespace).
		WithMaxPodsToEvictTotal(policy.MaxNoOfPodsToEvictTotal).
		WithEvictionFailureEventNotification(policy.EvictionFailureEventNotification).
		WithGracePeriodSeconds(policy.GracePeriodSeconds))
	if err != nil {
		return err
	}
	type profile interface {
		RunDeschedulePlugins(context.Context, []*v1.Node) *frameworktypes.Status
		RunBalancePlugins(context.Context, []*v1.Node) *frameworktypes.Status
	}
	var profiles []profile
	for i, of := range policy.Profiles {
		made, err := frameworkprofile.NewProfile(ctx, of, pluginregistry.PluginRegistry,
			frameworkprofile.WithClientSet(r.client), frameworkprofile.WithSharedInformerFactory(shared), frameworkprofile.WithPodEvictor(evictor),
			frameworkprofile.WithGetPodsAssignedToNodeFnc(r.podsOn), frameworkprofile.WithProfileInstanceID(fmt.Sprint(i)))
		if err != nil {
			return fmt.Errorf("profile %q: %w", of.Name, err)
		}
		profiles = append(profiles, made)
	}
	if err := r.fill(shared); err != nil {
		return err
	}
	nodes, err := r.readyNodes(policy)
	if err != nil || len(nodes) < 2 { // the descheduler skips the round
		return err
	}
	var failed error
	for _, p := range profiles {
		failed = errors.Join(failed, statusError(p.RunDeschedulePlugins(ctx, nodes)))
	}
	for _, p := range profiles {
		failed = errors.Join(failed, statusError(p.RunBalancePlugins(ctx, nodes)))
	}
	if failed != nil { // the descheduler logs it and goes on
		r.events = append(r.events, kit.Event{Object: kit.Ref{APIVersion: "descheduler/v1alpha2", Kind: "DeschedulerPolicy"}, Type: v1.EventTypeWarning, Reason: "PluginFailed", Message: failed.Error()})
	}
	return nil
}

func statusError(status *frameworktypes.Status) error {
	if status == nil {
		return nil
	}
	return status.Err
}

// fill puts the objects into the caches.
func (r *round) fill(shared informers.SharedInformerFactory) error {
	for _, obj := range r.objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			return err
		}
		resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
		informer, err := shared.ForResource(resource)
		if err != nil {
			continue // of a kind that has no informer
		}
		if err := informer.Informer().GetIndexer().Add(obj); err != nil {
			return err
		}
	}
	return nil
}

// readyNodes returns the nodes that the policy selects and that are ready.
func (r *round) readyNodes(policy *api.DeschedulerPolicy) ([]*v1.Node, error) {
	selector := labels.Everything()
	if policy.NodeSelector != nil {
		var err error
		if selector, err = labels.Parse(*policy.NodeSelector); err != nil {
			return nil, fmt.Errorf("nodeSelector %q: %w", *policy.NodeSelector, err)
		}
	}
	var nodes []*v1.Node
	for _, node := range r.nodes {
		if selector.Matches(labels.Set(node.Labels)) && nodeutil.IsReady(node) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// podsOn returns the pods of a node that pass the filter.
func (r *round) podsOn(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
	var pods []*v1.Pod
	for _, pod := range r.pods[node] {
		if filter == nil || filter(pod) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// evict answers the descheduler's request of an eviction: in the first pass it is noted, and granted.
func (r *round) evict(action testing.Action) (bool, runtime.Object, error) {
	create, is := action.(testing.CreateAction)
	if !is || action.GetSubresource() != "eviction" {
		return false, nil, nil
	}
	of, is := create.GetObject().(*policyv1.Eviction)
	if !is {
		return false, nil, nil
	}
	asked := eviction{podRef(of.Namespace, of.Name), strings.TrimRight(strings.TrimPrefix(of.Annotations["reason"], "triggered by "), ": ")}
	if r.plans {
		r.wanted = append(r.wanted, asked)
		return true, of, nil
	}
	return true, of, r.ask(asked)
}

func podRef(namespace, name string) kit.Ref {
	return kit.Ref{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name}
}

// recorder keeps the events that the descheduler reports.
type recorder struct{ *round }

func (r recorder) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	of, err := meta.Accessor(regarding)
	if err != nil {
		return
	}
	object := kit.Ref{Namespace: of.GetNamespace(), Name: of.GetName()}
	if kinds, _, err := scheme.Scheme.ObjectKinds(regarding); err == nil {
		object.APIVersion, object.Kind = kinds[0].ToAPIVersionAndKind()
	}
	r.events = append(r.events, kit.Event{Object: object, Type: eventType, Reason: reason, Message: fmt.Sprintf(note, args...)})
}
