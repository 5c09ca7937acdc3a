package live

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/live/livetest"
)

// clusterWithPolicies returns a cluster with policies. The policy limit has ConfigMaps of any namespace by name as parameters, floor has objects of its
// own resource by labels, and vault a Secret. No binding names the ConfigMap other.
func clusterWithPolicies() *livetest.Cluster {
	object := func(apiVersion, kind, namespace, name, rest string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":%q,"labels":{"tier":%q},"uid":"%[4]s"}%[6]s}`, apiVersion, kind, namespace, name, name, rest)
	}
	policies := "admissionregistration.k8s.io/v1"
	return livetest.New([]byte(`{"items":[` + strings.Join([]string{
		object("v1", "Node", "", "n1", ""), object("v1", "Pod", "shop", "p", ""),
		object(policies, "ValidatingAdmissionPolicy", "", "limit", `,"spec":{"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}}`),
		object(policies, "ValidatingAdmissionPolicyBinding", "", "any", `,"spec":{"policyName":"limit","paramRef":{"name":"max"}}`),
		object(policies, "ValidatingAdmissionPolicyBinding", "", "shop", `,"spec":{"policyName":"limit","paramRef":{"name":"max","namespace":"shop"}}`),
		object(policies, "ValidatingAdmissionPolicy", "", "vault", `,"spec":{"paramKind":{"apiVersion":"v1","kind":"Secret"}}`),
		object(policies, "ValidatingAdmissionPolicyBinding", "", "secret", `,"spec":{"policyName":"vault","paramRef":{"name":"max","namespace":"shop"}}`),
		object(policies, "MutatingAdmissionPolicy", "", "floor", `,"spec":{"paramKind":{"apiVersion":"rules.example.com/v1","kind":"Floor"}}`),
		object(policies, "MutatingAdmissionPolicyBinding", "", "gold", `,"spec":{"policyName":"floor","paramRef":{"selector":{"matchLabels":{"tier":"gold"}}}}`),
		object("v1", "ConfigMap", "shop", "max", ""), object("v1", "ConfigMap", "infra", "max", ""), object("v1", "ConfigMap", "shop", "other", ""),
		object("v1", "Secret", "shop", "max", ""),
		object("rules.example.com/v1", "Floor", "", "gold", ""), object("rules.example.com/v1", "Floor", "", "silver", ""),
	}, ",") + `]}`))
}

// The client reads only the parameters that bindings name, with requests that a role can allow by name. The dump has the definition of a
// resource as far as discovery shows it.
func TestParameters(t *testing.T) {
	c := clusterWithPolicies()
	read, err := readFrom(t, c)
	if err != nil {
		t.Fatal(err)
	}
	all := decodeObjects(t, read.Open())
	var got []string
	for name := range maps.Keys(all) {
		if !strings.Contains(name, "Admission") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{"ConfigMapinframax", "ConfigMapshopmax", "CustomResourceDefinition<nil>floors.rules.example.com", "Floorgold", "Noden1", "Podshopp"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(map[string]any{"group": "rules.example.com", "names": map[string]any{"kind": "Floor", "plural": "floors"}, "scope": "Cluster"},
		all["CustomResourceDefinition<nil>floors.rules.example.com"].(map[string]any)["spec"]); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"Secret shop/max may not be read, so ValidatingAdmissionPolicyBinding secret is left out: its policy could refuse or change new pods and workloads.",
		"simulate rbac prints the ClusterRole that allows to read everything."}, read.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	var asked []string
	for _, request := range c.Requests {
		if strings.Contains(request, "Selector=") {
			asked = append(asked, request)
		}
		if strings.Contains(request, "secrets") {
			t.Errorf("asked for %s", request)
		}
	}
	if diff := gocmp.Diff([]string{
		"/api/v1/configmaps?fieldSelector=metadata.name%3Dmax&limit=500", "/api/v1/namespaces/shop/configmaps?fieldSelector=metadata.name%3Dmax&limit=500",
		"/apis/rules.example.com/v1/floors?labelSelector=tier%3Dgold&limit=500",
	}, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A binding is left out if the user may not read its parameters. The note names the role that would allow it.
func TestParametersForbidden(t *testing.T) {
	c := clusterWithPolicies()
	c.Forbidden = []string{"configmaps", "floors"}
	read, err := readFrom(t, c)
	if err != nil {
		t.Fatal(err)
	}
	all := decodeObjects(t, read.Open())
	for _, binding := range []string{"ValidatingAdmissionPolicyBindingany", "ValidatingAdmissionPolicyBindingshop", "MutatingAdmissionPolicyBindinggold"} {
		if all[binding] != nil {
			t.Errorf("%s is still there", binding)
		}
	}
	if all["ValidatingAdmissionPolicylimit"] == nil || len(read.Unread) > 0 {
		t.Errorf("%v; unread %q", slices.Sorted(maps.Keys(all)), read.Unread)
	}
	want := []string{
		"ConfigMap max may not be read, so ValidatingAdmissionPolicyBinding any is left out: its policy could refuse or change new pods and workloads.",
		"ConfigMap shop/max may not be read, so ValidatingAdmissionPolicyBinding shop is left out: its policy could refuse or change new pods and workloads.",
		"Secret shop/max may not be read, so ValidatingAdmissionPolicyBinding secret is left out: its policy could refuse or change new pods and workloads.",
		"Any Floor with labels tier=gold may not be read, so MutatingAdmissionPolicyBinding gold is left out: its policy could refuse or change new pods and workloads.",
		"simulate rbac --parameters configmaps/max --parameters floors.rules.example.com prints the ClusterRole that allows to read everything.",
	}
	if diff := gocmp.Diff(want, read.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// A resource that is deleted before the client lists its objects has none. Any other failure is an error.
func TestParametersGone(t *testing.T) {
	for code, want := range map[int]string{http.StatusNotFound: "", http.StatusInternalServerError: "prod: floors: etcd is down"} {
		c := clusterWithPolicies()
		c.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/floors") {
				return false
			}
			reason := map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusInternalServerError: metav1.StatusReasonInternalError}[code]
			livetest.WriteError(w, code, reason, "etcd is down")
			return true
		}
		if _, err := readFrom(t, c); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d: %v, want %q", code, err, want)
		}
	}
}

func TestParseParameters(t *testing.T) {
	for text, want := range map[string]Parameters{
		"configmaps": {groupResource("", "configmaps"), ""}, "configmaps/limit": {groupResource("", "configmaps"), "limit"},
		"floors.rules.example.com/a.b": {schema.GroupResource{Group: "rules.example.com", Resource: "floors"}, "a.b"},
	} {
		if got, err := ParseParameters(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "configmaps/", "a/b/c", "secrets", "secrets/x", "ConfigMap"} {
		if got, err := ParseParameters(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
