package upgrade

import "k8s.io/apimachinery/pkg/util/version"

// Difference is a difference between releases that no feature gate switches, and that is not simulated.
type Difference struct {
	// Since is the release that brings the difference.
	Since string `json:"since"`
	Text  string `json:"text"`
	// Link is the address of a page about it.
	Link string `json:"link,omitempty"`
}

const pullURL = "https://github.com/kubernetes/kubernetes/pull/"

// unsimulatedDifferences has the differences that docs/model.md lists.
var unsimulatedDifferences = []Difference{
	{"1.35", "kubelets refuse to start with cgroup v1", ""},
	{"1.35", "the nominated node of a pod is cleared when an attempt fails", pullURL + "135007"},
	{"1.35", "availableReplicas of StatefulSets counts pods without delay", pullURL + "135428"},
	{"1.35", "the search for devices: incomplete pools give none, invalid ones no longer fail the pod", ""},
	{"1.35", "the search for devices: all devices, where a pool also has slices of other nodes", pullURL + "134466"},
	{"1.35", "until 1.36, a pod fails if one of its claims is allocated and another is not", ""},
	{"1.36", "volumes of in-tree plugins count as CSI volumes also where the CSINode does not say so", pullURL + "135322"},
	{"1.36", "drivers of devices need finer permissions", ""},
	{"1.36", "the search for devices: alternatives that ask for all devices, or for more than 32", ""},
	{"1.36", "the search for devices: one that takes too long is an error", pullURL + "137607"},
	{"1.36", "a requestedToCapacityRatio that does not go with the type of the scoringStrategy is refused", pullURL + "132120"},
	{"1.36", "init containers other than sidecars cannot have RestartContainer as resizePolicy", pullURL + "137458"},
	{"1.37", "the search for devices: shared counters", pullURL + "140435"},
	{"1.37", "the search for devices: keys of pools", pullURL + "140437"},
	{"1.37", "what a pod of several containers requests while it is resized", pullURL + "140047"},
	{"1.37", "preemption: pods that several PodDisruptionBudgets cover", ""},
	{"1.37", "a new HorizontalPodAutoscaler looks at its target at once; it is simulated as before, after 15 s", pullURL + "138294"},
	{"1.37", "the status of StatefulSets with OnDelete", pullURL + "136833"},
	{"1.37", "the status of Jobs that wait to replace a pod", pullURL + "139457"},
	{"1.37", "templates with an image volume without reference are refused", pullURL + "135989"},
	{"1.37", "the words of some refusals, and of errors in selectors of devices", ""},
	{"1.37", "scheduling.k8s.io/v1alpha2 is gone: delete its objects before", ""},
	{"1.38", "the feature gates DynamicResourceAllocation, MatchLabelKeysInPodAffinity, PodSchedulingReadiness and SeparateTaintEvictionController are gone: components whose flags name them do not start", ""},
	{"1.38", "preemption: pods without labels are guarded by a PodDisruptionBudget with an empty selector", pullURL + "141785"},
	{"1.38", "pod groups: GangScheduling has no Permit; a placement by topology respects nominated nodes", pullURL + "139472"},
	{"1.38", "the search for devices: an incomplete or invalid pool no longer fails pods that ask for all devices", pullURL + "141898"},
	{"1.38", "the search for devices: qualified names of capacities", pullURL + "142202"},
	{"1.38", "a DeviceTaintRule without deviceSelector matches no device", pullURL + "141648"},
	{"1.38", "device taints with NoExecute also evict pods whose devices stand for extended resources", pullURL + "142289"},
	{"1.38", "a LimitRange compares quantities exactly", pullURL + "141348"},
	{"1.38", "a LimitRange checks only what a resize of a pod or an update of a claim changes", pullURL + "142171"},
	{"1.38", "names of devices' attributes with several slashes, and node selectors of devices with several terms, are refused", pullURL + "141644"},
	{"1.38", "StatefulSets with Parallel pod management scale down even if a quota refuses a pod", pullURL + "141057"},
}

// differencesBetween returns the differences that an upgrade from one release to the other meets.
func differencesBetween(from, to string) []Difference {
	after := func(a, b string) bool { return version.MustParse(b).LessThan(version.MustParse(a)) }
	met := []Difference{}
	for _, d := range unsimulatedDifferences {
		if after(d.Since, from) && !after(d.Since, to) {
			met = append(met, d)
		}
	}
	return met
}
