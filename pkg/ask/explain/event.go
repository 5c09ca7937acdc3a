package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// A dump can have the Events of its objects, with what the simulation cannot know: that a volume is not mounted, an image not pulled, a claim not served.

// maxWarnings is how many warnings stand with a pod, and maxWarning how many characters of one.
const maxWarnings, maxWarning = 3, 300

// warning is an Event of v1 or of events.k8s.io/v1, which name the same fields otherwise.
type warning struct {
	Type           string             `json:"type"`
	Reason         string             `json:"reason"`
	Message        string             `json:"message"`
	Note           string             `json:"note"`
	InvolvedObject v1.ObjectReference `json:"involvedObject"`
	Regarding      v1.ObjectReference `json:"regarding"`
	Count          int32              `json:"count"`
	Deprecated     int32              `json:"deprecatedCount"`
	Series         struct {
		Count            int32            `json:"count"`
		LastObservedTime metav1.MicroTime `json:"lastObservedTime"`
	} `json:"series"`
	LastTimestamp  metav1.Time      `json:"lastTimestamp"`
	DeprecatedLast metav1.Time      `json:"deprecatedLastTimestamp"`
	EventTime      metav1.MicroTime `json:"eventTime"`
}

// readWarnings returns the warnings of the dump, the latest first. What the scheduler says is left out, since the simulation says that anew.
func readWarnings(s *scenario.Scenario) []warning {
	var all []warning
	for _, ignored := range s.Ignored {
		var w warning
		if ignored.Kind == "Event" && json.Unmarshal(ignored.JSON, &w) == nil && w.Type == v1.EventTypeWarning && w.Reason != "FailedScheduling" {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b warning) int { return b.last().Compare(a.last()) })
	return all
}

func (w *warning) last() time.Time {
	return slices.MaxFunc([]time.Time{w.LastTimestamp.Time, w.DeprecatedLast.Time, w.EventTime.Time, w.Series.LastObservedTime.Time}, time.Time.Compare)
}

// isAbout reports whether the warning is about the object.
func (w *warning) isAbout(obj cluster.Object, kind string) bool {
	for _, of := range []v1.ObjectReference{w.InvolvedObject, w.Regarding} {
		if of.Kind == kind && of.Name == obj.GetName() && of.Namespace == obj.GetNamespace() && (of.UID == "" || obj.GetUID() == "" || of.UID == obj.GetUID()) {
			return true
		}
	}
	return false
}

// text returns, for example, "FailedMount (12 times): MountVolume.SetUp failed for volume "config": configmap "app" not found".
func (w *warning) text() string {
	often := ""
	if n := max(w.Count, w.Deprecated, w.Series.Count); n > 1 {
		often = fmt.Sprintf(" (%d times)", n)
	}
	return w.Reason + often + ": " + words.Shorten(cmp.Or(w.Message, w.Note), maxWarning)
}

// warningsAbout returns the latest warnings about the pod and its claims, each reason once.
func warningsAbout(all []warning, state *cluster.State, pod *v1.Pod) []string {
	var texts []string
	seen := map[string]bool{}
	for i := range all {
		w := &all[i]
		about := w.isAbout(pod, "Pod") || slices.ContainsFunc(state.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) bool {
			return w.isAbout(claim, "PersistentVolumeClaim") && cluster.HasClaim(pod, claim)
		})
		if about && !seen[w.Reason] && len(texts) < maxWarnings {
			seen[w.Reason] = true
			texts = append(texts, w.text())
		}
	}
	return texts
}

// whyNotStarted says which container of a pod of a dump does not run, as its kubelet says; "" if all run. A container that is being created is one of these
// only if there is a warning: others have just begun.
func whyNotStarted(pod *v1.Pod, warned bool) string {
	if !cluster.FromDump(pod) || cluster.IsTerminal(pod) || pod.DeletionTimestamp != nil {
		return ""
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waits := status.State.Waiting
		switch {
		case waits == nil, waits.Reason == "", waits.Reason == "PodInitializing", waits.Reason == "ContainerCreating" && !warned:
			continue
		}
		why := fmt.Sprintf("container %s waits (%s)", status.Name, waits.Reason)
		if waits.Message != "" {
			why += ": " + words.Shorten(waits.Message, maxWarning)
		}
		return why
	}
	return ""
}
