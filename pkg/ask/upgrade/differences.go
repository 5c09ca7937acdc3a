package upgrade

import "k8s.io/apimachinery/pkg/util/version"

// Difference is a difference between releases that no feature gate switches, and that is not simulated.
type Difference struct {
	// Since is the release that brings it.
	Since string `json:"since"`
	Text  string `json:"text"`
	// Link is where to read more.
	Link string `json:"link,omitempty"`
}

const pull = "https://github.com/kubernetes/kubernetes/pull/"

// notSimulated is as docs/model.md has it.
var notSimulated = []Difference{
	{"1.35", "kubelets refuse to start with cgroup v1", ""},
	{"1.35", "the nominated node of a pod is cleared when an attempt fails", pull + "135007"},
	{"1.36", "volumes of in-tree plugins count as CSI volumes also where the CSINode does not say so", pull + "135322"},
	{"1.36", "availableReplicas of StatefulSets", pull + "135428"},
	{"1.36", "drivers of devices need finer permissions", ""},
	{"1.37", "a namespaceSelector of pod affinity with NotIn or DoesNotExist no longer selects all namespaces", pull + "138198"},
	{"1.37", "the search for devices: shared counters", pull + "140435"},
	{"1.37", "the search for devices: keys of pools", pull + "140437"},
	{"1.37", "the search for devices: timeouts", pull + "139040"},
	{"1.37", "the status of StatefulSets with OnDelete", pull + "136833"},
	{"1.37", "scheduling.k8s.io/v1alpha2 is gone: delete its objects before", ""},
}

// differences are those that an upgrade meets.
func differences(from, to string) []Difference {
	after := func(a, b string) bool { return version.MustParse(b).LessThan(version.MustParse(a)) }
	met := []Difference{}
	for _, d := range notSimulated {
		if after(d.Since, from) && !after(d.Since, to) {
			met = append(met, d)
		}
	}
	return met
}
