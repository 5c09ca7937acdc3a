package autoscaler

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// condition is a status, and since when it holds.
type condition struct {
	status string
	since  time.Time
}

// status returns a function that writes the key status of the ConfigMap cluster-autoscaler-status as YAML, for callers that need the text.
// See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/clusterstate/api/types.go.
func (l *loop) status() func() string {
	growing, groups, candidates := false, []any{}, map[string]int{}
	all := 0
	for name := range l.memory.unneeded {
		if group := l.groupOf[name]; group != nil {
			candidates[group.Name]++
			all++
		}
	}
	for _, group := range l.groups {
		healthy, up := l.healthy(group), "NoActivity"
		switch _, asked := l.memory.requests[group.Name]; {
		case asked && l.missingNodes(group) > 0:
			up, growing = "InProgress", true
		case !healthy:
			up = "Unhealthy"
		}
		health := l.statusCondition(group.Name+"/health", either(healthy, "Healthy", "Unhealthy"))
		health["nodeCounts"] = l.countsOfGroup(group).describe()
		health["cloudProviderTarget"], health["minSize"], health["maxSize"] = group.Target, group.Min, group.Max
		scaleUp := l.statusCondition(group.Name+"/scaleUp", up)
		scaleUp["backoffInfo"] = map[string]any{}
		groups = append(groups, map[string]any{
			"name": group.Name, "health": health, "scaleUp": scaleUp, "scaleDown": l.scaleDownCondition(group.Name, candidates[group.Name]),
		})
	}
	health := l.statusCondition("health", either(!l.tooManyUnready(l.total.unready, l.total.registered), "Healthy", "Unhealthy"))
	health["nodeCounts"] = l.total.describe()
	whole := map[string]any{
		"time": l.now.Format("2006-01-02 15:04:05.999999999 -0700 MST"), "autoscalerStatus": "Running",
		"clusterWide": map[string]any{
			"health": health, "scaleUp": l.statusCondition("scaleUp", either(growing, "InProgress", "NoActivity")), "scaleDown": l.scaleDownCondition("", all),
		},
	}
	if len(groups) > 0 {
		whole["nodeGroups"] = groups
	}
	return func() string {
		text, _ := yaml.Marshal(whole) // all values can be marshalled
		return string(text)
	}
}

func either(is bool, then, otherwise string) string {
	if is {
		return then
	}
	return otherwise
}

// statusCondition returns a condition with its times, and remembers since when it has its status.
func (l *loop) statusCondition(key, status string) map[string]any {
	was, found := l.memory.conditions[key]
	if !found || was.status != status {
		was = condition{status, l.now}
		l.memory.conditions[key] = was
	}
	return map[string]any{"status": status, "lastProbeTime": metav1.NewTime(l.now), "lastTransitionTime": metav1.NewTime(was.since)}
}

func (l *loop) scaleDownCondition(group string, candidates int) map[string]any {
	c := l.statusCondition(group+"/scaleDown", either(candidates > 0, "CandidatesPresent", "NoCandidates"))
	if candidates > 0 {
		c["candidates"] = candidates
	}
	return c
}

func (c nodeCounts) describe() map[string]any {
	return map[string]any{
		"longUnregistered": 0, "unregistered": 0,
		"registered": map[string]any{
			"total": c.registered, "ready": c.ready, "notStarted": len(c.starting), "suspended": c.suspended,
			"unready": map[string]any{"total": c.unready, "resourceUnready": 0},
		},
	}
}
