package scenario

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// Step is one thing that happens, and what is expected after it. Give it a name and at most one action; fresh and expect can be given with
// an action or alone. A federation takes none of fresh, scaleBy, peak, trigger, finish, removeNodes, replaceNodes, drain and makeRoom; only
// a federation takes join.
type Step struct {
	// Name is the step's name on the report. No two steps have the same name.
	Name string `json:"name"`
	// Description says what the step shows. Default: none.
	Description string `json:"description,omitempty"`
	// Fresh removes every workload and pod except those of the cluster itself, as kubectl delete would, before the action. Nodes, volumes,
	// budgets and classes stay. Default: false.
	Fresh bool `json:"fresh,omitempty"`
	// Apply creates or changes objects, as kubectl apply does.
	Apply *Source `json:"apply,omitempty"`
	// Patch changes one object, as kubectl patch does.
	Patch *Patch `json:"patch,omitempty"`
	// Scale sets the number of replicas, as kubectl scale does.
	Scale *Scale `json:"scale,omitempty"`
	// ScaleBy multiplies the replicas of workloads, in one moment, as higher load would.
	ScaleBy *ScaleBy `json:"scaleBy,omitempty"`
	// Peak scales the workloads with a HorizontalPodAutoscaler to their maxReplicas, in one moment.
	Peak *Peak `json:"peak,omitempty"`
	// Delete removes objects and what they own, one after the other, as kubectl delete does.
	Delete *Delete `json:"delete,omitempty"`
	// Rollout starts a rollout: a restart, or new images.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Trigger runs a CronJob once, as kubectl create job --from does.
	Trigger *Trigger `json:"trigger,omitempty"`
	// Finish lets the running pods of a Job succeed, in one moment.
	Finish *Finish `json:"finish,omitempty"`
	// AddNodes adds nodes like an existing one.
	AddNodes *AddNodes `json:"addNodes,omitempty"`
	// RemoveNodes removes nodes in one moment, without a drain; controllers replace their pods.
	RemoveNodes *RemoveNodes `json:"removeNodes,omitempty"`
	// ReplaceNodes replaces nodes by nodes of another type, in one moment; controllers replace their pods.
	ReplaceNodes *ReplaceNodes `json:"replaceNodes,omitempty"`
	// Cordon keeps new pods off nodes, one after the other, as kubectl cordon does.
	Cordon *NodesInTurn `json:"cordon,omitempty"`
	// Uncordon lets new pods on the nodes again, one after the other, as kubectl uncordon does.
	Uncordon *NodesInTurn `json:"uncordon,omitempty"`
	// Drain cordons nodes and evicts their pods, as kubectl drain does.
	Drain *Drain `json:"drain,omitempty"`
	// MakeRoom moves pods to other nodes, one after the other, as budgets allow.
	MakeRoom *MakeRoom `json:"makeRoom,omitempty"`
	// Fail makes nodes fail, in one moment.
	Fail *Fail `json:"fail,omitempty"`
	// Restore brings failed nodes back, one after the other.
	Restore *NodesInTurn `json:"restore,omitempty"`
	// Join adds a cluster to a federation; delete with target cluster/name removes one.
	Join *Cluster `json:"join,omitempty"`
	// Expect is what must hold after the step. If it does not, simulate run and simulate test exit with 3. Default: nothing is checked.
	Expect *Expect `json:"expect,omitempty"`
	// Questions are asked by the playground before it shows the step. Default: how many pods are Pending, and which nodes get new pods.
	Questions []Question `json:"questions,omitempty"`
}

// LoadedStep is a step with the objects of its files.
type LoadedStep struct {
	Step
	// Objects has what apply creates or changes, or what the files of delete have, in order.
	Objects []cluster.Object
	// Karmada has the objects of Karmada that the step applies, or that the files of delete have.
	Karmada Karmada
	// Action replaces the description of the step on the report, if its fields would say something else: the patch of a custom resource
	// becomes an apply of what its operator then makes. Otherwise it is empty.
	Action string
	// Edits are further changes to the object that the step patches. Only a derived scenario has them.
	Edits []*PatchEdit `json:"-"`
	// Expects has the lines of the step's expectations in the file.
	Expects ExpectLines
}

