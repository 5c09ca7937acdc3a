// Package livetest serves the objects of a dump over HTTP as an API server does: discovery, lists in chunks, and watches. With it, tests
// read a cluster over HTTP, and make it do what a real server does not do on demand.
package livetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/list"
)

// Version is the version of the server.
const Version = "v1.36.2"

// Cluster is an http.Handler that answers as the API server of a cluster.
type Cluster struct {
	// Before, if set, is called before each answer. If it returns true, it has answered.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// Forbidden lists the resources that nobody may list.
	Forbidden []string
	// Requests lists the requested paths, with their query parameters.
	Requests []string

	mu    sync.Mutex
	lists map[string][]json.RawMessage // by the path of the resource
	kinds map[string]string

	events  []event
	expired int
	changed chan struct{} // closed at the next event
}

// New returns a cluster with the objects of a dump, and with the resources of the kinds in empty, which have no objects.
func New(dump []byte, empty ...schema.GroupVersionKind) *Cluster {
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(dump, &list); err != nil {
		panic(err)
	}
	c := &Cluster{lists: map[string][]json.RawMessage{}, kinds: map[string]string{}, changed: make(chan struct{})}
	for _, item := range list.Items {
		var object metav1.TypeMeta
		if err := json.Unmarshal(item, &object); err != nil {
			panic(err)
		}
		at := c.addResource(object.GroupVersionKind())
		content := map[string]json.RawMessage{}
		if err := json.Unmarshal(item, &content); err != nil {
			panic(err)
		}
		delete(content, "apiVersion") // the items of a list lack both
		delete(content, "kind")
		item, err := json.Marshal(content)
		if err != nil {
			panic(err)
		}
		c.lists[at] = append(c.lists[at], item)
	}
	for _, gvk := range empty {
		c.addResource(gvk)
	}
	return c
}

// addResource returns the path of a kind's resource, and adds the resource to the server.
func (c *Cluster) addResource(gvk schema.GroupVersionKind) string {
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	at := path.Join("/apis", gvr.Group, gvr.Version, gvr.Resource)
	if gvr.Group == "" {
		at = path.Join("/api", gvr.Version, gvr.Resource)
	}
	if c.lists[at] == nil {
		c.lists[at], c.kinds[at] = []json.RawMessage{}, gvk.Kind
	}
	return at
}

// Remove removes an object from the resource at a path.
func (c *Cluster) Remove(at, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[at] = list.Without(c.lists[at], func(item json.RawMessage) bool {
		var object metav1.PartialObjectMetadata
		return json.Unmarshal(item, &object) == nil && object.Name == name
	})
}

// ServeHTTP answers as an API server.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.Requests = append(c.Requests, r.URL.RequestURI())
	c.mu.Unlock()
	if c.Before != nil && c.Before(w, r) {
		return
	}
	switch at, _ := splitNamespace(r.URL.Path); {
	case at == "/version":
		writeJSON(w, http.StatusOK, map[string]string{"major": "1", "minor": "36", "gitVersion": Version})
	case at == "/api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case at == "/apis":
		writeJSON(w, http.StatusOK, c.apiGroups())
	case c.lists[at] != nil && r.URL.Query().Get("watch") != "":
		c.serveWatch(w, r)
	case c.lists[at] != nil:
		c.serveList(w, r)
	default:
		c.serveResources(w, at)
	}
}

func (c *Cluster) apiGroups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	known := map[string]bool{}
	for at := range c.lists {
		parts := strings.Split(at, "/")
		if gv := path.Join(parts[2 : len(parts)-1]...); parts[1] == "apis" && !known[gv] {
			known[gv] = true
			version := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: parts[3]}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: parts[2], Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
	}
	return list
}

func (c *Cluster) serveResources(w http.ResponseWriter, at string) {
	gv := strings.TrimPrefix(strings.TrimPrefix(at, "/apis/"), "/api/")
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv}
	for of, kind := range c.kinds {
		if path.Dir(of) == at {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: path.Base(of), Kind: kind, Namespaced: c.namespaced(of), Verbs: []string{"get", "list", "watch"}})
		}
	}
	if len(list.APIResources) == 0 {
		WriteError(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		return
	}
	writeJSON(w, http.StatusOK, list)
}

