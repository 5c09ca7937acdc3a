package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/node/termination"
	"sigs.k8s.io/karpenter/pkg/controllers/node/termination/terminator"
	nodeclaimdisruption "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/expiration"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/garbagecollection"
	nodeclaimhydration "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/hydration"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/lifecycle"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/podevents"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/nodepool/counter"
	"sigs.k8s.io/karpenter/pkg/controllers/nodepool/hash"
	"sigs.k8s.io/karpenter/pkg/controllers/nodepool/readiness"
	"sigs.k8s.io/karpenter/pkg/controllers/nodepool/registrationhealth"
	"sigs.k8s.io/karpenter/pkg/controllers/nodepool/validation"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/cost"
	"sigs.k8s.io/karpenter/pkg/state/nodepoolhealth"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"

	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
)

// operator is Karpenter for one request: its controllers, over the cluster as it is and with what the memory says. The controllers are
// Karpenter's own; the operator calls each where controller-runtime would, one after the other, until nothing changes any more.
type operator struct {
	options  *options.Options
	clock    *still
	api      *api.Client
	prints   *fingerprints
	cloud    *cloud
	provider cloudprovider.CloudProvider // the cloud with the NodeOverlays
	recorder *recorder
	chance   *rand.Rand
	seed     uint64
	memory   *memory
	answer   *kit.Answer

	cluster     *state.Cluster
	cost        *cost.ClusterCost
	provisioner *provisioning.Provisioner
	queue       *disruption.Queue
	methods     []disruption.Method
	evictions   *terminator.Queue
	evicted     map[types.UID]bool // whose eviction was asked for in this request

	forNodePool  []reconcile.ObjectReconciler[*v1.NodePool]
	forNodeClaim []reconcile.ObjectReconciler[*v1.NodeClaim]
	counter      *counter.Controller
	podEvents    *podevents.Controller
	termination  *termination.Controller
	garbage      *garbagecollection.Controller
	overlays     *nodeoverlay.Controller
}

func newOperator(ctx context.Context, d *decider, request kit.Request, m *memory, answer *kit.Answer) (*operator, error) {
	now := request.Now.UTC()
	draw := fnv.New64a()
	fmt.Fprintf(draw, "%d %d", request.Seed, now.Unix())
	o := &operator{
		options: options.FromContext(ctx), clock: &still{now: now}, api: d.api, prints: &d.prints, memory: m, answer: answer, seed: request.Seed,
		recorder: &recorder{now: now, until: m.Said}, chance: rand.New(rand.NewPCG(request.Seed, draw.Sum64())), evicted: map[types.UID]bool{},
	}
	order(draw.Sum64())
	nodes := api.List[corev1.Node](o.api)
	types := d.types
	if d.aws != nil {
		zones := d.aws.allZones()
		if len(zones) == 0 {
			zones = zonesOf(nodes, api.List[v1.NodePool](o.api))
		}
		types = d.aws.in(zones)
	}
	dead := deadZones(nodes)
	types = withoutZones(types, dead)
	o.cloud = &cloud{CloudProvider: kwok.NewCloudProvider(ctx, d.api, types), api: d.api, types: types, given: d.given, aws: d.aws, chance: o.chance}
	o.cloud.shapes = withoutZones(shapesOf(nodes), dead)
	overlays := nodeoverlay.NewInstanceTypeStore()
	o.provider = overlay.Decorate(o.cloud, d.api, overlays)
	o.cluster = state.NewCluster(o.clock, d.api, o.provider)
	o.cost = cost.NewClusterCost(ctx, o.provider, d.api)
	o.provisioner = provisioning.NewProvisioner(d.api, o.recorder, o.provider, o.cluster, o.clock, deviceallocation.NewController(d.api), virtualpods.NewVirtualPodCache(d.api))
	o.queue = disruption.NewQueue(d.api, o.recorder, o.cluster, o.clock, o.provisioner)
	o.methods = o.newMethods()
	o.evictions = terminator.NewQueue(d.api, o.recorder)
	health := nodepoolhealth.NewState()
	o.forNodePool = []reconcile.ObjectReconciler[*v1.NodePool]{
		hash.NewController(d.api, o.provider), validation.NewController(o.clock, d.api, o.provider),
		readiness.NewController(o.clock, d.api, o.provider), registrationhealth.NewController(o.clock, d.api, o.provider, health),
	}
	o.forNodeClaim = []reconcile.ObjectReconciler[*v1.NodeClaim]{
		nodeclaimhydration.NewController(d.api, o.provider), lifecycle.NewController(o.clock, d.api, o.provider, o.recorder, health, nil),
		nodeclaimdisruption.NewController(o.clock, d.api, o.provider), expiration.NewController(o.clock, d.api, o.provider),
	}
	o.counter = counter.NewController(d.api, o.provider, o.cluster)
	o.podEvents = podevents.NewController(o.clock, d.api, o.provider)
	o.termination = termination.NewController(o.clock, d.api, o.provider, terminator.NewTerminator(o.clock, d.api, o.evictions, o.recorder), o.recorder)
	o.garbage = garbagecollection.NewController(o.clock, d.api, o.provider)
	o.overlays = nodeoverlay.NewController(o.clock, d.api, o.cloud, overlays, o.cluster)

	d.api.Name = o.name
	d.api.Observe = func(ctx context.Context, was, is client.Object) {
		if is == nil {
			o.observe(ctx, was, true)
		} else {
			o.observe(ctx, is, false)
		}
	}
	return o, o.restore(ctx)
}

