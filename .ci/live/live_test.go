//go:build live

package live

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/server/v3/embed"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/faultline/faultline/pkg/input/live"
)

// asServer has the test's own program be the API server, since one process has one API server's feature gates.
const asServer = "FAULTLINE_KUBE_APISERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := app.NewAPIServerCommand().Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const pods = 10_000

// A reader with the ClusterRole that simulate rbac prints reads everything. One that lacks a kind is told what that means. Neither needs more.
func TestKubeAPIServer(t *testing.T) {
	ctx := t.Context()
	config := start(t)
	admin := kubernetes.NewForConfigOrDie(as(config, "admin"))
	fill(ctx, t, admin)
	for _, role := range []*rbacv1.ClusterRole{live.ClusterRole("all", nil, "list"), without(live.ClusterRole("some", nil, "list"), "poddisruptionbudgets")} {
		create(ctx, t, admin.RbacV1().ClusterRoles(), role)
		create(ctx, t, admin.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: role.Name}},
		})
	}

	whole := read(t, as(config, "all"))
	if len(whole.Notes) > 0 || whole.Counts["Pod"] != pods || whole.Counts["Node"] != 1 || whole.Counts["PodDisruptionBudget"] != 1 {
		t.Errorf("%v; notes %q", whole.Counts, whole.Notes)
	}
	// Each pod is what a typed client gets.
	got := map[string]v1.Pod{}
	var list struct{ Items []json.RawMessage }
	if err := json.NewDecoder(whole.Open()).Decode(&list); err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		var pod v1.Pod
		if err := json.Unmarshal(item, &pod); err == nil && pod.Kind == "Pod" {
			pod.TypeMeta = metav1.TypeMeta{}
			got[pod.Name] = pod
		}
	}
	typed, err := admin.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]v1.Pod{}
	for _, pod := range typed.Items {
		pod.ManagedFields = nil
		want[pod.Name] = pod
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}

	some := read(t, as(config, "some"))
	if !slices.Equal(some.Forbidden, []string{"PodDisruptionBudgets"}) || some.Counts["Pod"] != pods || len(some.Notes) != 2 {
		t.Errorf("forbidden %q, %v; notes %q", some.Forbidden, some.Counts, some.Notes)
	}
	client, err := live.New("prod", as(config, "nobody"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(ctx, nil); err == nil || !strings.HasPrefix(err.Error(), `prod: pods: pods is forbidden: User "nobody" cannot list resource "pods"`) {
		t.Errorf("nobody: %v", err)
	}
	if client, err = live.New("prod", as(config, "unknown")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(ctx, nil); err == nil || !strings.Contains(err.Error(), "does not accept the credentials") {
		t.Errorf("unknown: %v", err)
	}
}

func read(t *testing.T, config *rest.Config) *live.Dump {
	t.Helper()
	client, err := live.New("prod", config)
	if err != nil {
		t.Fatal(err)
	}
	dump, err := client.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

// without returns a role without a resource.
func without(role *rbacv1.ClusterRole, resource string) *rbacv1.ClusterRole {
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(r string) bool { return r == resource })
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 })
	return role
}

// fill creates a node, its pods and a budget.
func fill(ctx context.Context, t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	create(ctx, t, admin.CoreV1().Nodes(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	create(ctx, t, admin.PolicyV1().PodDisruptionBudgets("default"), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{}},
	})
	var creating sync.WaitGroup
	for worker := range 16 {
		creating.Go(func() {
			for i := worker; i < pods; i += 16 {
				pod := &v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%05d", i)},
					Spec:       v1.PodSpec{NodeName: "n", Containers: []v1.Container{{Name: "c", Image: "c"}}},
				}
				if _, err := admin.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creating.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// create creates an object, as soon as the server lets it.
func create[T any](ctx context.Context, t *testing.T, to interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
}, object T) {
	t.Helper()
	if _, err := to.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// as returns the configuration with the token of a user.
func as(config *rest.Config, user string) *rest.Config {
	config = rest.CopyConfig(config)
	config.BearerToken, config.QPS = "token-"+user, -1
	return config
}

// start starts etcd and an API server on loopback until the test ends, and returns how to reach it.
func start(t *testing.T) *rest.Config {
	t.Helper()
	folder := t.TempDir()
	etcd := embed.NewConfig()
	etcd.Dir, etcd.UnsafeNoFsync, etcd.LogLevel = filepath.Join(folder, "etcd"), true, "fatal"
	client, peer := url.URL{Scheme: "http", Host: free(t)}, url.URL{Scheme: "http", Host: free(t)}
	etcd.ListenClientUrls, etcd.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	etcd.ListenPeerUrls, etcd.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	etcd.InitialCluster = etcd.InitialClusterFromName(etcd.Name)
	store, err := embed.StartEtcd(etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	select {
	case <-store.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd is not ready after a minute")
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	signing := write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
	tokens := write("tokens.csv", []byte("token-admin,admin,1,system:masters\ntoken-all,all,2\ntoken-some,some,3\ntoken-nobody,nobody,4\n"))
	address := free(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(folder, "apiserver.log"))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(os.Args[0],
		"--etcd-servers="+client.String(), "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+folder, "--authorization-mode=RBAC",
		"--token-auth-file="+tokens, "--service-account-issuer=https://issuer.example.com", "--service-account-signing-key-file="+signing,
		"--service-account-key-file="+signing, "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount")
	server.Env, server.Stdout, server.Stderr = append(os.Environ(), asServer+"=1"), output, output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // which it was killed for
		output.Close()
		if t.Failed() {
			log, _ := os.ReadFile(output.Name())
			t.Logf("%.20000s", log)
		}
	})
	config := &rest.Config{Host: "https://" + address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	admin := kubernetes.NewForConfigOrDie(as(config, "admin"))
	for range 600 {
		if _, err = admin.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err == nil {
			return config
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the API server is not ready after a minute: ", err)
	return nil
}

// free returns an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
