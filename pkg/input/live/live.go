// Package live reads the cluster that is there: its objects as kubectl get -o json prints them, so that what reads a dump reads them, too.
//
// It only lists, in chunks, the kinds that take part in scheduling and that the server has, and the parameters that bindings of admission
// policies name. It writes nothing, and reads no Secrets and no other ConfigMaps. Any answer that is not whole is an error, but for a kind that
// may not be read: its absence is noted.
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

// New returns a client of the cluster that the configuration is for. Errors begin with the name.
func New(name string, config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // one request at a time is gentle enough, and the server has priorities and fairness of its own
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "faultline"
	config.AcceptContentTypes, config.ContentType = "application/json", "application/json"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return &patient{to, sleep} })
	c := &Client{name: name, host: config.Host}
	transport, err := rest.HTTPClientFor(config)
	if err == nil {
		c.rest, err = rest.UnversionedRESTClientForConfigAndClient(config, transport)
	}
	if err == nil {
		c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, transport)
	}
	if err != nil {
		return nil, c.problem("", err)
	}
	return c, nil
}

// Dump is what a cluster holds.
type Dump struct {
	// Name is the client's.
	Name string
	// Version is the server's, as v1.36.2.
	Version string
	// Unread are the kinds of which the server may have objects that are not in the dump: Pod. Forbidden is what may not be read, in words,
	// and Notes say what that means for an answer.
	Unread    []string
	Forbidden []string
	Notes     []string
	// Counts are the numbers of objects by kind.
	Counts map[string]int
	// ResourceVersions are those of the lists, by kind: a watch that begins there misses nothing.
	ResourceVersions map[string]string

	parts [][]byte // the text of each kind's objects with commas between them, compressed
}

// Read reads the cluster. If progress is set, it is called with what is read, and how many kinds of how many are.
func (c *Client) Read(ctx context.Context, progress func(what string, done, total int)) (*Dump, error) {
	version, err := c.discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, c.problem("", err)
	}
	served, err := c.served(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{
		Client: c, progress: progress, parts: make([][]byte, len(kinds)),
		dump: &Dump{Name: c.name, Version: version.GitVersion, Unread: served.unknown, Notes: served.notes, ResourceVersions: map[string]string{}, Counts: map[string]int{}},
	}
	r.kinds = len(served.versions)
	for _, i := range reading() {
		if gv, found := served.versions[kinds[i].GroupResource]; found {
			if r.parts[i], err = r.read(ctx, kinds[i], gv); err != nil {
				return nil, err
			}
			r.done++
		}
	}
	if err := r.readParams(ctx, served.params); err != nil {
		return nil, err
	}
	return r.finish()
}

// resources are what a server has.
type resources struct {
	// versions are those in which to read the kinds, and unknown the kinds that it has in no version that is known here, with notes on them.
	versions map[schema.GroupResource]schema.GroupVersion
	unknown  []string
	notes    []string
	// params are all resources that can be listed, which may be parameters of policies.
	params map[schema.GroupVersionKind]metav1.APIResource
}

// served returns what the server has of that which is read.
func (c *Client) served(ctx context.Context) (*resources, error) {
	_, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err); partial {
		err = nil // of metrics, for example, which are not read
		for gv, cause := range failed {
			if slices.ContainsFunc(kinds, func(k kind) bool { return k.Group == gv.Group }) {
				return nil, c.problem(gv.String(), cause)
			}
		}
	}
	if err != nil {
		return nil, c.problem("", err)
	}
	found := &resources{versions: map[schema.GroupResource]schema.GroupVersion{}, params: map[schema.GroupVersionKind]metav1.APIResource{}}
	all := map[schema.GroupResource][]schema.GroupVersion{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				name := of(gv.Group, resource.Name)
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
			found.notes = append(found.notes, fmt.Sprintf("%s are not read: the server has them as %s alone, which is not known here. So %s.", k.plural(), versions[0], k.without))
		case k.without == "":
			return nil, c.errorf("the server has no %s; give the cluster that runs the pods", k.Resource)
		}
	}
	return found, nil
}

// Open returns the objects as a List in JSON.
func (d *Dump) Open() io.Reader {
	text, err := gzip.NewReader(d.Packed())
	if err != nil {
		panic(err) // it was written to memory
	}
	return text
}

// Packed returns the same as Open, compressed by gzip.
func (d *Dump) Packed() io.Reader {
	all := []io.Reader{bytes.NewReader(packed("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["))}
	between := packed(",")
	for i, part := range d.parts {
		if i > 0 {
			all = append(all, bytes.NewReader(between))
		}
		all = append(all, bytes.NewReader(part))
	}
	return io.MultiReader(append(all, bytes.NewReader(packed("\n]}\n")))...)
}

func packed(text string) []byte {
	var data bytes.Buffer
	to := gzip.NewWriter(&data)
	_, _ = io.WriteString(to, text) // writes to memory cannot fail
	_ = to.Close()
	return data.Bytes()
}