// Targets returns the target of the step's action, if it is a patch, a scale, a rollout, a trigger or a finish.
func (s *Step) Targets() []Target {
	switch {
	case s.Patch != nil:
		return []Target{s.Patch.Target}
	case s.Scale != nil:
		return []Target{s.Scale.Target}
	case s.Rollout != nil:
		return []Target{s.Rollout.Target}
	case s.Trigger != nil:
		return []Target{s.Trigger.Target}
	case s.Finish != nil:
		return []Target{s.Finish.Target}
	}
	return nil
}

// PatchEdit is a further change to the result of a patch. Two edits are equal only if they are the same pointer.
type PatchEdit struct {
	Edit func(cluster.Object) (cluster.Object, error)
}

// ApplyPatch returns the object after the step's patch and edits.
func (s *LoadedStep) ApplyPatch(obj cluster.Object) (cluster.Object, error) {
	patched, err := s.Patch.Apply(obj)
	for i := 0; i < len(s.Edits) && err == nil; i++ {
		patched, err = s.Edits[i].Edit(patched)
	}
	return patched, err
}

// Action is a kind of step: a field of Step whose type knows what is legal. Package world has its effects.
type Action interface {
	// validate reports problems that do not depend on objects.
	validate(c *actionChecks)
}

// singleCluster is an action that a federation does not take.
type singleCluster interface {
	// instead says what to do in a federation.
	instead() string
}

// actionChecks has what the validation of an action needs besides the action.
type actionChecks struct {
	*Problems
	path      *field.Path // of the action
	federated bool
	resources func(Target) bool // whether the target is a custom resource
}

// NamedAction is an action with the name of its field in the file.
type NamedAction struct {
	Name string
	Action
}

// Actions returns the actions of the step, in the order of the fields: at most one if the step is valid.
func (s *Step) Actions() []NamedAction {
	return slices.DeleteFunc(s.allActions(), func(a NamedAction) bool { return reflect.ValueOf(a.Action).IsNil() })
}

// allActions returns all kinds of actions, in the order of the fields. Actions that the step does not have are nil pointers.
func (s *Step) allActions() []NamedAction {
	var all []NamedAction
	for field, value := range reflect.ValueOf(*s).Fields() {
		if action, is := value.Interface().(Action); is {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			all = append(all, NamedAction{name, action})
		}
	}
	return all
}

// SelectedNodes returns the nodes that the actions of the step select.
func (s *Step) SelectedNodes() []*Nodes {
	var all []*Nodes
	for _, action := range s.Actions() {
		if on, is := action.Action.(interface{ selected() *Nodes }); is && on.selected() != nil {
			all = append(all, on.selected())
		}
	}
	return all
}

// ActionNames returns the names of the actions that a federation takes, or that a single cluster takes.
func ActionNames(federated bool) []string {
	var names []string
	for _, action := range new(Step).allActions() {
		_, single := action.Action.(singleCluster)
		_, join := action.Action.(*Cluster)
		if federated && !single || !federated && !join {
			names = append(names, action.Name)
		}
	}
	return names
}

// ValidateSteps reports problems of the steps, failures and expectations that do not depend on objects: a step without an action or with
// two, numbers out of range, selectors that do not parse. The function resources reports whether the target of a patch is a custom
// resource.
func ValidateSteps(p *Problems, s *Scenario, resources func(Target) bool) {
	validateFailures(p, &s.Failures)
	if s.Expect != nil {
		validateExpect(p, field.NewPath("expect"), s.Expect)
		if name := s.Expect.drainField(); name != "" && !slices.ContainsFunc(s.Steps, func(step LoadedStep) bool { return step.Drain != nil }) {
			p.Add(field.NewPath("expect", name), "no step drains a node; give a step a drain, or leave %s out", name)
		}
		if s.Expect.RoomMade != nil && !slices.ContainsFunc(s.Steps, func(step LoadedStep) bool { return step.MakeRoom != nil }) {
			p.Add(field.NewPath("expect", "roomMade"), "no step makes room; give a step makeRoom, or leave roomMade out")
		}
	}
	validateSteps(p, s, 0, resources)
}

