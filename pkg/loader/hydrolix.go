package loader

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator/hydrolix"
	"github.com/faultline/faultline/pkg/scenario"
)

// hydrolix reads the profile that the scenario names, unless the options have one.
func (l *loader) hydrolix(given *scenario.HydrolixOptions) {
	if given == nil || given.Profile == "" {
		return
	}
	path := field.NewPath("operators", "hydrolix", "profile")
	l.named[given.Profile] = true
	file := l.resolve(given.Profile)
	if !l.exists(file) {
		l.problems.Add(path, "%s", l.missing(file))
		return
	}
	data, err := manifest.ReadFile(l.fsys, nil, file)
	var profile *hydrolix.Profile
	if err == nil {
		profile, err = hydrolix.ReadProfile(file, data)
	}
	if err != nil {
		l.problems.AddErrors(err)
		return
	}
	if l.opts.Operators.Hydrolix.Profile == nil {
		l.opts.Operators.Hydrolix.Profile = profile
	}
}
