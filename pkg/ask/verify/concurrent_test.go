package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// auditLine returns a line of an audit log: the API server received and answered the request about the pod in that millisecond of the
// minute.
func auditLine(pod, verb, subresource, user string, at int, object string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":%q,"user":{"username":%q},`+
		`"objectRef":{"resource":"pods","subresource":%q,"namespace":"default","name":%q,"uid":%[4]q},"responseStatus":{"code":201},`+
		`"requestReceivedTimestamp":"2025-03-01T10:00:%02[5]d.%03[6]d000Z","stageTimestamp":"2025-03-01T10:00:%02[5]d.%03[6]d000Z","requestObject":%[7]s}`+"\n",
		verb, user, subresource, pod, at/1000, at%1000, object)
}

func boundAt(pod, node string, at int) string {
	return auditLine(pod, "create", "binding", "system:kube-scheduler", at,
		fmt.Sprintf(`{"kind":"Binding","apiVersion":"v1","metadata":{"name":%q,"uid":%[1]q},"target":{"kind":"Node","name":%[2]q}}`, pod, node))
}

// verdictLinesWithAudit returns the divergences of a dump with an audit log.
func verdictLinesWithAudit(t *testing.T, dump string, log ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(file, []byte(strings.Join(log, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	history, err := ReadHistory(Sources{Audit: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), readDump(t, dump), Options{History: history})
	if err != nil {
		t.Fatal(err)
	}
	return verdictLines(result)
}

const affinityToFirst = `, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: disk, labelSelector: {matchLabels: {role: first}}}]}}`

// A placement is recorded up to half a second after the decision. Where one interval ends as the next begins, the order is open: follower
// is recorded first, at 10.5 s, and could not go beside first, recorded at 11 s, unless first came before it. One millisecond more makes
// the order certain.
func TestTouchingPlacementsHaveNoOrder(t *testing.T) {
	world := nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", fourCPUs) +
		podYAML("follower", "n1", 10, "", affinityToFirst) + strings.Replace(podYAML("first", "n1", 11, "", ""), "app: web", "role: first", 1)
	if got := verdictLinesWithAudit(t, world, boundAt("follower", "n1", 10500), boundAt("first", "n1", 11000)); len(got) != 0 {
		t.Errorf("half a second: %v", got)
	}
	if got := verdictLinesWithAudit(t, world, boundAt("follower", "n1", 10500), boundAt("first", "n1", 11001)); len(got) != 1 {
		t.Errorf("a millisecond more: %v, want that follower was Pending", got)
	}
}

// The same holds between a placement and an end, which is recorded up to half a second too early or too late. late, at 10.5 s, could not go
// to the node of old until old was gone, at 11 s. near could not go beside old after old was gone, at 9.5 s.
func TestTouchingEndsHaveNoOrder(t *testing.T) {
	const apart = `, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: disk, labelSelector: {matchLabels: {role: first}}}]}}`
	old := func(gone int) []string {
		made := `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "old", "namespace": "default", "uid": "old", "labels": {"role": "first"}},
			"spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "web:1"}]}}`
		created := strings.Replace(auditLine("old", "create", "", "jane", 1000, "{}"), `"requestObject":{}`, `"requestObject":{},"responseObject":`+strings.ReplaceAll(made, "\n", " "), 1)
		return []string{created, boundAt("old", "n1", 2000), auditLine("old", "delete", "", "system:node:n1", gone, "{}")}
	}
	pair := nodeYAML("n1", "", fourCPUs) + nodeYAML("n2", "", fourCPUs)
	late, near := pair+podYAML("late", "n1", 10, "", apart+", nodeSelector: {disk: n1}"), pair+podYAML("near", "n1", 10, "", affinityToFirst)
	for _, test := range []struct {
		name, dump, pod string
		gone, want      int
	}{
		{"late, half a second", late, "late", 11000, 0},
		{"late, a millisecond more", late, "late", 11001, 1},
		{"near, half a second", near, "near", 9500, 0},
		{"near, a millisecond more", near, "near", 9499, 1},
	} {
		if got := verdictLinesWithAudit(t, test.dump, append(old(test.gone), boundAt(test.pod, "n1", 10500))...); len(got) != test.want {
			t.Errorf("%s: %v, want %d", test.name, got, test.want)
		}
	}
}
