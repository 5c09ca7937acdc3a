package apiserver

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/faultline/faultline/cluster/memory"
)

// What clients write is in the store and nowhere else, so the variable that newETCD3Client names is the one that upstream calls. The kubeconfig's
// token is needed, and everything is wrapped. A process can have one server, so this is one test.
func TestStoresInMemory(t *testing.T) {
	store, wrapped := memory.NewStore(), make(chan bool, 1)
	server, err := Start(t.Context(), store, Options{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/namespaces/default/configmaps" && r.Method == http.MethodPost { // the server itself creates others
				wrapped <- true
			}
			next.ServeHTTP(w, r)
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*server.Kubeconfig("c"), nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://"+server.Address || !strings.HasPrefix(server.Address, "127.0.0.1:") {
		t.Errorf("the client asks %s, and the server listens at %s", config.Host, server.Address)
	}
	client := kubernetes.NewForConfigOrDie(config)
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(wrapped) != 1 {
		t.Error("the request was not wrapped")
	}
	if err := store.Update(func(w *memory.Writer) error {
		if kv := w.Get("/registry/configmaps/default/c"); kv == nil || !strings.Contains(string(kv.Value), string(created.UID)) {
			t.Errorf("the store has %v", kv)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"system-node-critical", "system-cluster-critical"} {
		if _, err := client.SchedulingV1().PriorityClasses().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	config.BearerToken = "another"
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("with another token: %v", err)
	}
}
