package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"
)

var caches = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "caches"}

// cacheOperator keeps a Deployment for each Cache, and writes into the status of the Cache how many of the Deployment's pods are ready. It is
// made as operators are: of informers, a queue and a lease.
type cacheOperator struct {
	client *kubernetes.Clientset
	caches dynamic.NamespaceableResourceInterface
	queue  workqueue.TypedRateLimitingInterface[string]
}

// lead reconciles as long as the operator has the lease.
func lead(ctx context.Context, config *rest.Config) {
	client, custom := kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
	o := &cacheOperator{client, custom.Resource(caches), workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-operator"}, Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "test"},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { o.run(ctx, custom) }, OnStoppedLeading: func() {}},
	})
}

func (o *cacheOperator) run(ctx context.Context, custom dynamic.Interface) {
	note := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			o.queue.Add(key)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, obj any) { note(obj) }, DeleteFunc: note}
	ofCaches, typed := dynamicinformer.NewDynamicSharedInformerFactory(custom, 0), informers.NewSharedInformerFactory(o.client, 0)
	for _, informer := range []cache.SharedIndexInformer{ofCaches.ForResource(caches).Informer(), typed.Apps().V1().Deployments().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			panic(err)
		}
	}
	ofCaches.Start(ctx.Done())
	typed.Start(ctx.Done())
	go func() {
		<-ctx.Done()
		o.queue.ShutDown()
	}()
	for key, ends := o.queue.Get(); !ends; key, ends = o.queue.Get() {
		if err := o.reconcile(ctx, key); err != nil {
			o.queue.AddRateLimited(key)
		} else {
			o.queue.Forget(key)
		}
		o.queue.Done(key)
	}
}

func (o *cacheOperator) reconcile(ctx context.Context, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	wanted, err := o.caches.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	replicas, _, err := unstructured.NestedInt64(wanted.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	deployments := o.client.AppsV1().Deployments(namespace)
	has, err := deployments.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		made := deployment(name, int32(replicas))
		made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(wanted, caches.GroupVersion().WithKind("Cache"))}
		_, err = deployments.Create(ctx, made, metav1.CreateOptions{})
		return err
	case err != nil:
		return err
	case int64(*has.Spec.Replicas) != replicas:
		*has.Spec.Replicas = int32(replicas)
		_, err = deployments.Update(ctx, has, metav1.UpdateOptions{})
		return err
	}
	if ready, _, _ := unstructured.NestedInt64(wanted.Object, "status", "ready"); ready == int64(has.Status.ReadyReplicas) {
		return nil
	}
	if err := unstructured.SetNestedField(wanted.Object, int64(has.Status.ReadyReplicas), "status", "ready"); err != nil {
		return err
	}
	_, err = o.caches.Namespace(namespace).UpdateStatus(ctx, wanted, metav1.UpdateOptions{})
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// An operator with a custom resource, informers and a lease does its work: it makes pods, scales them, says how many are ready while a zone is
// lost, and what it owns goes with the custom resource.
func TestOperator(t *testing.T) {
	c := start(t, "--nodes", "3", "--zones", "3")
	expect := func(line, want string) {
		t.Helper()
		if got := c.run(t, line); got != want {
			t.Errorf("$ %s\n%swant\n%s", line, got, want)
		}
	}
	expect("kubectl apply -f cluster/testdata/cache.yaml", "customresourcedefinition.apiextensions.k8s.io/caches.example.com created\n")
	expect("kubectl wait crd/caches.example.com --for=condition=Established --timeout=20s", "customresourcedefinition.apiextensions.k8s.io/caches.example.com condition met\n")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lead(ctx, c.config(t))
	}()
	defer func() {
		stop()
		<-ended
	}()

	file := filepath.Join(t.TempDir(), "front.yaml")
	apply := func(replicas string) string {
		manifest := "apiVersion: example.com/v1\nkind: Cache\nmetadata: {name: front}\nspec: {replicas: " + replicas + "}\n"
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		return c.run(t, "kubectl apply -f "+file)
	}
	if got := apply("3"); got != "cache.example.com/front created\n" {
		t.Error(got)
	}
	expect("kubectl wait cache/front --for=jsonpath={.status.ready}=3 --timeout=20s", "cache.example.com/front condition met\n")
	if got := apply("10"); !strings.Contains(got, "spec.replicas: Invalid value: 10: spec.replicas in body should be less than or equal to 9") {
		t.Error(got)
	}
	apply("5")
	expect("kubectl wait cache/front --for=jsonpath={.status.ready}=5 --timeout=20s", "cache.example.com/front condition met\n")
	if got := withoutAges(c.run(t, "kubectl get caches")); got != "NAME  READY\nfront  5\n" {
		t.Errorf("%q", got)
	}
	expect("kubectl get lease cache-operator -o jsonpath={.spec.holderIdentity}", "test")
	expect("kubectl cordon -l topology.kubernetes.io/zone!=zone-1", "node/zone-2-node-1 cordoned\nnode/zone-3-node-1 cordoned\n")
	expect("simulate fail zone/zone-1", "faultline: unreachable: zone-1-node-1\n")
	expect("kubectl wait cache/front --for=jsonpath={.status.ready}=5 --timeout=1s", "error: timed out waiting for the condition on caches/front\n")
	expect("kubectl uncordon -l topology.kubernetes.io/zone!=zone-1", "node/zone-2-node-1 uncordoned\nnode/zone-3-node-1 uncordoned\n")
	expect("kubectl wait cache/front --for=jsonpath={.status.ready}=5 --timeout=20s", "cache.example.com/front condition met\n")
	expect("kubectl delete cache front", "cache.example.com \"front\" deleted from default namespace\n")
	expect("kubectl wait deployment/front --for=delete --timeout=60s", "deployment.apps/front condition met\n")
}