// splitNamespace returns the path of a resource without a namespace, and the namespace.
func splitNamespace(at string) (resource, namespace string) {
	before, after, found := strings.Cut(at, "/namespaces/")
	if !found {
		return at, ""
	}
	namespace, resource, _ = strings.Cut(after, "/")
	return path.Join(before, resource), namespace
}

// namespaced reports whether objects of a resource are in namespaces.
func (c *Cluster) namespaced(at string) bool {
	return slices.ContainsFunc(c.lists[at], func(item json.RawMessage) bool { return decodeMeta(item).Namespace != "" })
}

func decodeMeta(item json.RawMessage) metav1.PartialObjectMetadata {
	var object metav1.PartialObjectMetadata
	_ = json.Unmarshal(item, &object) // it was read before
	return object
}

// selectItems returns the items that a request asks for, by namespace, field selector and label selector.
func selectItems(items []json.RawMessage, namespace string, r *http.Request) []json.RawMessage {
	of, labelled := fields.ParseSelectorOrDie(r.URL.Query().Get("fieldSelector")), labels.Everything()
	if text := r.URL.Query().Get("labelSelector"); text != "" {
		labelled, _ = labels.Parse(text)
	}
	return list.Where(items, func(item json.RawMessage) bool {
		object := decodeMeta(item)
		return (namespace == "" || object.Namespace == namespace) && of.Matches(fields.Set{"metadata.name": object.Name}) && labelled.Matches(labels.Set(object.Labels))
	})
}

// serveList answers with one chunk.
func (c *Cluster) serveList(w http.ResponseWriter, r *http.Request) {
	at, namespace := splitNamespace(r.URL.Path)
	if resource := path.Base(at); slices.Contains(c.Forbidden, resource) {
		group := ""
		if parts := strings.Split(at, "/"); parts[1] == "apis" {
			group = parts[2]
		}
		WriteError(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf("%s is forbidden: User %q cannot list resource %q in API group %q at the cluster scope",
			strings.TrimSuffix(resource+"."+group, "."), "ci", resource, group))
		return
	}
	c.mu.Lock()
	items, version := c.lists[at], c.version()
	c.mu.Unlock()
	items = selectItems(items, namespace, r)
	from, _ := strconv.Atoi(r.URL.Query().Get("continue")) // 0 if there is none
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	to := len(items)
	if limit > 0 {
		to = min(from+limit, to)
	}
	header := metav1.ListMeta{ResourceVersion: version}
	if left := int64(len(items) - to); left > 0 {
		header.Continue, header.RemainingItemCount = strconv.Itoa(to), &left
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"kind": c.kinds[at] + "List", "apiVersion": strings.TrimPrefix(strings.TrimPrefix(path.Dir(at), "/apis/"), "/api/"), "metadata": header, "items": items[from:to],
	})
}

// WriteError answers with an error.
func WriteError(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeJSON(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// Start serves the cluster until the server is closed.
func Start(c *Cluster) *httptest.Server { return httptest.NewServer(c) }

// Serve serves the cluster until the test ends.
func Serve(t testing.TB, c *Cluster) *httptest.Server {
	server := Start(c)
	t.Cleanup(server.Close)
	return server
}

// Kubeconfig writes a kubeconfig for the address into a folder, and returns its path. Its current context has the name.
func Kubeconfig(folder, name, address string) (string, error) {
	file := filepath.Join(folder, "kubeconfig")
	return file, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: %[1]s
contexts:
- {name: %[1]s, context: {cluster: %[1]s, user: reader}}
- {name: other, context: {cluster: %[1]s, user: reader}}
clusters:
- {name: %[1]s, cluster: {server: %[2]q}}
users:
- {name: reader, user: {token: t0ken}}
`, name, address), 0o600)
}
