package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/faultline/faultline/cluster/controlplane"
	"github.com/faultline/faultline/pkg/web"
)

// page shows a cluster in a browser, and follows it: a frame has the page of simulate run on the cluster as it is, and is loaded anew with each
// change.
type page struct {
	plane *controlplane.Plane
	run   []string // the arguments that run simulate run on the cluster

	mu    sync.Mutex
	drawn int64 // the version that html shows
	html  []byte
}

// frame is the page around the map. Its script waits for changes, at most one load at a time.
const frame = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>A cluster in memory · Faultline</title>
<style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100% } body { overflow: hidden }</style>
<iframe title="The cluster" src="map?version=0"></iframe>
<script>
(async () => {
	const frame = document.querySelector("iframe")
	for (let shown = 0; ; ) {
		try {
			const version = Number(await (await fetch("version?after=" + shown)).text())
			if (version === shown) continue
			shown = version
			await new Promise((loaded) => { frame.onload = loaded; frame.src = "map?version=" + version })
		} catch {
			document.title = "The cluster has ended · Faultline"
			await new Promise((later) => setTimeout(later, 2000))
		}
	}
})()
</script>
</html>
`

// empty is the map of a cluster in which nothing has a place yet.
const empty = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>A cluster in memory · Faultline</title>
<body style="font: 16px/1.5 system-ui; margin: 3em">
<p>The cluster has no pods yet. Create some, and they appear here:</p>
<pre>kubectl create deployment demo --image=pause --replicas=3</pre>
</html>
`

// maxWait is how long a browser waits for a change until it asks again.
const maxWait = 25 * time.Second

// servePage serves the page to this machine until the context ends, and returns its address.
func servePage(ctx context.Context, p *page) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	handlers := http.NewServeMux()
	handlers.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, frame) // a browser that has gone needs no answer
	})
	handlers.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64) // 0, if it is none
		wait, stop := context.WithTimeout(r.Context(), maxWait)
		defer stop()
		_, _ = fmt.Fprint(w, p.plane.AwaitVersion(wait, after)) // a browser that has gone needs no answer
	})
	handlers.HandleFunc("GET /map", func(w http.ResponseWriter, r *http.Request) {
		drawn, err := p.draw(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(drawn) // a browser that has gone needs no answer
	})
	hosts := web.HostsOf("127.0.0.1")
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Has(r.Host) {
			http.Error(w, fmt.Sprintf("the page is not served as %q; open the address that simulate cluster printed", r.Host), http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		handlers.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	return "http://" + listener.Addr().String(), nil
}

// draw returns the page of simulate run on the cluster as it is.
func (p *page) draw(ctx context.Context) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	version := p.plane.AwaitVersion(ctx, -1)
	if p.html != nil && p.drawn == version {
		return p.html, nil
	}
	if !p.plane.HasPods() {
		return []byte(empty), nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, own, p.run...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, errors.New(strings.TrimSpace(said.String()))
	}
	p.html, p.drawn = out.Bytes(), version
	return p.html, nil
}
