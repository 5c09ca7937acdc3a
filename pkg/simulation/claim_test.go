package simulation

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// In a cluster without a default class, no controller binds a claim without a class; its pod is Pending with kube-scheduler's message.
func TestClaimThatNobodyBinds(t *testing.T) {
	node := runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}`)}
	set := runtime.RawExtension{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"serviceName": "db",
		"selector": {"matchLabels": {"app": "db"}}, "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
		"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}`)}
	s, err := loader.New("claim", &scenario.File{
		Cluster: []scenario.Source{{Objects: []runtime.RawExtension{node}}}, Workloads: []scenario.Source{{Objects: []runtime.RawExtension{set}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pending := runCase(t, s).Steps[0].Pending
	if len(pending) != 1 {
		t.Fatalf("%d Pending, want db-0", len(pending))
	}
	if want := "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"; pending[0].Message != want {
		t.Errorf("message %q, want %q", pending[0].Message, want)
	}
}

// A missing claim is not a mistake in the input: a user may create it later, and until then the pod is Pending.
func TestClaimThatIsMissing(t *testing.T) {
	node := runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}`)}
	pod := runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}],
		"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}`)}
	s, err := loader.New("claim", &scenario.File{
		Cluster: []scenario.Source{{Objects: []runtime.RawExtension{node}}}, Workloads: []scenario.Source{{Objects: []runtime.RawExtension{pod}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pending := runCase(t, s).Steps[0].Pending
	if want := `0/1 nodes are available: persistentvolumeclaim "data" not found. not found`; len(pending) != 1 || pending[0].Message != want {
		t.Errorf("Pending %v, want one with %q", pending, want)
	}
}
