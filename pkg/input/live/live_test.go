package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/faultline/faultline/pkg/input/live/livetest"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// smallCluster returns a cluster of 24 nodes, whose pods may need more than one chunk.
func smallCluster() *livetest.Cluster {
	return livetest.New(dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24}))
}

func newClient(t *testing.T, config *rest.Config) *Client {
	t.Helper()
	c, err := New("prod", config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readFrom(t *testing.T, c *livetest.Cluster) (*Dump, error) {
	t.Helper()
	return newClient(t, &rest.Config{Host: livetest.Serve(t, c).URL}).Read(context.Background(), nil)
}

// decodeObjects returns the objects of a List by kind and name, without managedFields.
func decodeObjects(t *testing.T, list io.Reader) map[string]any {
	t.Helper()
	var read struct{ Items []map[string]any }
	if err := json.NewDecoder(list).Decode(&read); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, item := range read.Items {
		meta := item["metadata"].(map[string]any)
		all[fmt.Sprint(item["kind"], meta["namespace"], meta["name"])] = item
	}
	return all
}

// The dump has the objects as kubectl get prints them: each with its apiVersion and kind, and without its managedFields.
func TestRead(t *testing.T) {
	dump := dumptest.Dump(dumptest.Options{Seed: 1})
	c := livetest.New(dump)
	var told []string
	read, err := newClient(t, &rest.Config{Host: livetest.Serve(t, c).URL}).Read(context.Background(), func(what string, done, total int) {
		told = append(told, fmt.Sprintf("%s (%d/%d)", what, done, total))
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"reading pods (0/17)", "reading pods, 500 of 1403 (0/17)", "reading pods, 1000 of 1403 (0/17)", "reading replicasets (1/17)"}; !slices.Equal(told[:4], want) {
		t.Errorf("told %q, want %q", told[:4], want)
	}
	want := decodeObjects(t, bytes.NewReader(dump))
	for _, obj := range want {
		delete(obj.(map[string]any)["metadata"].(map[string]any), "managedFields")
	}
	if diff := gocmp.Diff(want, decodeObjects(t, read.Open())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(read.Notes) > 0 || read.Version != livetest.Version || read.ResourceVersions["Pod"] != "70000" {
		t.Errorf("notes %q, version %s, resourceVersions %v", read.Notes, read.Version, read.ResourceVersions)
	}
	// The client reads pods in chunks, before their owners and their nodes, and asks only for the kinds of the table.
	var asked []string
	for _, request := range c.Requests {
		at, parameters, _ := strings.Cut(request, "?")
		if values, err := url.ParseQuery(parameters); err == nil && values.Has("limit") {
			asked = append(asked, path.Base(at)+" "+values.Get("limit"))
		}
		if strings.Contains(at, "secrets") || strings.Contains(at, "configmaps") {
			t.Errorf("asked for %s", request)
		}
	}
	if want := []string{"pods 500", "pods 500", "pods 500", "replicasets 500"}; !slices.Equal(asked[:4], want) || asked[len(asked)-1] != "nodes 500" {
		t.Errorf("asked for %q, want %q first and nodes last", asked, want)
	}
	set, err := manifest.Read(read.OpenCompressed(), manifest.Stdin) // compressed, as snapshot writes it
	if err != nil || len(set.Objects)+len(set.Ignored) < len(want)*9/10 {
		t.Errorf("%d objects of %d can be read back: %v", len(set.Objects), len(want), err)
	}
}

// If the user may not read a kind, a note says what its absence means. Without nodes or pods there is no answer.
func TestForbidden(t *testing.T) {
	c := smallCluster()
	c.Forbidden = []string{"poddisruptionbudgets", "replicasets"}
	read, err := readFrom(t, c)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ReplicaSets may not be read: those of Deployments are made up from their templates, and pods of others are assumed to come back.",
		"PodDisruptionBudgets may not be read: nothing blocks a drain, and no failure breaks a budget.",
		"simulate rbac prints the ClusterRole that allows to read everything.",
	}
	if diff := gocmp.Diff(want, read.Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"ReplicaSet", "PodDisruptionBudget"}, read.Unread); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
	c.Forbidden = []string{"nodes"}
	_, err = readFrom(t, c)
	if want := `prod: nodes: nodes is forbidden: User "ci" cannot list resource "nodes" in API group "" at the cluster scope; simulate rbac prints the ClusterRole that allows it`; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// The client does not ask for a version that only newer or older servers have. A note names a kind that the server has only in an unknown
// version.
func TestVersions(t *testing.T) {
	c := livetest.New(dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24, Kinds: []string{"Node", "Pod"}}),
		schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1beta1", Kind: "DeviceClass"},
		schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1alpha1", Kind: "Workload"},
		schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "NodeMetrics"})
	c.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "metrics") { // the server of the metrics API is down
			return false
		}
		livetest.WriteError(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request")
		return true
	}
	read, err := readFrom(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Workload"}; !slices.Equal(read.Unread, want) {
		t.Errorf("unread %q, want %q", read.Unread, want)
	}
	if want := []string{"Workloads are not read: the server has them as scheduling.k8s.io/v1alpha1 alone, which is not known here. So new pod groups are not made."}; !slices.Equal(read.Notes, want) {
		t.Errorf("notes %q, want %q", read.Notes, want)
	}
	var lists []string
	for _, request := range c.Requests {
		if at, _, list := strings.Cut(request, "?"); list && strings.Contains(request, "limit=") {
			lists = append(lists, at)
		}
	}
	if want := []string{"/api/v1/pods", "/apis/resource.k8s.io/v1beta1/deviceclasses", "/api/v1/nodes"}; !slices.Equal(slices.Compact(lists), want) {
		t.Errorf("asked for %q, want %q", lists, want)
	}
}

