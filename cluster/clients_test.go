package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// config returns the configuration of the cluster's clients.
func (c testCluster) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // no limit
	return config
}

// client returns a client of the cluster.
func (c testCluster) client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	return kubernetes.NewForConfigOrDie(c.config(t))
}

// deployment returns a Deployment of pods that nothing keeps from a node.
func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "pause"}}},
		}},
	}
}

// Thirty clients at once create, change, read and delete. Each sees what came of what it did, in the next answer.
func TestManyClients(t *testing.T) {
	c := start(t, "--nodes", "6", "--zones", "3")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var clients sync.WaitGroup
	for i := range 30 {
		client, name := c.client(t), fmt.Sprintf("web-%d", i)
		clients.Go(func() {
			if err := useCluster(ctx, client, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	clients.Wait()
	left, err := c.client(t).CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range left.Items {
		if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
			t.Errorf("%s is %s", pod.Name, pod.Status.Phase)
		}
	}
	if len(left.Items) != 30*2 {
		t.Errorf("there are %d pods, want 60", len(left.Items))
	}
}

// useCluster does what a client does with a Deployment of its own, which has two pods in the end.
func useCluster(ctx context.Context, client *kubernetes.Clientset, name string) error {
	deployments, pods := client.AppsV1().Deployments("default"), client.CoreV1().Pods("default")
	for range 3 {
		if _, err := deployments.Create(ctx, deployment(name, 3), metav1.CreateOptions{}); err != nil {
			return err
		}
		scale, err := deployments.GetScale(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 2
		if _, err := deployments.UpdateScale(ctx, name, scale, metav1.UpdateOptions{}); err != nil {
			return err
		}
		got, err := deployments.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		own, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return err
		}
		if got.Status.ReadyReplicas != 2 || len(own.Items) != 2 {
			return fmt.Errorf("%d replicas are ready, and %d pods are there; want 2", got.Status.ReadyReplicas, len(own.Items))
		}
		if err := deployments.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}); err != nil {
			return err
		}
		for err == nil { // the garbage collector takes its time
			_, err = deployments.Get(ctx, name, metav1.GetOptions{})
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	_, err := deployments.Create(ctx, deployment(name, 2), metav1.CreateOptions{})
	return err
}

// What a client writes while the cluster acts stays: pods start and end all the time, and each changes the Deployment's status.
func TestWritesStayWhileTimePasses(t *testing.T) {
	c := start(t, "--nodes", "3", "--time", "x60")
	deployments := c.client(t).AppsV1().Deployments("default")
	if _, err := deployments.Create(t.Context(), deployment("web", 1), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		replicas := i%7 + 1
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		if _, err := deployments.Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}, "scale"); err != nil {
			t.Fatal(err)
		}
		got, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if int(*got.Spec.Replicas) != replicas {
			t.Fatalf("patch %d: the Deployment has %d replicas, and the client wrote %d", i, *got.Spec.Replicas, replicas)
		}
	}
}

// A client that watches and never reads holds up nobody, and the server ends its watch.
func TestUnreadWatch(t *testing.T) {
	c := start(t, "--nodes", "3")
	client := c.client(t)
	unread, err := c.client(t).CoreV1().RESTClient().Get().AbsPath("/api/v1/configmaps").Param("watch", "true").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	changes := client.CoreV1().ConfigMaps("default")
	large := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{"text": strings.Repeat("x", 100_000)}}
	if _, err := changes.Create(t.Context(), large, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const all = 600
	for i := range all {
		large.Data["count"] = fmt.Sprint(i)
		began := time.Now()
		if _, err := changes.Update(t.Context(), large, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("the %d-th change took %v", i, took)
		}
	}
	deadline := time.AfterFunc(30*time.Second, func() { _ = unread.Close() })
	read, err := io.Copy(io.Discard, unread)
	if !deadline.Stop() {
		t.Errorf("the server has not ended the watch; %d bytes were read, then %v", read, err)
	}
	if read >= all*100_000 {
		t.Errorf("%d bytes of the watch were kept for a client that did not read", read)
	}
}

// A body that is no object of its kind is an error that names the reason, whatever its content type says, and the server goes on.
func TestMalformedBodies(t *testing.T) {
	c := start(t, "--nodes", "3")
	config := c.config(t)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, contentType, body string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", contentType)
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	const pods, json, protobuf, apply = "/api/v1/namespaces/default/pods", "application/json", "application/vnd.kubernetes.protobuf", "application/apply-patch+yaml"
	if _, err := c.client(t).AppsV1().Deployments("default").Create(t.Context(), deployment("web", 1), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, path, contentType, body string
		code                            int
		says                            string
	}{
		{"POST", pods, json, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}`, 400, "unexpected end of JSON input"},
		{"POST", pods, json, ``, 400, "unexpected end of JSON input"},
		{"POST", pods, json, `[]`, 400, "cannot unmarshal array"},
		{"POST", pods, json, `{"kind":"Pod","apiVersion":"v1","spec":{"containers":7}}`, 400, "cannot unmarshal number"},
		{"POST", pods, json, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"x"}}`, 400, "cannot be handled as a Pod"},
		{"POST", pods, json, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}`, 422, "spec.containers: Required value"},
		{"POST", pods, json, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + "\x00\xff" + `"}}`, 400, "invalid"},
		{"POST", pods, json, strings.Repeat(`{"metadata":`, 20_000), 400, "exceeded max depth"},
		{"POST", pods, json, `{"metadata":{"name":"` + strings.Repeat("x", 4<<20) + `"}}`, 413, "too large"},
		{"POST", pods, protobuf, "k8s\x00\xff\xff\xff", 400, "unexpected EOF"},
		{"POST", pods, protobuf, "no protobuf", 400, "protobuf"},
		{"POST", pods, "text/plain", "x", 415, "media type"},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/web", "application/json-patch+json", `[{"op":"explode","path":"/spec"}]`, 422, "error in our request"},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/web", "application/strategic-merge-patch+json", `{"spec":{"replicas":"many"}}`, 422, "many"},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=x", apply, "a: b: c", 400, "yaml"},
		{"PUT", "/apis/apps/v1/namespaces/default/deployments/web/scale", json, `{"spec":{"replicas":-1}}`, 400, ""},
		{"POST", pods + "/none/eviction", json, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"none"}}`, 404, "not found"},
		{"POST", pods + "/none/binding", json, `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"none"},"target":{"name":"nowhere"}}`, 404, "not found"},
	} {
		code, text := send(test.method, test.path, test.contentType, test.body)
		if code != test.code || !strings.Contains(text, test.says) {
			t.Errorf("%s %s %.60q: %d %.300s; want %d and %q", test.method, test.path, test.body, code, text, test.code, test.says)
		}
	}
	for _, path := range []string{pods + "?resourceVersion=soon", pods + "?labelSelector=" + url.QueryEscape("a in"), pods + "?continue=%ff"} {
		if code, text := send("GET", path, json, ""); code < 400 || code >= 500 {
			t.Errorf("GET %s: %d %.300s", path, code, text)
		}
	}
	if got := c.run(t, "kubectl get deployment web -o custom-columns=READY:.status.readyReplicas --no-headers"); got != "1\n" {
		t.Errorf("after all that: %q", got)
	}
}
