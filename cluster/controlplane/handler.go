package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
	"github.com/faultline/faultline/pkg/scenario"
)

// Wrap returns a handler that lets the world act after each request that changes something, before the request is answered, and that answers
// the plane's own requests. The plane is nil until the server is ready. What keeps the world from acting is reported, and the client is warned.
func Wrap(plane func() *Plane, report func(error), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := plane()
		switch {
		case p == nil:
			next.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, inmemory.APIPath):
			p.serve(w, r)
		case ofContainers.MatchString(r.URL.Path):
			writeStatus(w, noContainers)
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			if strings.Contains(r.Header.Get("Accept"), asTable) {
				p.serveTable(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		case httpstream.IsUpgradeRequest(r): // an answer that does not end, or a refusal
			next.ServeHTTP(w, r)
		default:
			held := &heldAnswer{ResponseWriter: w}
			next.ServeHTTP(responsewriter.WrapForHTTP1Or2(held), r)
			if err := p.Settle(r.Context()); err != nil && r.Context().Err() == nil {
				err = fmt.Errorf("the cluster cannot act: %w", err)
				report(err)
				if warning, err := utilnet.NewWarningHeader(299, "-", err.Error()); err == nil {
					w.Header().Add("Warning", warning)
				}
			}
			held.send()
		}
	})
}

// ofContainers matches the paths of what only a running container can answer.
var ofContainers = regexp.MustCompile(`^/api/v1/namespaces/[^/]+/pods/[^/]+/(log|exec|attach|portforward|proxy)(/|$)`)

var noContainers = &metav1.Status{
	TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented",
	Message: "no container runs in a cluster in memory: there are no logs, and nothing to connect to",
}

// heldAnswer holds an answer back until the world has acted.
type heldAnswer struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// WriteHeader keeps the code.
func (h *heldAnswer) WriteHeader(code int) { h.code = cmp.Or(h.code, code) }

// Write keeps the data.
func (h *heldAnswer) Write(data []byte) (int, error) { return h.body.Write(data) }

// Unwrap returns the writer below, for deadlines.
func (h *heldAnswer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *heldAnswer) send() {
	if h.code != 0 {
		h.ResponseWriter.WriteHeader(h.code)
	}
	_, _ = h.body.WriteTo(h.ResponseWriter) // a client that has gone needs no answer
}

// maxStep is how long a request of the plane's own may be, in bytes.
const maxStep = 1 << 20

// serve answers a request of the plane's own.
func (p *Plane) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == inmemory.APIPath+"save" {
		w.Header().Set("Content-Type", "application/gzip")
		_ = p.Save(w) // a client that has gone needs no answer
		return
	}
	answer, err := p.answer(w, r)
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Message: answer, Code: http.StatusOK}
	if err != nil {
		failed := apierrors.NewBadRequest(err.Error()).Status()
		status = &failed
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	}
	writeStatus(w, status)
}

func writeStatus(w http.ResponseWriter, status *metav1.Status) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // a client that has gone needs no answer
}

func (p *Plane) answer(w http.ResponseWriter, r *http.Request) (string, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxStep))
	if err != nil {
		return "", err
	}
	verb := strings.TrimPrefix(r.URL.Path, inmemory.APIPath)
	if do := p.verbs()[verb]; do != nil && r.Method == http.MethodPost {
		return do(r.Context(), body)
	}
	return "", fmt.Errorf("%s %s: there is POST %s with %s", r.Method, r.URL.Path, inmemory.APIPath, "advance, fork, save, step, steps or why")
}

// verbs are what a cluster does that kubectl cannot ask for: functions of the request's body.
func (p *Plane) verbs() map[string]func(ctx context.Context, body []byte) (string, error) {
	return map[string]func(context.Context, []byte) (string, error){
		"steps": func(ctx context.Context, body []byte) (string, error) {
			step := &scenario.LoadedStep{}
			if err := yaml.UnmarshalStrict(body, &step.Step); err != nil {
				return "", err
			}
			if err := step.CheckLive(); err != nil {
				return "", err
			}
			return p.Do(ctx, step)
		},
		"advance": func(ctx context.Context, body []byte) (string, error) {
			var by inmemory.Advance
			if err := yaml.UnmarshalStrict(body, &by); err != nil {
				return "", err
			}
			if by.By.Duration <= 0 {
				return "", fmt.Errorf("by: %s: give a length of time above 0, such as 10m", by.By.Duration)
			}
			return "advance " + by.By.Duration.String(), p.Advance(ctx, by.By.Duration)
		},
		"step": func(ctx context.Context, _ []byte) (string, error) {
			passed, err := p.Step(ctx)
			if err == nil && passed == 0 {
				return "nothing moves, and nothing waits", nil
			}
			return "step " + passed.String(), err
		},
		"fork": func(ctx context.Context, body []byte) (string, error) {
			var named inmemory.Fork
			if err := yaml.UnmarshalStrict(body, &named); err != nil {
				return "", err
			}
			var saved bytes.Buffer
			if err := p.Save(&saved); err != nil {
				return "", err
			}
			return p.fork(ctx, named.Name, &saved)
		},
		"why": func(ctx context.Context, body []byte) (string, error) {
			var target inmemory.Target
			if err := yaml.UnmarshalStrict(body, &target); err != nil {
				return "", err
			}
			return p.explain(ctx, target)
		},
	}
}
