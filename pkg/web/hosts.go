package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Hosts are the names by which clients may address a server, beside any IP address. A server refuses all other names, since a page of
// somebody else could reach it by a name that resolves to this machine (DNS rebinding).
type Hosts []string

// HostsOf returns the names of a server that listens at the host: localhost, and the name of the host. A server that listens everywhere has
// the name of this machine.
func HostsOf(host string) Hosts {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname() // without a name, others reach the machine by its addresses
	}
	return Hosts{"localhost", strings.ToLower(host)}
}

// Has reports whether clients may address the server by the host of a request, which may have a port.
func (h Hosts) Has(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	_, err = netip.ParseAddr(strings.Replace(name, "%25", "%", 1)) // an IPv6 address may have a zone
	return err == nil || slices.Contains(h, strings.ToLower(name))
}

// serviceSuffixes are the ends of the names of Services in a cluster. No name outside a cluster has them.
var serviceSuffixes = []string{".svc", ".svc.cluster.local"}

// CheckService returns the handler for clients that address it by these names, or by the name of a Service in a cluster.
func (h Hosts) CheckService(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
		isService := slices.ContainsFunc(serviceSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
		if !isService && !h.Has(r.Host) {
			http.Error(w, fmt.Sprintf("nothing is served as %q; use an IP address, %s, or NAME.NAMESPACE.svc", r.Host, strings.Join(h, " or ")), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
