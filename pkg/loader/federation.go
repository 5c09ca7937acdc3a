package loader

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// readClusters reads the cluster of a scenario, or the clusters of a federation.
func (l *loader) readClusters(s *scenario.Scenario, file *scenario.File) []sourceContent {
	path := field.NewPath("clusters")
	switch {
	case file.Clusters == nil:
		return l.readClusterSources(field.NewPath("cluster"), file.Cluster)
	case len(file.Clusters) == 0:
		l.problems.Add(path, "is empty; give the clusters of the federation, or cluster for a single one")
		l.incomplete = true
	case len(file.Cluster) > 0:
		l.problems.Add(path, "and cluster cannot be given together; give cluster for a single cluster, or clusters for a federation")
		l.incomplete = true
	}
	scenario.ValidateFederation(l.problems, &file.Federation)
	s.Federation, l.federation = file.Federation, &s.Federation
	for i := 0; i < len(file.Clusters) && !l.ended(); i++ {
		s.Members = append(s.Members, l.readMember(path.Index(i), &file.Clusters[i]))
	}
	return nil
}

// readMember reads one cluster of a federation.
func (l *loader) readMember(path *field.Path, c *scenario.Cluster) scenario.Member {
	scenario.ValidateCluster(l.problems, path, c)
	if at, twice := l.members[c.Name]; twice {
		l.problems.Add(path.Child("name"), "%q is already the name of %s; give every cluster its own name", c.Name, at)
	} else {
		l.members[c.Name] = path.String()
	}
	step := l.step
	l.step, l.deviceClasses = "", nil
	defer func() { l.step = step }()
	sources := l.readClusterSources(path.Child("cluster"), c.Cluster)
	for i, source := range sources {
		prefixZones(c.Name, c.Cluster[i].Synthetic, source.objects)
		sources[i].resources = slices.DeleteFunc(source.resources, func(resource manifest.Ignored) bool {
			return l.reportKarmadaInMember(path.Child("cluster").Index(i), resource)
		})
	}
	e := l.newExpander()
	e.updateKnown(sources)
	alone := &scenario.Scenario{Cluster: l.addDeviceClasses(e.expandSources(sources))}
	if !l.opts.Strict && !l.incomplete {
		for _, note := range slices.Concat(setAsideHomelessPods(alone), noteDevices(alone)) {
			l.notes = append(l.notes, "cluster "+c.Name+": "+note)
		}
	}
	read := &scenarioContent{cluster: sources}
	l.kindMembers[c.Name], l.syntheticMembers[c.Name] = read.hasKindNodes(), read.onlySyntheticNodes()
	return scenario.NewMember(c.Karmada(), alone.Cluster)
}

// prefixZones puts the cluster's name before the names of synthetic zones, if the file gives the zones no names. Otherwise zones of different
// clusters with the same name would be one zone, which fails in all of them at once.
func prefixZones(name string, made *topology.Spec, nodes []cluster.Object) {
	if made == nil || len(made.Regions) > 0 || slices.ContainsFunc(made.Zones, func(z topology.Zone) bool { return z.Name != "" }) {
		return
	}
	for _, obj := range nodes {
		if zone, found := obj.GetLabels()[v1.LabelTopologyZone]; found {
			obj.GetLabels()[v1.LabelTopologyZone] = name + "-" + zone
		}
	}
}

// reportKarmadaInMember reports a resource of Karmada among the sources of a member as a problem, since only the control plane has such resources.
// It returns whether the resource is one.
func (l *loader) reportKarmadaInMember(path *field.Path, resource manifest.Ignored) bool {
	if !federation.IsKarmada(resource.APIVersion) {
		return false
	}
	l.problems.Add(path, "%s is Karmada's, and no member has it; give it under workloads, or to a step that applies it", describeResource(resource))
	return true
}

// addMemberStorage adds StorageClasses to members for the claims that they may get. A kind cluster gets kind's default class, and a
// synthetic cluster gets the classes that the claims name.
func (l *loader) addMemberStorage(s *scenario.Scenario) {
	alone := *s
	alone.Members, alone.Steps = nil, slices.Clone(s.Steps)
	for i := range alone.Steps {
		alone.Steps[i].Karmada.Joined = nil
	}
	templates := alone.Objects()
	with := func(m scenario.Member) scenario.Member {
		objects := slices.Concat(m.Objects, templates)
		classes := l.makeAssumedClasses(objects, l.syntheticMembers[m.Name])
		if l.kindMembers[m.Name] {
			classes = l.makeKindClass(objects)
		}
		if len(classes) == 0 {
			return m
		}
		return scenario.NewMember(m.Cluster, slices.Concat(m.Objects, classes))
	}
	for i := range s.Members {
		s.Members[i] = with(s.Members[i])
	}
	for i := range s.Steps {
		if joined := s.Steps[i].Karmada.Joined; joined != nil {
			m := with(*joined)
			s.Steps[i].Karmada.Joined = &m
		}
	}
}