// A pod whose controller is deleted while the client reads the cluster is left out: it will be deleted, too. A pod whose controller the
// user may not read stays.
func TestGone(t *testing.T) {
	for _, forbidden := range []string{"", "replicasets"} {
		c := smallCluster()
		var sets struct {
			Items []metav1.PartialObjectMetadata
		}
		c.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if path.Base(r.URL.Path) == "replicasets" {
				c.Remove(r.URL.Path, sets.Items[0].Name)
			}
			return false
		}
		c.Forbidden = []string{forbidden}
		whole := decodeObjects(t, bytes.NewReader(dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24})))
		owned := map[string]int{} // by ReplicaSet
		for _, obj := range whole {
			owners, _ := obj.(map[string]any)["metadata"].(map[string]any)["ownerReferences"].([]any)
			for _, owner := range owners {
				if o := owner.(map[string]any); o["kind"] == "ReplicaSet" {
					owned[o["name"].(string)]++
				}
			}
		}
		removed := ""
		for name, pods := range owned {
			if removed == "" || cmp.Or(pods-owned[removed], strings.Compare(removed, name)) > 0 {
				removed = name
			}
		}
		sets.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: removed}}}
		read, err := readFrom(t, c)
		if err != nil {
			t.Fatal(err)
		}
		missing, note := len(whole)-len(decodeObjects(t, read.Open())), strings.Join(read.Notes, " ")
		switch {
		case forbidden == "" && (missing != 1+owned[removed] || !strings.HasPrefix(note, "set aside: Pod (shop/"+removed+"-") || !strings.HasSuffix(note, "controller was deleted while the cluster was read.")):
			t.Errorf("%d objects are missing, want %s and its %d pods; notes %q", missing, removed, owned[removed], note)
		case forbidden != "" && strings.Contains(note, "set aside"):
			t.Errorf("notes %q", note)
		}
	}
}

