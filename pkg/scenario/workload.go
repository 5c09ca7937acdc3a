package scenario

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
)

// Workload finds the workload that is named as kind/name or namespace/kind/name, if it has one of the kinds, or a kind whose controller is
// not in the input. The error lists the workloads that exist.
func (s *Scenario) Workload(target string, kinds ...string) (cluster.Ref, error) {
	p := &Problems{File: target}
	var found cluster.Ref
	if validateWorkload(p, nil, target, kinds...); p.Len() == 0 {
		found, _ = s.FindWorkload(p, nil, target)
	}
	return found, p.Err()
}

// FindWorkload finds the workload that is named as kind/name or namespace/kind/name. If several have the name, it returns the one in the
// namespace default, and reports a problem if there is none there.
func (s *Scenario) FindWorkload(p *Problems, path *field.Path, target string) (cluster.Ref, bool) {
	wanted, err := ParseWorkload(target)
	if err != nil {
		return cluster.Ref{}, false // validateWorkload has reported it
	}
	var found []cluster.Ref
	for _, obj := range s.Objects() {
		if ref := cluster.RefTo(obj); MatchesName(ref, wanted) && !slices.Contains(found, ref) {
			found = append(found, ref)
		}
	}
	if i := slices.IndexFunc(found, func(ref cluster.Ref) bool { return ref.Namespace == v1.NamespaceDefault }); i >= 0 {
		found = found[i : i+1]
	}
	switch len(found) {
	case 0:
		s.NotFound(p, path, wanted)
		return cluster.Ref{}, false
	case 1:
		return found[0], true
	}
	p.Add(path, "%q could be the %s or the %s; give namespace/kind/name", target, found[0].Describe(), found[1].Describe())
	return cluster.Ref{}, false
}

// FindObject finds the object that the target names.
func (s *Scenario) FindObject(p *Problems, path *field.Path, target Target) (cluster.Ref, bool) {
	wanted, err := target.Ref()
	if err != nil {
		if !isOtherKind(target.Target) {
			return cluster.Ref{}, false // validateTarget has reported it
		}
		wanted.Namespace = cmp.Or(target.Namespace, v1.NamespaceDefault)
		wanted.Kind, wanted.Name, _ = strings.Cut(target.Target, "/")
	}
	for _, obj := range s.Objects() {
		ref := cluster.RefTo(obj)
		r, custom := obj.(*cluster.CustomResource)
		if MatchesName(ref, wanted) || custom && target.NamesResource(r.GetAPIVersion(), ref.Kind, ref.Namespace, ref.Name) {
			return ref, true
		}
	}
	s.NotFound(p, path, wanted)
	return cluster.Ref{}, false
}

// NotFound reports that the scenario never has the object. It lists the objects of the same kind, with the namespace if it is another.
func (s *Scenario) NotFound(p *Problems, path *field.Path, wanted cluster.Ref) {
	if isOtherKind(wanted.String()) {
		p.Add(path, "%s", unknownKindError(cluster.Qualify(wanted.Namespace, wanted.String())))
		return
	}
	if wanted.Namespace == "" && cluster.Namespaced(wanted.Kind) {
		wanted.Namespace = v1.NamespaceDefault
	}
	seen := map[cluster.Ref]bool{}
	var names []string
	for _, obj := range s.Objects() {
		ref := cluster.RefTo(obj)
		if ref.Kind != wanted.Kind || seen[ref] {
			continue
		}
		seen[ref] = true
		if ref.Namespace != wanted.Namespace {
			names = append(names, ref.Namespace+"/"+ref.Name)
		} else {
			names = append(names, ref.Name)
		}
	}
	p.Add(path, "there is no %s in the scenario; %s", wanted.Describe(), ListChoices(wanted.Name, names))
}
