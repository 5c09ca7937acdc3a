package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// auditEvent contains the relevant fields of an Event of audit.k8s.io/v1.
type auditEvent struct {
	Kind      string `json:"kind"`
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	ObjectRef struct {
		Resource    string    `json:"resource"`
		Subresource string    `json:"subresource"`
		Namespace   string    `json:"namespace"`
		Name        string    `json:"name"`
		UID         types.UID `json:"uid"`
	} `json:"objectRef"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent      string `json:"userAgent"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp metav1.MicroTime `json:"requestReceivedTimestamp"`
	StageTimestamp           metav1.MicroTime `json:"stageTimestamp"`
	RequestObject            json.RawMessage  `json:"requestObject"`
	ResponseObject           json.RawMessage  `json:"responseObject"`
}

// maxLine is the maximum size of a line of an audit log: a request to the API server has at most 3 MiB, and its response may be as large.
const maxLine = 16 << 20

// decodeAudit reads an audit log, which has an Event of audit.k8s.io/v1 on each line. It skips lines that concern neither pods nor nodes.
func decodeAudit(file string, in io.Reader) ([]fact, error) {
	var facts []fact
	pods := false
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			what := "not the JSON of an audit event"
			if !json.Valid(line) {
				what = "not JSON, or cut off"
			}
			return nil, fmt.Errorf("%s: line %d: %s; give the audit log as the API server wrote it, an Event of audit.k8s.io/v1 on each line", file, n, what)
		}
		done := e.Kind == "Event" && e.Stage == "ResponseComplete" && e.ResponseStatus.Code < 300
		switch {
		case e.Kind == "Event" && e.ObjectRef.Resource == "pods":
			if pods = true; done {
				facts = append(facts, e.facts()...)
			}
		case done && e.ObjectRef.Resource == "nodes" && e.ObjectRef.Subresource == "":
			facts = append(facts, e.nodeFacts()...)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: line %d: longer than %d MiB", file, n+1, maxLine>>20)
	case err != nil:
		return nil, err
	case !pods:
		return nil, fmt.Errorf("%s: no requests about pods; give an audit log of the API server with pods and pods/binding", file)
	}
	return facts, nil
}

// facts returns what the request did to a pod.
func (e *auditEvent) facts() []fact {
	f := fact{
		audit: true, exact: true, at: e.StageTimestamp.Time, uid: e.ObjectRef.UID,
		pod: types.NamespacedName{Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name},
	}
	var pod v1.Pod
	if json.Unmarshal(e.ResponseObject, &pod) == nil && pod.Kind == "Pod" && pod.UID != "" {
		f.uid, f.pod.Name = pod.UID, pod.Name
	}
	switch {
	case e.Verb == "create" && e.ObjectRef.Subresource == "binding":
		var binding v1.Binding
		if json.Unmarshal(e.RequestObject, &binding) == nil {
			f.node = binding.Target.Name
		}
		f.kind, f.at = podScheduled, e.RequestReceivedTimestamp.Time
		f.uid = "" // objectRef has the binding's UID, not the pod's
		if binding.UID != "" {
			f.uid = binding.UID
		}
	case e.Verb == "create" && e.ObjectRef.Subresource == "":
		f.kind = podCreated
		if len(pod.Spec.Containers) > 0 {
			f.object = &pod
		}
	case e.Verb == "create" && e.ObjectRef.Subresource == "eviction":
		f.kind = podDeletionRequested
	case e.Verb == "delete":
		f.kind = podDeletionRequested
		f.preempted = strings.HasSuffix(e.UserAgent, "/scheduler") || strings.HasPrefix(e.UserAgent, "kube-scheduler/") || e.User.Username == "system:kube-scheduler"
		var options metav1.DeleteOptions
		_ = json.Unmarshal(e.RequestObject, &options) // the log may lack the request, depending on the audit level
		now := options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0 ||
			pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
		if now || strings.HasPrefix(e.User.Username, "system:node:") {
			f.kind = podGone // a kubelet deletes a pod after the pod has ended
		}
	default:
		return nil
	}
	return []fact{f}
}

// nodeFacts returns what the request did to a node. If the log has neither the node nor the request, the fact only says that the node was
// changed.
func (e *auditEvent) nodeFacts() []fact {
	f := fact{audit: true, exact: true, at: e.StageTimestamp.Time, maxDelay: e.StageTimestamp.Sub(e.RequestReceivedTimestamp.Time), node: e.ObjectRef.Name}
	var node v1.Node
	if json.Unmarshal(e.ResponseObject, &node) == nil && node.Kind == "Node" && node.Name != "" {
		f.node = node.Name
	}
	switch e.Verb {
	case "delete":
		f.kind = nodeRemoved
		return []fact{f}
	case "create":
		f.kind = nodeAdded
	case "patch", "update":
		if f.kind = nodePatched; strings.HasSuffix(e.UserAgent, "/node-controller") || strings.HasSuffix(e.User.Username, ":node-controller") {
			f.kind = nodePatchedByController
		}
	default:
		return nil
	}
	if f.node == "" {
		return nil
	}
	facts := []fact{f}
	if node.Kind == "Node" {
		f.kind, f.cordoned, f.taints = nodeTaintsSet, &node.Spec.Unschedulable, node.Spec.Taints
		if facts[0].kind == nodeAdded {
			return append(facts, f)
		}
		return []fact{f}
	}
	var request struct {
		Spec struct {
			Unschedulable json.RawMessage `json:"unschedulable"`
			Taints        json.RawMessage `json:"taints"`
		} `json:"spec"`
	}
	if e.Verb != "patch" || json.Unmarshal(e.RequestObject, &request) != nil || len(e.RequestObject) == 0 || string(e.RequestObject) == "null" {
		return facts
	}
	// A patch replaces the taints, which are one list. A field that the patch does not name stays as it was.
	facts = nil
	if taints := []v1.Taint(nil); len(request.Spec.Taints) > 0 && json.Unmarshal(request.Spec.Taints, &taints) == nil {
		f.kind, f.taints = nodeTaintsSet, taints
		facts = append(facts, f)
	}
	if cordoned := false; len(request.Spec.Unschedulable) > 0 && json.Unmarshal(request.Spec.Unschedulable, &cordoned) == nil {
		f.kind, f.cordoned = nodeCordonChanged, &cordoned
		facts = append(facts, f)
	}
	return facts
}
