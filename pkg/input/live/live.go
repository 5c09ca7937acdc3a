// Package live reads a running cluster into a dump: its objects as kubectl get -o json prints them, so that a reader of dumps can read
// them.
//
// It only lists objects, in chunks: the kinds that take part in scheduling and that the server has, and the parameters that bindings of
// admission policies name. It writes nothing, and reads no Secrets and no other ConfigMaps. An incomplete answer is an error. The exception
// is a kind that the user may not read: a note says what its absence means.
package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Client reads one cluster.
type Client struct {
	name      string
	host      string
	rest      *rest.RESTClient
	discovery *discovery.DiscoveryClient
}

// New returns a client of the cluster of the configuration. Errors begin with the name.
func New(name string, config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit: requests go one at a time, and the server has its own priorities and fairness
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "faultline"
	config.AcceptContentTypes, config.ContentType = "application/json", "application/json"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return &retryTransport{to, sleep} })
	c := &Client{name: name, host: config.Host}
	transport, err := rest.HTTPClientFor(config)
	if err == nil {
		c.rest, err = rest.UnversionedRESTClientForConfigAndClient(config, transport)
	}
	if err == nil {
		c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, transport)
	}
	if err != nil {
		return nil, c.wrapError("", err)
	}
	return c, nil
}

// Dump holds the objects of a cluster.
type Dump struct {
	// Name is the name of the client.
	Name string
	// Version is the version of the server, such as v1.36.2.
	Version string
	// Unread lists the kinds, such as Pod, whose objects are not all in the dump. Forbidden lists, in words, the objects that the user may
	// not read, and Notes say what that means for an answer.
	Unread    []string
	Forbidden []string
	Notes     []string
	// Counts has the number of objects of each kind.
	Counts map[string]int
	// ResourceVersions has the version of each kind's list. A watch that begins there misses nothing.
	ResourceVersions map[string]string

	parts [][]byte // per kind: the objects with commas between them, compressed by gzip
}

// Read reads the cluster. If progress is set, Read calls it with the present activity, the number of kinds that are read, and the number of
// all kinds.
func (c *Client) Read(ctx context.Context, progress func(what string, done, total int)) (*Dump, error) {
	version, err := c.discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, c.wrapError("", err)
	}
	served, err := c.discoverResources(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{
		Client: c, progress: progress, parts: make([][]byte, len(kinds)),
		dump: &Dump{Name: c.name, Version: version.GitVersion, Unread: served.unknown, Notes: served.notes, ResourceVersions: map[string]string{}, Counts: map[string]int{}},
	}
	r.kindCount = len(served.versions)
	for _, i := range readOrder() {
		if gv, found := served.versions[kinds[i].GroupResource]; found {
			if r.parts[i], err = r.readKind(ctx, kinds[i], gv); err != nil {
				return nil, err
			}
			r.done++
		}
	}
	if err := r.readParams(ctx, served.params); err != nil {
		return nil, err
	}
	return r.completeDump()
}

// servedResources lists the resources of a server.
type servedResources struct {
	// versions has the version in which to read each kind. unknown lists the kinds of which the server has only versions that are unknown
	// here, with notes on them.
	versions map[schema.GroupResource]schema.GroupVersion
	unknown  []string
	notes    []string
	// params has all resources that can be listed. Each may be a parameter of policies.
	params map[schema.GroupVersionKind]metav1.APIResource
}

// discoverResources asks the server for its resources.
func (c *Client) discoverResources(ctx context.Context) (*servedResources, error) {
	_, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err); partial {
		err = nil // for example the group of metrics, which the client does not read
		for gv, cause := range failed {
			if slices.ContainsFunc(kinds, func(k kind) bool { return k.Group == gv.Group }) {
				return nil, c.wrapError(gv.String(), cause)
			}
		}
	}
	if err != nil {
		return nil, c.wrapError("", err)
	}
	found := &servedResources{versions: map[schema.GroupResource]schema.GroupVersion{}, params: map[schema.GroupVersionKind]metav1.APIResource{}}
	all := map[schema.GroupResource][]schema.GroupVersion{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				name := groupResource(gv.Group, resource.Name)
				all[name] = append(all[name], gv)
				found.params[gv.WithKind(resource.Kind)] = resource
			}
		}
	}
	for _, k := range kinds {
		versions := all[k.GroupResource]
		version, known := k.version(versions)
		switch {
		case known:
			found.versions[k.GroupResource] = version
		case len(versions) > 0:
			found.unknown = append(found.unknown, k.name)
			found.notes = append(found.notes, fmt.Sprintf("%s are not read: the server has them as %s alone, which is not known here. So %s.", k.plural(), versions[0], k.absenceNote))
		case k.absenceNote == "":
			return nil, c.errorf("the server has no %s; give the cluster that runs the pods", k.Resource)
		}
	}
	return found, nil
}

// Open returns the objects as a List in JSON.
func (d *Dump) Open() io.Reader {
	text, err := gzip.NewReader(d.OpenCompressed())
	if err != nil {
		panic(err) // the data comes from this process
	}
	return text
}

// OpenCompressed returns the objects as a List in JSON, compressed by gzip.
func (d *Dump) OpenCompressed() io.Reader {
	all := []io.Reader{bytes.NewReader(compress("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["))}
	between := compress(",")
	for i, part := range d.parts {
		if i > 0 {
			all = append(all, bytes.NewReader(between))
		}
		all = append(all, bytes.NewReader(part))
	}
	return io.MultiReader(append(all, bytes.NewReader(compress("\n]}\n")))...)
}

// compress returns the text, compressed by gzip.
func compress(text string) []byte {
	var data bytes.Buffer
	to := gzip.NewWriter(&data)
	_, _ = io.WriteString(to, text) // writes to memory cannot fail
	_ = to.Close()
	return data.Bytes()
}
