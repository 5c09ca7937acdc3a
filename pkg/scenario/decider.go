package scenario

import (
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/engine/decider"
	"github.com/faultline/faultline/pkg/list"
)

// Decider is a program that decides in the cluster beside its scheduler; see docs/deciders.md.
type Decider struct {
	// Name is karpenter, descheduler, or the name of another decider, whose program is faultline-NAME. A scenario cannot name any other
	// program: whoever runs it can, with --decider NAME=COMMAND.
	Name string `json:"name"`
	// Args are arguments of the program, such as --policy=policy.yaml. It runs in the scenario's folder. Default: none.
	Args []string `json:"args,omitempty"`
	// From is the name of the step from which on it decides. Default: it decides from the start.
	From string `json:"from,omitempty"`

	// Command is the program, and Timeout limits each of its answers. Dir is the scenario's folder.
	Command []string      `json:"-"`
	Timeout time.Duration `json:"-"`
	Dir     string        `json:"-"`
}

// deciderName matches the names of deciders, which are parts of names of programs.
var deciderName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// HasValidName reports whether the decider's name can be part of the name of a program.
func (d *Decider) HasValidName() bool { return deciderName.MatchString(d.Name) }

// validateDeciders reports problems of the deciders that do not depend on what is installed.
func validateDeciders(p *Problems, path *field.Path, f *File) {
	for i, d := range f.Deciders {
		name := path.Index(i).Child("name")
		switch {
		case !d.HasValidName():
			p.Add(name, "%q is no name of a decider; give lower-case letters, digits and dashes, such as karpenter", d.Name)
		case slices.ContainsFunc(f.Deciders[:i], func(other Decider) bool { return other.Name == d.Name }):
			p.Add(name, "%q is there twice; leave one out", d.Name)
		}
		if d.From != "" && !slices.ContainsFunc(f.Steps, func(s Step) bool { return s.Name == d.From }) {
			p.Add(path.Index(i).Child("from"), "there is no step %q; give the name of a step, or leave it out", d.From)
		}
	}
}

// BeginDeciders returns the scenario with a last step in which nothing happens but that these deciders begin. A decider takes the place of one of
// the same name.
func (s *Scenario) BeginDeciders(step string, deciders ...Decider) *Scenario {
	next := *s
	next.Deciders = list.Without(s.Deciders, func(d Decider) bool {
		return slices.ContainsFunc(deciders, func(by Decider) bool { return by.Name == d.Name })
	})
	for _, by := range deciders {
		by.From = step
		next.Deciders = append(next.Deciders, by)
	}
	if !s.AppliesWorkloads() && len(s.Steps) == 0 {
		next.Steps = []LoadedStep{{Step: Step{Name: WorkloadsStep, Apply: &Source{}}}}
	}
	next.Steps = append(slices.Clip(next.Steps), LoadedStep{Step: Step{Name: step, Apply: &Source{}}})
	return &next
}

// Start returns how to start the decider.
func (d *Decider) Start() decider.Command {
	return decider.Command{Name: d.Name, Args: slices.Concat(d.Command, d.Args), Dir: d.Dir, Timeout: d.Timeout}
}
