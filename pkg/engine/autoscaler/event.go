package autoscaler

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Event is an event that the autoscaler reports.
type Event struct {
	Reason, Message string
	// Pod or Node is the object that the event is about. With neither, the event is about the autoscaler's status.
	Pod  *v1.Pod
	Node string
}

// addEvent appends an event about the autoscaler's status.
func (l *loop) addEvent(reason, format string, args ...any) {
	l.decision.Events = append(l.decision.Events, Event{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (l *loop) addMaxNodesEvent() {
	l.addEvent("MaxNodesTotalReached", "Max total nodes in cluster reached: %d", l.options.MaxNodesTotal)
}

// String returns the autoscaler's text, such as "{spot 3->5 (max: 10)}".
func (r Resize) String() string {
	return fmt.Sprintf("{%s %d->%d (max: %d)}", r.Group, r.From, r.To, r.Max)
}

// addPodEvents reports the new sizes of groups, the pods that they help, and the pods that no group helps. If groups grow, the autoscaler
// does not report pods that no group helps. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/processors/status/eventing_scale_up_processor.go.
func (l *loop) addPodEvents() {
	d := l.decision
	for _, share := range d.Plan {
		l.addEvent("ScaledUpGroup", "Scale-up: setting group %s size to %d instead of %d (max: %d)", share.Group, share.To, share.From, share.Max)
		l.addEvent("ScaledUpGroup", "Scale-up: group %s size set to %d instead of %d (max: %d)", share.Group, share.To, share.From, share.Max)
	}
	if d.ScaleUp != ScaleUpSuccessful && d.ScaleUp != ScaleUpError {
		for _, refused := range d.Refused {
			d.Events = append(d.Events, Event{Reason: "NotTriggerScaleUp", Pod: refused.Pod,
				Message: "pod didn't trigger scale-up: " + refused.describeReasons(d.ScaleUp)})
		}
	}
	if len(d.Plan) > 0 {
		for _, pod := range d.Helped {
			d.Events = append(d.Events, Event{Reason: "TriggeredScaleUp", Pod: pod, Message: fmt.Sprintf("pod triggered scale-up: %v", d.Plan)})
		}
	}
}

// describeReasons counts each reason over the groups, sorted by text. The autoscaler prints them in any order.
func (r RefusedPod) describeReasons(result Result) string {
	if result == ScaleUpLimited {
		return "max total nodes in cluster reached"
	}
	times := map[string]int{}
	for _, of := range []map[string][]string{r.Rejected, r.Skipped} {
		for _, reasons := range of {
			for _, reason := range reasons {
				times[reason]++
			}
		}
	}
	var all []string
	for reason, n := range times {
		all = append(all, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