// restore fills Karpenter's state of the cluster from the objects and the memory.
func (o *operator) restore(ctx context.Context) error {
	classes := map[schema.GroupVersionKind]bool{}
	addClass := func(ref *v1.NodeClassReference) {
		if ref != nil {
			classes[o.versionOf(ref.GroupKind())] = true
		}
	}
	pools, claims := api.List[v1.NodePool](o.api), api.List[v1.NodeClaim](o.api)
	for _, pool := range pools {
		addClass(pool.Spec.Template.Spec.NodeClassRef)
	}
	for _, claim := range claims {
		addClass(claim.Spec.NodeClassRef)
	}
	for class := range classes {
		o.cloud.classes = append(o.cloud.classes, class)
	}
	slices.SortFunc(o.cloud.classes, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })

	if o.options.FeatureGates.NodeOverlay {
		if _, err := o.overlays.Reconcile(ctx, reconcile.Request{}); err != nil {
			o.failed(err)
		}
	}
	for _, pool := range pools {
		if assumed := o.cloud.assumption(pool); assumed != "" {
			const once = 1000 * 24 * time.Hour
			o.recorder.Publish(events.Event{InvolvedObject: pool, Type: corev1.EventTypeWarning, Reason: "InstanceTypesAssumed", Message: assumed, DedupeValues: []string{assumed}, DedupeTimeout: once})
		}
		if types, err := o.provider.GetInstanceTypes(ctx, pool); err == nil {
			o.cost.UpdateOfferings(ctx, pool, types)
		}
	}
	for _, claim := range claims {
		o.observe(ctx, claim, false)
	}
	for _, node := range api.List[corev1.Node](o.api) {
		o.observe(ctx, node, false)
	}
	for _, set := range api.List[appsv1.DaemonSet](o.api) {
		if err := o.cluster.UpdateDaemonSet(ctx, set); err != nil {
			return err
		}
	}
	for _, pod := range api.List[corev1.Pod](o.api) { // a node counts its pods when it is read
		if podutil.HasRequiredPodAntiAffinity(pod) && pod.Spec.NodeName != "" {
			o.observe(ctx, pod, false)
		}
	}
	o.cluster.SetSynced(true)

	// A nomination counts from the moment at which it is made.
	now := o.clock.now
	for _, id := range sorted(o.memory.Nominated) {
		until := o.memory.Nominated[id]
		if !until.After(now) {
			delete(o.memory.Nominated, id)
			continue
		}
		o.clock.now = until.Add(-nominationWindow(o.options))
		o.cluster.NominateNodeForPod(ctx, id)
	}
	o.clock.now = now
	o.restoreCommands()
	return nil
}

