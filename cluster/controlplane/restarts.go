package controlplane

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// loop counts the restarts of a pod's containers, and the containers that wait for the next one.
type loop struct{ restarts, waiting int32 }

func loopOf(containers []v1.ContainerStatus) (l loop) {
	for i := range containers {
		l.restarts += containers[i].RestartCount
		if containers[i].State.Waiting != nil {
			l.waiting++
		}
	}
	return l
}

// noteLoop keeps the state of a pod's containers, if some are started again and again.
func (p *Plane) noteLoop(pod *v1.Pod) {
	for i := range pod.Spec.Containers {
		if _, _, crashes := p.state.Containers.CrashLoop(&pod.Spec, &pod.Spec.Containers[i]); crashes {
			p.kubelet.loops[cluster.RefTo(pod)] = loopOf(pod.Status.ContainerStatuses)
		}
	}
}

// reportRestarts reports the state of a container that its kubelet starts again and again. It returns false if the container is another one.
func (p *Plane) reportRestarts(pod *v1.Pod, c *v1.Container, status *v1.ContainerStatus) bool {
	runs, code, crashes := p.state.Containers.CrashLoop(&pod.Spec, c)
	if !crashes || pod.Status.Phase != v1.PodRunning || pod.Status.StartTime == nil {
		return false
	}
	restarts := cluster.RestartsAfter(p.at.Sub(pod.Status.StartTime.Time), runs)
	ended, id := p.at.Add(-restarts.Ended), containerID(pod, c.Name)
	status.RestartCount, status.ContainerID, status.Started = restarts.Count, id, new(restarts.BackOff == 0)
	if restarts.Count > 0 {
		last := &v1.ContainerStateTerminated{Reason: "Completed", StartedAt: metav1.NewTime(ended.Add(-runs)), FinishedAt: metav1.NewTime(ended), ContainerID: id}
		if code != 0 {
			last.Reason, last.ExitCode = "Error", code
		}
		status.LastTerminationState.Terminated = last
	}
	if restarts.BackOff == 0 {
		status.State.Running = &v1.ContainerStateRunning{StartedAt: p.at}
		return true
	}
	status.State.Waiting = &v1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %v restarting failed container=%s pod=%s_%s(%s)", restarts.BackOff, c.Name, pod.Name, pod.Namespace, pod.UID),
	}
	return true
}

// publishRestarts stores the pods whose containers have ended or have been started since the pods were stored.
func (t *turn) publishRestarts() error {
	t.at = metav1.NewTime(t.now())
	for _, ref := range slices.SortedFunc(maps.Keys(t.kubelet.loops), cluster.Ref.Compare) {
		pod, is := t.state.Find(ref).(*v1.Pod)
		switch {
		case !is || t.known[t.kinds[ref.Kind].key(pod)] == nil:
			delete(t.kubelet.loops, ref)
		case t.kubelet.loops[ref] != loopOf(t.containerStatuses(pod, pod.Spec.Containers, false)):
			if err := t.put(t.to, pod); err != nil {
				return err
			}
		}
	}
	return nil
}
