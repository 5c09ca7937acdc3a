package dumptest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/internal/dumptest"
)

// sums has the numbers of a dump's objects that describe its shape.
type sums struct {
	kinds          map[string]int
	replicas       map[string]int // of Deployments and StatefulSets, by namespace/type/name
	largest        int            // the most replicas of a workload
	nodes, tainted int
	waits          int     // pods without a node
	filled         float64 // the part of the CPU of nodes without a taint that pods request
	gpus, gpusUsed int64   // of nodes, and requested by pods
	blocking       int     // budgets that release no pod
	zonal          int     // volumes that are in one zone
}

func sumUp(t *testing.T, dump []byte) *sums {
	t.Helper()
	s := &sums{kinds: map[string]int{}, replicas: map[string]int{}}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(dump, &list); err != nil {
		t.Fatal(err)
	}
	open, has, used := map[string]bool{}, int64(0), int64(0)
	for _, item := range list.Items {
		meta := decodeAs[metav1.PartialObjectMetadata](t, item)
		s.kinds[meta.Kind]++
		switch meta.Kind {
		case "Node":
			node := decodeAs[v1.Node](t, item)
			s.nodes++
			gpus := node.Status.Allocatable["nvidia.com/gpu"]
			s.gpus += gpus.Value()
			if len(node.Spec.Taints) == 0 {
				open[node.Name], has = true, has+node.Status.Allocatable.Cpu().MilliValue()
			} else if node.Spec.Taints[0].Key != v1.TaintNodeUnschedulable {
				s.tainted++
			}
		case "Pod":
			pod := decodeAs[v1.Pod](t, item)
			requests := pod.Spec.Containers[0].Resources.Requests
			gpus := requests["nvidia.com/gpu"]
			s.gpusUsed += gpus.Value()
			if pod.Spec.NodeName == "" {
				s.waits++
			} else if open[pod.Spec.NodeName] {
				used += requests.Cpu().MilliValue()
			}
		case "PersistentVolume":
			if decodeAs[v1.PersistentVolume](t, item).Spec.NodeAffinity != nil {
				s.zonal++
			}
		case "PodDisruptionBudget":
			if strings.Contains(string(item), `"maxUnavailable": 0`) {
				s.blocking++
			}
		case "Deployment", "StatefulSet":
			scaled := decodeAs[struct{ Spec struct{ Replicas int } }](t, item)
			s.replicas[meta.Namespace+"/"+strings.ToLower(meta.Kind)+"/"+meta.Name] = scaled.Spec.Replicas
			s.largest = max(s.largest, scaled.Spec.Replicas)
		}
	}
	s.filled = float64(used) / float64(has)
	return s
}

// Each shape has what its name says, by the number of its objects. A run of it neither places a Pending pod nor stops a running one. A
// cluster of 24 nodes has a fifth of the objects of one with 120.
func TestShapes(t *testing.T) {
	claims := map[string]func(s *sums) bool{
		"scaling":    func(s *sums) bool { return s.kinds["HorizontalPodAutoscaler"] > 8 && s.blocking > 5 },
		"roomy":      func(s *sums) bool { return s.filled < 0.3 && s.waits == 3 },
		"tight":      func(s *sums) bool { return s.filled >= 0.94 && s.waits >= 13 && s.waits < 24 },
		"waiting":    func(s *sums) bool { return s.filled >= 0.74 && s.waits >= 83 },
		"budgets":    func(s *sums) bool { return s.kinds["PodDisruptionBudget"] > 60 && s.blocking == 20 },
		"daemonsets": func(s *sums) bool { return s.kinds["DaemonSet"] == 23 && s.kinds["Pod"] > 23*s.nodes },
		"giant":      func(s *sums) bool { return s.largest == 200 },
		"namespaces": func(s *sums) bool {
			return s.kinds["Namespace"] == 87 && s.kinds["ResourceQuota"] == 80 && s.kinds["LimitRange"] == 80 && s.replicas["team-000/deployment/app"] == 1
		},
		"tainted": func(s *sums) bool { return s.tainted == s.nodes*40/100 },
		"volumes": func(s *sums) bool {
			return s.zonal == 4*30+14 && s.kinds["StatefulSet"] == 30+5
		},
		"gpus": func(s *sums) bool { return s.gpus == 4*8 && s.gpusUsed > s.gpus && s.waits > 3 },
	}
	for _, shape := range dumptest.Shapes() {
		t.Run(shape.Name, func(t *testing.T) {
			shape.Options.Nodes = 24
			dump := dumptest.Dump(shape.Options)
			s := sumUp(t, dump)
			if claim := claims[shape.Name]; claim == nil || !claim(s) {
				t.Errorf("not what %s claims: %+v", shape.Name, s)
			}
			if s.nodes != 24 || s.replicas[shape.Namespace+"/"+shape.Workload] == 0 || !bytes.Contains(dump, []byte(`"`+shape.Node+`"`)) {
				t.Errorf("no node/%s or no %s in namespace %s", shape.Node, shape.Workload, shape.Namespace)
			}
			file := filepath.Join(t.TempDir(), "dump.json")
			if err := os.WriteFile(file, dump, 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errors bytes.Buffer
			if code := app.Main([]string{"run", file, "-q"}, nil, &out, &errors); code != 0 {
				t.Fatalf("exit status %d\n%s", code, errors.String())
			}
			first, _, _ := strings.Cut(out.String(), "\n")
			if want := fmt.Sprintf("Nothing is newly Pending (%d others were Pending before)", s.waits); first != want {
				t.Errorf("run answers %q, want %q", first, want)
			}
		})
	}
}
