package scenario

import (
	"errors"
	"fmt"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
)

// Limits bound the size of a scenario from an untrusted source. Zero means no limit.
type Limits struct {
	// Nodes limits the nodes of all clusters together, including clusters that steps, variants and points of the sweep add. Devices limits
	// the devices of synthetic nodes.
	Nodes, Devices int
	// Pods limits the pods at any time, including pods that controllers make.
	Pods int
	// Versions limits the variants and the points of the sweep.
	Versions int
}

// LimitError says that a scenario needs more than its limits allow. Counting stops as soon as the limit is exceeded.
type LimitError struct {
	// What is counted, such as nodes. The scenario has at least Has of them, and may have Most.
	What      string
	Has, Most int
}

// Error says what there is too much of, and how much is allowed.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the scenario has %d %s, and may have %d", e.Has, e.What, e.Most)
}

// CheckLimit returns a LimitError if there is more than the limit allows, and nil otherwise.
func CheckLimit(what string, has, most int) error {
	if most == 0 || has <= most {
		return nil
	}
	return &LimitError{what, has, most}
}

// CheckPods returns an error if the controllers of the state ask for too many pods, or if the state has more pods than the limits allow.
func (s *Scenario) CheckPods(state *cluster.State) error {
	most := s.MaxPods
	if most == 0 {
		most = controller.MaxPods
	}
	err := controller.CheckPods(state, most)
	if s.Limits.Pods == 0 {
		return err
	}
	var asked *controller.TooManyPodsError
	if errors.As(err, &asked) && most == s.Limits.Pods {
		asked.Advice = "use the command line"
	}
	if err != nil {
		return err
	}
	return CheckLimit("pods", max(len(state.Pods), controller.CountPods(state)), s.Limits.Pods)
}
