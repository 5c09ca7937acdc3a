package verify

import (
	"fmt"
	"strings"
	"testing"
)

// Three equal nodes, of which n2 has a pod less: b belongs to n2, but came to n1. A source that says that n2 was not usable explains b. A
// source that says nothing about n2, or that n2 was usable, does not.
func TestNodesThatWereNotUsable(t *testing.T) {
	const cordon = `spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: "2025-03-01T10:00:05Z"}]}` + "\n"
	const tainted, cordoned = "spec: {taints: [{key: x, effect: NoSchedule}]}\n", "spec: {unschedulable: true}\n" // without timeAdded
	// lastSet returns managed fields of n2 that say when this field of its spec was set.
	lastSet := func(second int, field, world string) string {
		const entry = `{name: n2, managedFields: [{manager: m, operation: Update, apiVersion: v1, time: "2025-03-01T10:00:%02dZ", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:%s": {}}}}], `
		return strings.Replace(world, "{name: n2, ", fmt.Sprintf(entry, second, field), 1)
	}
	world := func(n2 string) string {
		return nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", n2+fourCPUs) + nodeYAML("n3", "", fourCPUs) + podYAML("a", "n1", 1, "", "") + podYAML("c", "n3", 2, "", "") + podYAML("b", "n1", 10, "", "")
	}
	event := func(second int, reason string) string {
		return fmt.Sprintf(`{"kind": "Event", "apiVersion": "v1", "metadata": {"name": "n2.x"}, "involvedObject": {"kind": "Node", "name": "n2"},
			"firstTimestamp": "2025-03-01T10:00:%02dZ", "reason": %q}`, second, reason)
	}
	request := func(second int, agent, body string) string {
		return fmt.Sprintf(`{"kind": "Event", "stage": "ResponseComplete", "verb": "patch", "objectRef": {"resource": "nodes", "name": "n2"}, "userAgent": %q,
			"requestReceivedTimestamp": "2025-03-01T10:00:%02d.100000Z", "stageTimestamp": "2025-03-01T10:00:%02[2]d.110000Z"%s}`, agent, second, body)
	}
	const set, unset = `, "requestObject": {"spec": {"unschedulable": true}}`, `, "requestObject": {"spec": {"unschedulable": null}}`
	const taint = `, "requestObject": {"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}}`
	const pods = `{"kind": "Event", "stage": "ResponseStarted", "objectRef": {"resource": "pods"}}`
	const label = `, "requestObject": {"metadata": {"labels": {"x": "y"}}}`
	const whole = `, "responseObject": {"kind": "Node", "metadata": {"name": "n2"}, "spec": {%s}}`
	const controller = "kube-controller-manager/v1.37.1 (linux/amd64) kubernetes/abc/node-controller"
	for name, c := range map[string]struct {
		world         string
		events, audit []string
		want          Verdict
		notUsable     bool
	}{
		"nothing is known":                {world: world(""), want: Open},
		"the taint's time":                {world: world(cordon), want: Proved},
		"a later time":                    {world: world(strings.Replace(cordon, "00:05Z", "00:20Z", 1)), want: Open},
		"last set before":                 {world: lastSet(5, "taints", world(tainted)), want: Proved},
		"last set since":                  {world: lastSet(20, "taints", world(tainted)), want: Open},
		"last set by one of two patches":  {world: lastSet(5, "taints", world(tainted)), audit: []string{request(5, "kubectl", ""), request(30, "kubectl", "")}, want: Proved},
		"last set by the later patch":     {world: lastSet(30, "taints", world(tainted)), audit: []string{request(5, "kubectl", ""), request(30, "kubectl", "")}, want: ByAssumption},
		"cordon last set before":          {world: lastSet(5, "unschedulable", world(cordoned)), want: Proved},
		"cordon last set since":           {world: lastSet(20, "unschedulable", world(cordoned)), want: Open},
		"cordon last set by one of them":  {world: lastSet(5, "unschedulable", world(cordoned)), audit: []string{request(5, "kubectl", ""), request(5, controller, ""), request(30, "kubectl", ""), request(30, controller, "")}, want: Proved},
		"cordon last set by the later":    {world: lastSet(30, "unschedulable", world(cordoned)), audit: []string{request(5, "kubectl", ""), request(5, controller, ""), request(30, "kubectl", ""), request(30, controller, "")}, want: Contradiction},
		"cordoned by events":              {world: world(""), events: []string{event(2, "NodeNotSchedulable"), event(40, "NodeSchedulable")}, want: Proved, notUsable: true},
		"uncordoned before":               {world: world(""), events: []string{event(2, "NodeNotSchedulable"), event(4, "NodeSchedulable")}, want: Open},
		"not answering":                   {world: world(""), events: []string{event(5, "NodeNotReady"), event(30, "NodeReady")}, want: Proved, notUsable: true},
		"answering again":                 {world: world(""), events: []string{event(2, "NodeNotReady"), event(5, "NodeReady")}, want: Open},
		"cordoned by patches":             {world: world(""), audit: []string{request(5, "kubectl", set), request(30, "kubectl", unset)}, want: Proved, notUsable: true},
		"tainted by patches":              {world: world(""), audit: []string{request(5, "kubectl", taint), request(30, "kubectl", strings.Replace(taint, `[{"key": "x", "effect": "NoSchedule"}]`, "null", 1))}, want: Proved, notUsable: true},
		"nodes in the responses":          {world: world(""), audit: []string{request(5, "kubectl", fmt.Sprintf(whole, `"unschedulable": true`)), request(30, "kubectl", fmt.Sprintf(whole, ""))}, want: Proved, notUsable: true},
		"metadata of cordons":             {world: world(""), audit: []string{request(5, "kubectl", ""), request(5, controller, ""), request(30, "kubectl", ""), request(30, controller, "")}, want: Proved, notUsable: true},
		"metadata of anything":            {world: world(""), audit: []string{request(5, "kubectl", ""), request(30, "kubectl", "")}, want: ByAssumption},
		"only labels, so it contradicts":  {world: world(""), audit: []string{request(5, "kubectl", label), request(9, "kubectl", set), request(9, "kubectl", unset), request(30, "kubectl", set), request(31, "kubectl", unset)}, want: Contradiction},
		"uncordoned, so it contradicts":   {world: world(""), audit: []string{request(2, "kubectl", set), request(5, "kubectl", unset), request(30, "kubectl", set), request(31, "kubectl", unset)}, want: Contradiction},
		"all sources, and it was usable":  {world: world(""), events: []string{event(30, "NodeNotReady")}, audit: []string{request(2, "kubectl", fmt.Sprintf(whole, "")), request(40, "kubectl", fmt.Sprintf(whole, ""))}, want: Contradiction},
		"no room, whatever is said of n2": {world: strings.ReplaceAll(world(""), `cpu: "1"`, `cpu: "5"`), audit: []string{request(5, "kubectl", set), request(30, "kubectl", unset)}, want: Contradiction},
	} {
		h := &History{}
		// Pods that are gone cannot explain the placement: the history begins before the first pod.
		first, err := decodeEvents("e", []byte(`{"kind": "Event", "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"}, "firstTimestamp": "2025-03-01T10:00:01Z",
			"reason": "Scheduled", "message": "Successfully assigned default/a to n1"}`))
		if err != nil {
			t.Fatal(err)
		}
		h.facts = first
		if c.events != nil {
			facts, err := decodeEvents("e", []byte(strings.Join(c.events, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			h.facts = append(h.facts, facts...)
		}
		if c.audit != nil {
			lines := pods
			for _, line := range c.audit {
				lines += "\n" + strings.ReplaceAll(line, "\n", " ")
			}
			facts, err := decodeAudit("a", strings.NewReader(lines))
			if err != nil {
				t.Fatal(err)
			}
			h.facts = append(h.facts, facts...)
		}
		result, err := Run(t.Context(), readDump(t, c.world), Options{History: h})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range result.Placements {
			if p.Pod.Name != "b" {
				continue
			}
			if p.Only = false; p.Verdict() != c.want || p.NotUsable != c.notUsable {
				t.Errorf("%s: verdict %d, not usable %t, want %d and %t; %+v", name, p.Verdict(), p.NotUsable, c.want, c.notUsable, p.Divergence)
			}
		}
	}
}
