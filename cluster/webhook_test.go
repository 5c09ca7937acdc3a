package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
)

// admit answers as a webhook that gives each pod a label, and refuses pods of an image without a tag.
func admit(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var pod v1.Pod
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
		http.Error(w, "no review of a pod", http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if r.URL.Path == "/mutate" {
		patch := admissionv1.PatchTypeJSONPatch
		answer.PatchType, answer.Patch = &patch, []byte(`[{"op":"add","path":"/metadata/labels/checked","value":"yes"}]`)
	} else if !strings.Contains(pod.Spec.Containers[0].Image, ":") {
		answer.Allowed = false
	}
	review.Request, review.Response = nil, answer
	_ = json.NewEncoder(w).Encode(review) // a server that has gone needs no answer
}

// webhooks are the configurations of a mutating and a validating webhook at an address.
const webhooks = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: label}
webhooks:
- name: label.example.com
  clientConfig: {url: "%[1]s/mutate", caBundle: %[2]s}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: tag}
webhooks:
- name: tag.example.com
  clientConfig: {url: "%[1]s/validate", caBundle: %[2]s}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`

// The API server calls webhooks on this machine: they change and refuse what clients create.
func TestWebhooks(t *testing.T) {
	c := start(t, "--nodes", "3")
	server := httptest.NewTLSServer(http.HandlerFunc(admit))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "webhooks.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, webhooks, server.URL, base64.StdEncoding.EncodeToString(authority)), 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(t, "kubectl apply -f "+file)
	for began := time.Now(); !strings.Contains(c.run(t, "kubectl run probe --image=web --dry-run=server"), "tag.example.com"); {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the server does not call the webhook")
		}
	}
	for _, test := range []struct{ line, want string }{
		{"kubectl run tagged --image=web:1", "pod/tagged created\n"},
		{"kubectl get pod tagged -o jsonpath={.metadata.labels.checked},{.status.phase}", "yes,Running"},
		{"kubectl run untagged --image=web", `Error from server: admission webhook "tag.example.com" denied the request without explanation` + "\n"},
		{"kubectl get pods -o name", "pod/tagged\n"},
	} {
		if got := c.run(t, test.line); got != test.want {
			t.Errorf("$ %s\n%swant\n%s", test.line, got, test.want)
		}
	}
}