// ValidateQuestionSteps reports problems of the steps of the question, as ValidateSteps does. These steps have no files.
func ValidateQuestionSteps(p *Problems, s *Scenario) {
	first := len(s.Steps) - s.Asked
	for i := first; i < len(s.Steps); i++ {
		step, path := &s.Steps[i], s.StepPath(i)
		if step.Apply != nil {
			p.Add(path.Child("apply"), "is not for the steps of a variant; add the objects in a step of the scenario, or give the variant patches")
		}
		if step.Delete != nil && len(step.Delete.Files) > 0 {
			p.Add(path.Child("delete", "files"), "is not for the steps of a variant; give targets or pods")
		}
		if step.Join != nil {
			p.Add(path.Child("join"), "is not for the steps of a variant; let the cluster join in a step of the scenario")
		}
	}
	validateSteps(p, s, first, func(Target) bool { return false })
}

// validateSteps reports problems of the steps from that index on; earlier steps are known to be right.
func validateSteps(p *Problems, s *Scenario, from int, resources func(Target) bool) {
	names := map[string]bool{}
	for i := range s.Steps {
		step, path := &s.Steps[i], s.StepPath(i)
		if i < from {
			names[step.Name] = true
			continue
		}
		switch {
		case strings.TrimSpace(step.Name) == "":
			p.Add(path.Child("name"), "is missing; the report shows a step by its name")
		case names[step.Name]:
			p.Add(path.Child("name"), "%q is already the name of another step; give every step its own name", step.Name)
		case step.Name == WorkloadsStep && s.AppliesWorkloads():
			p.Add(path.Child("name"), "%q is what the report calls the workloads before the first step; choose another name", step.Name)
		}
		names[step.Name] = true
		actions := step.Actions()
		if len(actions) > 1 {
			names := make([]string, len(actions))
			for i := range actions {
				names[i] = actions[i].Name
			}
			p.Add(path, "has %s, and a step takes one action; make each a step of its own", strings.Join(names, " and "))
		} else if len(actions) == 0 && !step.Fresh && step.Expect == nil {
			possible := ActionNames(s.Federated())
			if !s.Federated() {
				possible = append(possible, "or fresh: true")
			}
			p.Add(path, "does nothing and expects nothing; give one of %s, or expect", strings.Join(possible, ", "))
		}
		validateActions(p, path, &step.Step, s.Federated(), resources)
		if step.Expect != nil {
			validateExpect(p, path.Child("expect"), step.Expect)
			if name := step.Expect.drainField(); name != "" && step.Drain == nil {
				p.Add(path.Child("expect", name), "the step drains no node; give drain, or leave %s out", name)
			}
			if step.Expect.RoomMade != nil && step.MakeRoom == nil {
				p.Add(path.Child("expect", "roomMade"), "the step makes no room; give makeRoom, or leave roomMade out")
			}
			if newly := step.Expect.NewlyPending; newly != nil && newly.Since != "" && newly.Since != WorkloadsStep && !names[newly.Since] || newly != nil && newly.Since == step.Name {
				p.Add(path.Child("expect", "newlyPending", "since"), "there is no step %q before this one; name an earlier step", newly.Since)
			}
		}
		for i := range step.Questions {
			validateQuestion(p, path.Child("questions").Index(i), &step.Questions[i])
		}
	}
}

// liveActions are the actions that a running cluster takes besides what kubectl does.
var liveActions = []string{"scaleBy", "trigger", "finish", "addNodes", "removeNodes", "replaceNodes", "fail", "restore"}

// CheckLive returns the problems of a step for a running cluster, which has clients for everything that they can do.
func (s *Step) CheckLive() error {
	p := &Problems{File: "step"}
	actions := s.Actions()
	if len(actions) != 1 || !slices.Contains(liveActions, actions[0].Name) {
		p.Add(nil, "must have one of %s; kubectl does the rest", words.Or(liveActions))
		return p.Err()
	}
	validateActions(p, nil, s, false, func(Target) bool { return false })
	return p.Err()
}

func validateActions(p *Problems, path *field.Path, step *Step, federated bool, resources func(Target) bool) {
	if step.Fresh && federated {
		p.Add(path.Child("fresh"), "is for a single cluster; delete what shall go")
	}
	for _, action := range step.Actions() {
		c := &actionChecks{p, path.Child(action.Name), federated, resources}
		if single, is := action.Action.(singleCluster); is && federated {
			p.Add(c.path, "is for a single cluster; %s", single.instead())
		}
		action.validate(c)
	}
}
