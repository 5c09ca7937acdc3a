package controlplane

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/faultline/faultline/cluster/memory"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/world"
)

// What keeps the world from acting is reported, and the client is warned; its request has been done. Here the store has a pod that is none.
func TestWarnsIfTheWorldCannotAct(t *testing.T) {
	idle, err := world.NewCluster(nil, sched.Ties{})
	if err != nil {
		t.Fatal(err)
	}
	p := &Plane{
		store: memory.NewStore(), time: newTimeline(time.Now, 1), ages: newAges(), settles: true, world: idle, state: &cluster.State{}, known: map[string]*object{},
		kinds: kinds{"Pod": {prefix: "/registry/pods/", decoder: legacyscheme.Codecs.UniversalDecoder(v1.SchemeGroupVersion)}},
	}
	var reported []string
	handler := Wrap(func() *Plane { return p }, func(err error) { reported = append(reported, err.Error()) }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_ = p.store.Update(func(to *memory.Writer) error {
				to.Put("/registry/pods/default/x", []byte("no pod"))
				return nil
			})
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "created")
		}
	}))
	server := httptest.NewServer(handler)
	defer server.Close()
	answer, err := http.Post(server.URL, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusCreated || string(body) != "created" {
		t.Errorf("%d %q", answer.StatusCode, body)
	}
	if warning := answer.Header.Get("Warning"); !strings.HasPrefix(warning, `299 - "the cluster cannot act: `) {
		t.Errorf("the warning is %q", warning)
	}
	if len(reported) != 1 {
		t.Errorf("reported: %q", reported)
	}
	get, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer get.Body.Close()
	if get.Header.Get("Warning") != "" || len(reported) != 1 {
		t.Errorf("a read is warned: %v", reported)
	}
}