// Each error while the client reads pods is one line, and there is never a part of a dump.
func TestProblems(t *testing.T) {
	last := func(r *http.Request) bool { return r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("continue") != "" }
	gone := func(w http.ResponseWriter) {
		livetest.WriteError(w, http.StatusGone, metav1.StatusReasonExpired, "The provided continue parameter is too old")
	}
	for _, tt := range []struct {
		name   string
		before func(w http.ResponseWriter, r *http.Request, times int32) bool // times is how many requests it has answered so far
		want   string
	}{
		{"a list expires once", func(w http.ResponseWriter, r *http.Request, times int32) bool {
			if times > 0 {
				return false
			}
			gone(w)
			return true
		}, ""},
		{"a list expires twice", func(w http.ResponseWriter, _ *http.Request, _ int32) bool { gone(w); return true },
			"prod: pods: the list expired twice before its end; try again when the server answers faster"},
		{"the server is busy", func(w http.ResponseWriter, _ *http.Request, times int32) bool {
			if times > 2 {
				return false
			}
			w.Header().Set("Retry-After", "0")
			livetest.WriteError(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests")
			return true
		}, ""},
		{"the server stays busy", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Retry-After", "0")
			livetest.WriteError(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests")
			return true
		}, "prod: pods: HOST has too many requests, and had them for each of 10 attempts; try again later (it says: too many requests)"},
		{"the server is busy and does not say for how long", func(w http.ResponseWriter, _ *http.Request, times int32) bool {
			if times > 1 {
				return false
			}
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return true
		}, ""},
		{"the server is busy for longer than there is time", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Retry-After", "3600")
			livetest.WriteError(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "etcd is being compacted")
			return true
		}, "prod: pods: HOST answers 429 Too Many Requests and asks to wait 1h0m0s, which is longer than the request may take; give it more time with --request-timeout (it says: etcd is being compacted)"},
		{"the server is gone for a moment", func(w http.ResponseWriter, _ *http.Request, times int32) bool {
			if times > 0 {
				return false
			}
			livetest.WriteError(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down")
			return true
		}, ""},
		{"the server stays away", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			livetest.WriteError(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down")
			return true
		}, "prod: pods: apiserver is shutting down"},
		{"the connection breaks", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[`)
			return true
		}, "prod: pods: the connection to HOST broke; try again"},
		{"the server is slow", func(_ http.ResponseWriter, r *http.Request, _ int32) bool { <-r.Context().Done(); return true },
			"prod: pods: HOST took too long to answer; give it more time with --request-timeout"},
		{"credentials end", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			livetest.WriteError(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
			return true
		}, "prod: pods: HOST does not accept the credentials; log in anew, or give others"},
		{"the server fails", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			livetest.WriteError(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: no leader\nand more")
			return true
		}, "prod: pods: etcdserver: no leader and more"},
		{"the answer ends in an item", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":`)
			return true
		}, `prod: pods: the answer cannot be read: jsontext: unexpected EOF within "/items/0/metadata" after offset 71; give the address of an API server`},
		{"the answer is no list", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "[]")
			return true
		}, "prod: pods: the answer cannot be read: it is no object in JSON; give the address of an API server"},
		{"a proxy answers", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<html><head><title>ACME proxy</title><style>p{color:red}</style></head>\n<body><p>Log&nbsp;in &amp; go on</p></body></html>")
			return true
		}, `prod: pods: HOST answers with a page, as no API server does: 403 Forbidden, text/html, "ACME proxy Log in & go on"; log in where it says so, or give the address of an API server`},
		{"a proxy is away", func(w http.ResponseWriter, _ *http.Request, _ int32) bool {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "<h1>503</h1> "+strings.Repeat("no server is available ", 20))
			return true
		}, `prod: pods: HOST answers with a page, as no API server does: 503 Service Unavailable, text/html, "503 no server is available no server is available no server is available no server is available no server is available no …"; log in where it says so, or give the address of an API server`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dump := dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 60}) // two chunks of pods
			c := livetest.New(dump)
			var times atomic.Int32
			c.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if last(r) && tt.before(w, r, times.Load()) {
					times.Add(1)
					return true
				}
				return false
			}
			server := livetest.Serve(t, c)
			config := &rest.Config{Host: server.URL}
			switch {
			case strings.Contains(tt.want, "too long"):
				config.Timeout = 500 * time.Millisecond
			case strings.Contains(tt.want, "longer than"):
				config.Timeout = time.Minute
			}
			read, err := newClient(t, config).Read(context.Background(), nil)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got, want := len(decodeObjects(t, read.Open())), len(decodeObjects(t, bytes.NewReader(dump))); got != want || times.Load() == 0 {
					t.Errorf("%d objects, want %d; went wrong %d times", got, want, times.Load())
				}
				return
			}
			if want := strings.ReplaceAll(tt.want, "HOST", server.URL); err == nil || read != nil || err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// client-go cancels requests through this interface.
