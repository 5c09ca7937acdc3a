package loader

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/internal/dumptest"
	"github.com/faultline/faultline/pkg/scenario"
)

// If one workload of a dump changes, the result is the same as if the whole dump were admitted again: the same objects, in the same order,
// or the same refusal.
func TestChangedWorkloadIsAdmittedAsInAWhole(t *testing.T) {
	dump := dumptest.Dump(dumptest.Options{Seed: 1, Nodes: 24, Scaling: true, Operators: true})
	s, err := FromFiles(bytes.NewReader(dump), []string{"-"}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	apart := v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}
	changes := map[string]func(cluster.Object){
		"nothing": func(cluster.Object) {},
		"rule":    func(obj cluster.Object) { template, _ := cluster.Template(obj); template.Spec.Affinity = &apart },
		"class": func(obj cluster.Object) {
			template, _ := cluster.Template(obj)
			template.Spec.PriorityClassName = "missing"
		},
		"refused": func(obj cluster.Object) {
			template, _ := cluster.Template(obj)
			template.Spec.PriorityClassName = "missing"
			obj.SetResourceVersion("")
		},
		"sidecar": func(obj cluster.Object) {
			template, _ := cluster.Template(obj)
			template.Spec.Containers = append(template.Spec.Containers, v1.Container{Name: "sidecar", Image: "sidecar"})
		},
		"labels":  func(obj cluster.Object) { template, _ := cluster.Template(obj); template.Labels = nil },
		"node":    func(obj cluster.Object) { template, _ := cluster.Template(obj); template.Spec.NodeName = "gone" },
		"uid":     func(obj cluster.Object) { obj.SetUID("another") },
		"created": func(obj cluster.Object) { obj.SetResourceVersion(""); obj.SetCreationTimestamp(cluster.Epoch) },
	}
	tried := map[string]int{}
	for name, change := range changes {
		for i, obj := range s.Cluster {
			switch obj.(type) {
			case *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.DaemonSet:
			default:
				continue
			}
			if kind := name + cluster.KindOf(obj); tried[kind] >= 3 {
				continue
			} else {
				tried[kind]++
			}
			varied := *s
			varied.Cluster = slices.Clone(s.Cluster)
			varied.Cluster[i] = obj.DeepCopyObject().(cluster.Object)
			change(varied.Cluster[i])
			got, gotNotes, gotErr := varied.Admit()
			want, wantNotes, wantErr := admission.Admit(varied.EmptyState(), varied.Cluster...)
			if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
				t.Fatalf("%s of %s: error %v, want %v", name, cluster.RefTo(obj), gotErr, wantErr)
			}
			if gotErr != nil {
				continue
			}
			if diff := cmp.Diff(wantNotes, gotNotes); diff != "" {
				t.Errorf("%s of %s: notes (-want +got):\n%s", name, cluster.RefTo(obj), diff)
			}
			objs, wanted := got.Objects(), want.Objects()
			if len(objs) != len(wanted) {
				t.Fatalf("%s of %s: %d objects, want %d", name, cluster.RefTo(obj), len(objs), len(wanted))
			}
			for i, is := range objs {
				if is != wanted[i] && !reflect.DeepEqual(is, wanted[i]) {
					t.Errorf("%s of %s (-want +got):\n%s", name, cluster.RefTo(obj), cmp.Diff(wanted[i], is))
				}
				if got.Arrival(is) != want.Arrival(wanted[i]) {
					t.Fatalf("%s of %s: %s arrives at %d, want %d", name, cluster.RefTo(obj), cluster.RefTo(is), got.Arrival(is), want.Arrival(wanted[i]))
				}
			}
			if _, is := obj.(*appsv1.Deployment); !is && !changed(got, s) { // its pods were made from the old template
				want.Mutations = got.Mutations
			}
			if diff := cmp.Diff(rest(want), rest(got), cmpopts.IgnoreUnexported(cluster.State{})); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", name, cluster.RefTo(obj), diff)
			}
		}
	}
	if len(tried) != 3*len(changes) {
		t.Errorf("changed %v", tried)
	}
}

// changed reports whether the mutations of the state differ from those of the unchanged scenario.
func changed(state *cluster.State, s *scenario.Scenario) bool {
	before, _, err := s.Admit()
	return err != nil || !reflect.DeepEqual(before.Mutations, state.Mutations)
}

// rest returns the state without its objects.
func rest(s *cluster.State) *cluster.State {
	return &cluster.State{Now: s.Now, TerminationSeconds: s.TerminationSeconds, Created: s.Created, JobBackoffs: s.JobBackoffs, Attachments: s.Attachments,
		Mutations: s.Mutations, AsTemplate: s.AsTemplate, APIServer: s.APIServer, Refused: s.Refused}
}
