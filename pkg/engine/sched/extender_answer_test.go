package sched

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// serveText returns an extender that answers everything with the same text, except that it redirects /elsewhere to itself.
func serveText(t *testing.T, text string) *testExtender {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return &testExtender{Server: server}
}

// An invalid answer of an extender ends the run with one line that says what is wrong; if the extender is ignorable, the line is a note.
// The extender is asked about w1 to w3, or about preempting low-3 on w2, low-4 and low-5 on w3, and others.
func TestAnswersThatCannotBe(t *testing.T) {
	const filter, prioritize, preempt, cached = "filterVerb: filter", "prioritizeVerb: prioritize, weight: 1", "preemptVerb: preempt", "filterVerb: filter, nodeCacheCapable: true"
	node := func(name string) string { return `{"metadata":{"name":"` + name + `"}}` }
	nodes := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, node(name))
		}
		return `{"nodes":{"items":[` + strings.Join(all, ",") + `]}}`
	}
	points := func(of ...string) string { return `[` + strings.Join(of, ",") + `]` }
	for name, test := range map[string]struct{ verb, answer, want string }{
		"another node":                   {filter, nodes("w1", "w9"), `its answer names node "w9", which it was not asked about`},
		"a node that a plugin refused":   {filter, nodes("affinity-control-plane"), `its answer names node "affinity-control-plane", which it was not asked about`},
		"a node without a name":          {filter, nodes(""), `its answer names node "", which it was not asked about`},
		"a node twice":                   {filter, nodes("w1", "w2", "w1"), `its answer names node "w1" twice`},
		"a name twice":                   {cached, `{"nodenames":["w1","w1"]}`, `its answer names node "w1" twice`},
		"another node fails":             {filter, `{"nodes":{"items":[]},"failedNodes":{"w9":"no"}}`, `its answer names node "w9", which it was not asked about`},
		"another node fails for good":    {filter, `{"nodes":{"items":[]},"failedAndUnresolvableNodes":{"w9":"no"}}`, `its answer names node "w9", which it was not asked about`},
		"null":                           {filter, `null`, `its answer has neither nodes that pass nor nodes that fail`},
		"an empty object":                {filter, `{}`, `its answer has neither nodes that pass nor nodes that fail`},
		"names where nodes are wanted":   {filter, `{"nodenames":["w1"]}`, `its answer has neither nodes that pass nor nodes that fail`},
		"a redirect that ends in {}":     {"filterVerb: elsewhere", `{}`, `its answer has neither nodes that pass nor nodes that fail`},
		"an error of two lines":          {filter, `{"error":"no\nsimulate: error: forged\u001b[2J"}`, `no\nsimulate: error: forged\x1b[2J`},
		"nothing":                        {filter, ``, `it answers nothing`},
		"half of it":                     {filter, `{"nodes":`, `its answer ends too early`},
		"a page":                         {filter, `<html>`, `its answer is not JSON: invalid character '<' looking for beginning of value`},
		"a list":                         {filter, `[]`, `its answer does not fit: a list where an object is wanted`},
		"a number for a name":            {cached, `{"nodenames":[3]}`, `its answer does not fit: NodeNames: a number where a string is wanted`},
		"too much":                       {filter + ", httpTimeout: 10m", `{"error":"` + strings.Repeat("x", maxAnswerBytes+100_000) + `"}`, `its answer has more than `},
		"more than ten points":           {prioritize, points(`{"host":"w1","score":11}`), `its answer gives node "w1" 11 points; an extender gives 0 to 10`},
		"fewer than no points":           {prioritize, points(`{"host":"w1","score":10}`, `{"host":"w2","score":-1}`), `its answer gives node "w2" -1 points; an extender gives 0 to 10`},
		"points beyond all numbers":      {prioritize, points(`{"host":"w1","score":9223372036854775807}`), `its answer gives node "w1" 9223372036854775807 points; an extender gives 0 to 10`},
		"points beyond int64":            {prioritize, points(`{"host":"w1","score":9223372036854775808}`), `its answer does not fit: Score: the number 9223372036854775808 where a whole number is wanted`},
		"half a point":                   {prioritize, points(`{"host":"w1","score":1.5}`), `its answer does not fit: Score: the number 1.5 where a whole number is wanted`},
		"points in words":                {prioritize, points(`{"host":"w1","score":"ten"}`), `its answer does not fit: Score: a string where a whole number is wanted`},
		"points for another node":        {prioritize, points(`{"host":"w9","score":1}`), `its answer names node "w9", which it was not asked about`},
		"points twice":                   {prioritize, points(`{"host":"w1","score":1}`, `{"host":"w1","score":2}`), `its answer names node "w1" twice`},
		"an object for points":           {prioritize, `{}`, `its answer does not fit: an object where a list is wanted`},
		"victims on another node":        {preempt, `{"nodeNameToMetaVictims":{"affinity-control-plane":{"pods":[]}}}`, `its answer names node "affinity-control-plane", which it was not asked about`},
		"victims on a node that is none": {preempt, `{"nodeNameToMetaVictims":{"w9":{"pods":[]}}}`, `nodeinfo not found for node name "w9"`},
		"no victims":                     {preempt, `{"nodeNameToMetaVictims":{"w2":{"pods":[]}}}`, `its answer names node "w2" without a pod to preempt there`},
		"null victims":                   {preempt, `{"nodeNameToMetaVictims":{"w2":null}}`, `its answer has null where victims are wanted`},
		"a null victim":                  {preempt, `{"nodeNameToMetaVictims":{"w2":{"pods":[null]}}}`, `its answer has null where victims are wanted`},
		"a victim twice":                 {preempt, `{"nodeNameToMetaVictims":{"w2":{"pods":[{"uid":"LOW3"},{"uid":"LOW3"}]}}}`, `its answer names pod default/low-3 on node "w2" twice`},
	} {
		t.Run(name, func(t *testing.T) {
			pod := highPriorityPod("4")
			state := fullCluster(t).With(pod)
			for _, low := range state.Pods {
				if low.Name == "low-3" {
					test.answer = strings.ReplaceAll(test.answer, "LOW3", string(low.UID))
				}
			}
			if test.verb != preempt {
				state = walkthrough().With(pod)
			}
			s := serveText(t, test.answer)
			_, err := engineOf(t, s.config(t, test.verb), Ties{}).Place(t.Context(), state, []*v1.Pod{pod})
			verb, _, _ := strings.Cut(strings.Fields(test.verb)[1], ",")
			prefix, advice := "scheduling pod default/high-0: extender "+s.URL+"/"+verb+": "+test.want, "; mend it, "+extenderAdvice
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.HasSuffix(err.Error(), advice) || strings.Contains(err.Error(), "\n") ||
				name != "too much" && len(err.Error()) != len(prefix+advice) {
				t.Errorf("error %.500v, want %s%s", err, prefix, advice)
			}
			result, err := engineOf(t, s.config(t, test.verb+", ignorable: true"), Ties{}).Place(t.Context(), state, []*v1.Pod{pod})
			if err != nil {
				t.Fatal(err)
			}
			if name == "no victims" { // upstream leaves the node out
				return
			}
			if len(result.Placed) != 1 || len(result.Notes) != 1 || !strings.HasPrefix(result.Notes[0], "extender "+s.URL+"/"+verb+": "+test.want) {
				t.Errorf("an ignorable extender: placed %v with notes %q", describePlacements(result), result.Notes)
			}
		})
	}
}

// kube-scheduler's message leaves out nodes that an extender leaves out of its answer without a reason; the reasons have them.
func TestExtendersRefuseWithoutAReason(t *testing.T) {
	s := serveText(t, `{"nodes":{"items":[]},"failedNodes":{"w1":"no licence"}}`)
	_, pods := replicas("web", 1, nil)
	result, err := engineOf(t, s.config(t, "filterVerb: filter"), Ties{}).Place(t.Context(), walkthrough().With(pods[0]), pods)
	if err != nil {
		t.Fatal(err)
	}
	at := s.URL + "/filter"
	want := []placement.Reason{
		{Plugin: "TaintToleration", Message: "node(s) had untolerated taint(s)", Nodes: 1},
		{Plugin: at, Message: "no licence", Nodes: 1},
		{Plugin: at, Message: "rejected without a reason", Nodes: 2},
	}
	if diff := cmp.Diff(want, result.Pending[0].Reasons); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
