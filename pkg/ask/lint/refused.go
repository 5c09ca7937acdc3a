package lint

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/words"
)

// podsRefused finds templates for which the API server refuses some or all pods. It also tries a template that creates no pods now, such as
// the template of a suspended CronJob.
func podsRefused(_ *inspection, s *subject) []Finding {
	if _, bare := s.object.(*v1.Pod); bare {
		return nil // the API server has accepted the pod
	}
	found := Finding{Field: s.path, Fix: "ask for what the LimitRanges, the ResourceQuotas, the classes and the policies allow, or change these"}
	pod, err := s.createdPod()
	if err == nil {
		quotas := admission.NewQuotas(&cluster.State{Now: s.step.State.Now, ResourceQuotas: s.step.State.ResourceQuotas}, admission.PodUsage{})
		err = quotas.Admit(pod)
	}
	if err != nil && admission.IsRefusal(err) {
		found.Message = "the API server refuses each of its pods: " + cluster.Refusal{Message: err.Error()}.Reason()
		return []Finding{found}
	}
	for _, refusal := range s.step.State.Refused {
		if refusal.Ref == s.owner && refusal.Pods > 0 {
			found.Message = fmt.Sprintf("the API server refuses %s of it: %s", words.Count(refusal.Pods, "pod"), refusal.Reason())
			return []Finding{found}
		}
	}
	return nil
}

// createdPod returns a pod of the subject as the API server would create it, or the error with which it would refuse the pod.
func (s *subject) createdPod() (*v1.Pod, error) {
	pod := s.pod.DeepCopy()
	pod.GenerateName = s.owner.Name + "-"
	return pod, s.admission().Admit(pod)
}
