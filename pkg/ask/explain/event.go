package explain

import (
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// A dump can have the Events of its objects, with what the simulation cannot know: that a volume is not mounted, an image not pulled, a claim not served.

// maxWarnings is how many warnings stand with a pod, and maxWarning how many characters of one.
const maxWarnings, maxWarning = 3, 300

// readWarnings returns the warnings of the dump, the latest first. What the scheduler says is left out, since the simulation says that anew.
func readWarnings(s *scenario.Scenario) []manifest.Event {
	var all []manifest.Event
	for _, ignored := range s.Ignored {
		var w manifest.Event
		if ignored.Kind == "Event" && json.Unmarshal(ignored.JSON, &w) == nil && w.Type == v1.EventTypeWarning && w.Reason != "FailedScheduling" {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b manifest.Event) int { return b.LastObserved().Compare(a.LastObserved()) })
	return all
}

// isAbout reports whether the warning is about the object.
func isAbout(w *manifest.Event, obj cluster.Object, kind string) bool {
	return slices.ContainsFunc(w.Objects(), func(of v1.ObjectReference) bool {
		return of.Kind == kind && of.Name == obj.GetName() && of.Namespace == obj.GetNamespace() && (of.UID == "" || obj.GetUID() == "" || of.UID == obj.GetUID())
	})
}

// describeWarning returns, for example, "FailedMount (12 times): MountVolume.SetUp failed for volume "config": configmap "app" not found".
func describeWarning(w *manifest.Event) string {
	often := ""
	if n := w.Times(); n > 1 {
		often = fmt.Sprintf(" (%d times)", n)
	}
	return w.Reason + often + ": " + words.Shorten(w.Text(), maxWarning)
}

// warningsAbout returns the latest warnings about the pod and its claims, each reason once.
func warningsAbout(all []manifest.Event, state *cluster.State, pod *v1.Pod) []string {
	var texts []string
	seen := map[string]bool{}
	for i := range all {
		w := &all[i]
		about := isAbout(w, pod, "Pod") || slices.ContainsFunc(state.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) bool {
			return isAbout(w, claim, "PersistentVolumeClaim") && cluster.HasClaim(pod, claim)
		})
		if about && !seen[w.Reason] && len(texts) < maxWarnings {
			seen[w.Reason] = true
			texts = append(texts, describeWarning(w))
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