// nominationWindow is how long a nomination holds: nominationWindow of pkg/controllers/state/statenode.go.
func nominationWindow(of *options.Options) time.Duration {
	return max(2*of.BatchMaxDuration, 10*time.Second)
}

// versionOf returns the kind of a node class with the version that the cluster's objects have.
func (o *operator) versionOf(class schema.GroupKind) schema.GroupVersionKind {
	for _, ref := range o.api.Others {
		if gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind); gvk.GroupKind() == class {
			return gvk
		}
	}
	if known := scheme.Scheme.VersionsForGroupKind(class); len(known) > 0 {
		return class.WithVersion(known[0].Version)
	}
	return class.WithVersion("v1")
}

// observe does what Karpenter's informers do.
func (o *operator) observe(ctx context.Context, object client.Object, gone bool) {
	var err error
	switch object := object.DeepCopyObject().(type) {
	case *corev1.Node:
		if gone {
			o.cluster.DeleteNode(object.Name)
		} else {
			err = o.cluster.UpdateNode(ctx, object)
		}
	case *v1.NodeClaim:
		if gone {
			o.cluster.DeleteNodeClaim(object.Name)
			err = o.cost.DeleteNodeClaim(ctx, client.ObjectKeyFromObject(object))
		} else {
			o.cluster.UpdateNodeClaim(object)
			err = o.cost.UpdateNodeClaim(ctx, object)
		}
	case *corev1.Pod:
		if gone {
			o.cluster.DeletePod(client.ObjectKeyFromObject(object))
		} else {
			err = client.IgnoreNotFound(o.cluster.UpdatePod(ctx, object))
		}
	}
	if err != nil {
		o.failed(err)
	}
}

func (o *operator) poolsByName() map[string]*v1.NodePool {
	return lo.KeyBy(api.List[v1.NodePool](o.api), func(pool *v1.NodePool) string { return pool.Name })
}

// name names an object as the API server does, but from the seed.
func (o *operator) name(prefix string, content []byte) string {
	o.memory.Names++
	draw := fnv.New64a()
	fmt.Fprintf(draw, "%d %d ", o.seed, o.memory.Names)
	draw.Write(content)
	return prefix + suffix(draw.Sum64())
}

// reconcile lets the controllers of single objects do what is due, until none changes anything.
func (o *operator) reconcile(ctx context.Context) error {
	const most = 100
	for range most {
		before := o.api.Writes
		for _, pool := range api.List[v1.NodePool](o.api) {
			for _, controller := range o.forNodePool {
				reconcileOne(ctx, o, controller, pool)
			}
		}
		for _, claim := range api.List[v1.NodeClaim](o.api) {
			for _, controller := range o.forNodeClaim {
				reconcileOne(ctx, o, controller, claim)
			}
		}
		for _, node := range api.List[corev1.Node](o.api) {
			if node.DeletionTimestamp != nil {
				reconcileOne(ctx, o, o.termination, node)
				o.evict(ctx, node)
			}
		}
		if o.api.Broken != nil {
			return o.api.Broken
		}
		if o.api.Writes == before {
			return nil
		}
	}
	return fmt.Errorf("karpenter's controllers do not come to rest: they have changed objects in %d rounds at the same moment", most)
}

// reconcileOne lets the controller reconcile the object as it is now.
func reconcileOne[T client.Object](ctx context.Context, o *operator, controller reconcile.ObjectReconciler[T], object T) {
	fresh := object.DeepCopyObject().(T)
	if err := o.api.Get(ctx, client.ObjectKeyFromObject(object), fresh); err != nil {
		return
	}
	if _, err := controller.Reconcile(ctx, fresh); err != nil {
		o.failed(err)
	}
}

