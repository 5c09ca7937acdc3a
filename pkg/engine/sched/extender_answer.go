package sched

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// kube-scheduler accepts whatever extenders answer. An invalid answer would make a report wrong, or crash its arithmetic, so the engine
// treats it as no answer.

// maxAnswerBytes is how many bytes an answer may have in addition to the size of the question: it may repeat the question's nodes.
const maxAnswerBytes = 64 << 20

// limitAnswer bounds how much of an answer upstream's client reads. The client itself has no limit, and no option for one.
func limitAnswer(extender fwk.Extender) {
	client := (*http.Client)(reflect.ValueOf(extender).Elem().FieldByName("client").UnsafePointer())
	client.Transport = limitedTransport{client.Transport}
}

type limitedTransport struct{ http.RoundTripper }

func (l limitedTransport) RoundTrip(question *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(question)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, question.ContentLength+maxAnswerBytes)
	}
	return answer, err
}

// askedNodes records which nodes of a question an answer has named.
type askedNodes map[string]bool

// newAskedNodes returns the nodes of a question, none of which has been named yet.
func newAskedNodes(nodes []fwk.NodeInfo) askedNodes {
	a := make(askedNodes, len(nodes))
	for _, node := range nodes {
		a[node.Node().Name] = false
	}
	return a
}

// markNamed records that the answer names the node. It returns an error if the question has no such node, or the answer names it twice.
func (a askedNodes) markNamed(node string) error {
	again, known := a[node]
	switch {
	case !known:
		return fmt.Errorf("its answer names node %q, which it was not asked about", node)
	case again:
		return fmt.Errorf("its answer names node %q twice", node)
	}
	a[node] = true
	return nil
}

// checkFiltered returns an error if the answer to a filter request is invalid.
func checkFiltered(nodes, passed []fwk.NodeInfo, failed, unresolvable extenderv1.FailedNodesMap) error {
	if passed == nil && len(failed)+len(unresolvable) == 0 {
		return errors.New("its answer has neither nodes that pass nor nodes that fail")
	}
	asked := newAskedNodes(nodes)
	for _, node := range passed {
		if err := asked.markNamed(node.Node().Name); err != nil {
			return err
		}
	}
	for _, refused := range []extenderv1.FailedNodesMap{failed, unresolvable} { // a node may be in both; kube-scheduler also accepts a node that is in passed and in one of these
		asked := newAskedNodes(nodes)
		for _, node := range slices.Sorted(maps.Keys(refused)) {
			if err := asked.markNamed(node); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPoints returns an error if the answer to a prioritize request is invalid.
func checkPoints(nodes []fwk.NodeInfo, points extenderv1.HostPriorityList) error {
	asked := newAskedNodes(nodes)
	for _, host := range points {
		if err := asked.markNamed(host.Host); err != nil {
			return err
		}
		if host.Score < extenderv1.MinExtenderPriority || host.Score > extenderv1.MaxExtenderPriority {
			return fmt.Errorf("its answer gives node %q %d points; an extender gives %d to %d", host.Host, host.Score, extenderv1.MinExtenderPriority, extenderv1.MaxExtenderPriority)
		}
	}
	return nil
}

// checkVictims returns errors that preemption would only log: for a node that was no candidate, and for a node without victims. Upstream
// ignores the latter if the extender is ignorable.
func (x *extender) checkVictims(candidates, chosen map[string]*extenderv1.Victims) error {
	for _, node := range slices.Sorted(maps.Keys(chosen)) {
		if _, known := candidates[node]; !known {
			return fmt.Errorf("its answer names node %q, which it was not asked about", node)
		}
		pods := chosen[node].Pods
		if len(pods) == 0 && !x.IsIgnorable() {
			return fmt.Errorf("its answer names node %q without a pod to preempt there", node)
		}
		for i, pod := range pods {
			if slices.Contains(pods[:i], pod) {
				return fmt.Errorf("its answer names pod %s/%s on node %q twice", pod.Namespace, pod.Name, node)
			}
		}
	}
	return nil
}

// describeError describes an error of the extender's client without the names of Go types.
func (x *extender) describeError(err error) string {
	var misfit *json.UnmarshalTypeError
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it does not answer within its httpTimeout of %s", x.config.HTTPTimeout.Duration)
	case errors.As(err, &misfit):
		text := fmt.Sprintf("%s where %s is wanted", jsonValue(misfit.Value), jsonKind(misfit.Type))
		if misfit.Field != "" {
			text = misfit.Field + ": " + text
		}
		return "its answer does not fit: " + text
	case errors.As(err, new(*json.SyntaxError)):
		return fmt.Sprintf("its answer is not JSON: %v", err)
	case errors.Is(err, io.EOF):
		return "it answers nothing"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "its answer ends too early"
	case errors.As(err, &large):
		return fmt.Sprintf("its answer has more than %d bytes", large.Limit)
	}
	return err.Error()
}

// jsonValue names a JSON value. It takes encoding/json's description: "number 1.5", "array", "bool".
func jsonValue(value string) string {
	kind, number, _ := strings.Cut(value, " ")
	switch kind {
	case "number":
		if number != "" {
			return "the number " + number
		}
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// jsonKind names the JSON value that fits the type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a whole number"
}