var _ utilnet.RoundTripperWrapper = &retryTransport{}

// Each attempt waits twice as long as the one before, up to a bound, unless the server says how long.
func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		code  int
		after string
		want  string
	}{
		{http.StatusTooManyRequests, "", "[250ms 500ms 1s 2s 4s 8s 10s 10s 10s]"},
		{http.StatusTooManyRequests, "3", "[3s 3s 3s 3s 3s 3s 3s 3s 3s]"},
		{http.StatusServiceUnavailable, "", "[250ms 500ms]"},
		{http.StatusServiceUnavailable, "1", "[1s 1s]"},
		{http.StatusInternalServerError, "", "[]"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if tt.after != "" {
				w.Header().Set("Retry-After", tt.after)
			}
			w.WriteHeader(tt.code)
		}))
		waits := []time.Duration{}
		p := &retryTransport{http.DefaultTransport, func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
		response, err := (&http.Client{Transport: p}).Get(server.URL)
		if response != nil {
			if response.Header.Get("Retry-After") != "" {
				t.Errorf("%d: client-go would try again", tt.code)
			}
			response.Body.Close()
		}
		if got := fmt.Sprint(waits); got != tt.want || (err != nil) != (tt.code == http.StatusTooManyRequests) {
			t.Errorf("%d with Retry-After %q: waits %s, want %s; %v", tt.code, tt.after, got, tt.want, err)
		}
		server.Close()
	}
}

// Each error of a connection is one line, too.
func TestNoConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	listener.Close()
	expired, authority := expiredServer(t)
	good := httptest.NewTLSServer(smallCluster())
	t.Cleanup(good.Close)
	plain := livetest.Serve(t, smallCluster())
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	for _, tt := range []struct {
		name   string
		config *rest.Config
		want   string
	}{
		{"nobody listens", &rest.Config{Host: nobody}, "prod: nothing listens at HOST; check the address, and whether the cluster runs"},
		{"the certificate has expired", &rest.Config{Host: expired, TLSClientConfig: rest.TLSClientConfig{CAData: authority}},
			"prod: the certificate of HOST has expired, or is not valid yet: "},
		{"the authority is unknown", &rest.Config{Host: good.URL}, "prod: the certificate of HOST is of an unknown authority; give its certificate with --certificate-authority"},
		{"the plugin fails", &rest.Config{Host: plain.URL, ExecProvider: &api.ExecConfig{Command: "false", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode}},
			"prod: the credential plugin failed: exec: executable false failed with exit code 1"},
		{"it is no API server", &rest.Config{Host: page.URL}, "prod: the server could not find the requested resource"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read, err := newClient(t, tt.config).Read(context.Background(), nil)
			if want := strings.ReplaceAll(tt.want, "HOST", tt.config.Host); err == nil || read != nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// expiredServer returns the address of a server whose certificate has expired, and the certificate.
func expiredServer(t *testing.T) (string, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1e9, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(smallCluster())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}