// evict asks once for the eviction of each pod that the termination of the node has queued.
func (o *operator) evict(ctx context.Context, node *corev1.Node) {
	pods := &corev1.PodList{}
	if err := o.api.List(ctx, pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		o.failed(err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; o.evictions.Has(pod) && !o.evicted[pod.UID] {
			o.evicted[pod.UID] = true
			if _, err := o.evictions.Reconcile(api.WithWhy(ctx, "node "+node.Name+" is drained"), pod); err != nil {
				o.failed(err)
			}
		}
	}
}

// count writes into the NodePools what they have.
func (o *operator) count(ctx context.Context) error {
	for _, pool := range api.List[v1.NodePool](o.api) {
		reconcileOne(ctx, o, o.counter, pool)
	}
	return nil
}

// collect deletes NodeClaims whose instance is gone, every two minutes.
func (o *operator) collect(ctx context.Context) error {
	const every = 2 * time.Minute
	if tick := o.tick(every); tick.Equal(o.clock.now) {
		if _, err := o.garbage.Reconcile(api.WithWhy(ctx, "the instance is gone")); err != nil {
			o.failed(err)
		}
		return o.reconcile(ctx)
	}
	nodes := map[string]bool{}
	for _, node := range api.List[corev1.Node](o.api) {
		nodes[node.Spec.ProviderID] = true
	}
	for _, claim := range api.List[v1.NodeClaim](o.api) {
		if claim.StatusConditions().Get(v1.ConditionTypeRegistered).IsTrue() && !deleted(claim) && !nodes[claim.Status.ProviderID] {
			o.again(o.tick(every))
		}
	}
	return nil
}

// tick returns the next time of a loop with this period; it is now if the loop is due.
func (o *operator) tick(period time.Duration) time.Time {
	since := o.clock.now.Sub(o.memory.Started)
	return o.memory.Started.Add((since + period - 1) / period * period)
}

// notice lets consolidateAfter begin anew on nodes whose pods have changed.
func (o *operator) notice(ctx context.Context) error {
	before, first := o.memory.Pods, o.memory.Pods == nil
	o.memory.Pods = map[string]string{}
	nodes := map[string]string{} // by provider ID
	for _, node := range api.List[corev1.Node](o.api) {
		nodes[node.Spec.ProviderID] = node.Name
	}
	for _, claim := range api.List[v1.NodeClaim](o.api) {
		node, ok := nodes[claim.Status.ProviderID]
		if !ok || claim.Status.ProviderID == "" {
			continue
		}
		var marks []string
		pods := &corev1.PodList{}
		_ = o.api.List(ctx, pods, client.MatchingFields{"spec.nodeName": node}, client.UnsafeDisableDeepCopy)
		for i := range pods.Items {
			if !podutil.IsOwnedByDaemonSet(&pods.Items[i]) {
				marks = append(marks, mark(&pods.Items[i]))
			}
		}
		slices.Sort(marks)
		o.memory.Pods[claim.Name] = strings.Join(marks, "")
		if !first && changed(before[claim.Name], marks) {
			if _, err := o.podEvents.Reconcile(ctx, &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}); err != nil {
				o.failed(err)
			}
		}
	}
	return nil
}

// mark names a pod and what it does. The last letter says whether Karpenter sees the pod terminate before it is gone.
func mark(pod *corev1.Pod) string {
	over := podutil.IsTerminal(pod) || podutil.IsTerminating(pod)
	ends := !over && pod.Spec.TerminationGracePeriodSeconds != nil && *pod.Spec.TerminationGracePeriodSeconds > 0
	return fmt.Sprintf("%s%c", shorten(fmt.Sprintf("%s %t", pod.UID, over))[:7], map[bool]rune{true: 'g', false: '-'}[ends])
}

// changed: a pod was bound or is over, or has terminated.
func changed(before string, marks []string) bool {
	const size = 8
	old := map[string]bool{}
	for i := 0; i+size <= len(before); i += size {
		old[before[i:i+size]] = true
	}
	for _, mark := range marks {
		if !old[mark] {
			return true
		}
		delete(old, mark)
	}
	for mark := range old {
		if strings.HasSuffix(mark, "g") {
			return true
		}
	}
	return false
}

// again asks for another request at the time, if it is not past.
func (o *operator) again(at time.Time) {
	if whole := at.Truncate(time.Second); whole.Before(at) {
		at = whole.Add(time.Second)
	}
	if at.After(o.clock.now) {
		o.answer.AskAgain(at)
	}
}

// failed says an error that Karpenter would log before it tries again.
func (o *operator) failed(err error) {
	fmt.Fprintf(os.Stderr, "%s %v\n", o.clock.now.Format(time.RFC3339), err)
}
