package app

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

// Problems that people asked about in public, rebuilt. For each, the first screen of one command names the cause, with the names and
// numbers of both sides, and the answer has the change that helped. No command advises what did not help.
func TestStuck(t *testing.T) {
	const (
		screen  = 30 // lines
		pending = "../../../scenarios/pending"
		explain = "../../../pkg/ask/explain/testdata/stuck"
		own     = "testdata/stuck"
	)
	for name, test := range map[string]struct {
		file, commands string // {} in a command stands for the file; one command per line
		cause          []string
		fix            []string
		never          []string
	}{
		"a spread constraint counts control planes": {
			file: pending + "/spread-tainted", commands: "explain deploy/site {}",
			cause: []string{"PodTopologySpread refuses 3 nodes", "cp-1, cp-2 and cp-3", "nodeTaintsPolicy is Ignore"},
			fix:   []string{"nodeTaintsPolicy: Honor"},
		},
		"a rollout ends in one zone": {
			file: own + "/rollout-in-one-zone.yaml", commands: "lint {}",
			cause: []string{"match-label-keys-missing", "all 3 pods in one zone"},
			fix:   []string{"matchLabelKeys: [pod-template-hash]"},
			never: []string{"add a topologySpreadConstraint over topology.kubernetes.io/zone"},
		},
		"minDomains, and no other zone": {
			file: own + "/min-domains.yaml", commands: "run {}\nscale {}",
			cause: []string{"minDomains"}, never: []string{"No pod is Pending, so no node is needed"},
		},
		"a DaemonSet has no room": {
			file: explain + "/daemonset-starved.yaml", commands: "explain ds/agent {}",
			cause: []string{"w-1 takes 6 pods, and has 6"}, fix: []string{"priority class system-cluster-critical"}, never: []string{"one more node like w-1"},
		},
		"a DaemonSet's pod is preempted": {
			file: explain + "/daemonset-preempted.yaml", commands: "run {}\nexplain ds/agent {}",
			cause: []string{"urgent", "w-1"}, fix: []string{"give the pods the priority class urgent"}, never: []string{"tolerate only=web:NoSchedule 0 pods"},
		},
		"a volume has another region than its nodes": {
			file: pending + "/volume-label", commands: "explain deploy/db {}",
			cause: []string{"pv-data", "topology.kubernetes.io/region", "fsn1", "eu-central"},
			fix:   []string{"label volume pv-data with topology.kubernetes.io/region=eu-central"},
		},
		"a drain after all nodes are cordoned": {
			file: own + "/drain-after-cordon.yaml", commands: "drain {} s-1 s-2",
			cause: []string{"node/s-2", "The disruption budget pg needs 2 healthy pods and has 2 currently"},
		},
		"a budget over the only instance": {
			file: own + "/single-instance.yaml", commands: "lint {}\ndrain {} w-1",
			cause: []string{"notes-db-primary"}, fix: []string{"budget-forbids-eviction"}, never: []string{"checks found nothing"},
		},
		"a host port": {
			file: pending + "/host-port", commands: "explain deploy/web --step env {}",
			cause: []string{"host port 9033/TCP is held by default/web-"}, fix: []string{"maxSurge 0 and maxUnavailable 1"},
		},
		"a default limit below the request": {
			file: own + "/limit-range.yaml", commands: "run {}",
			cause: []string{`"700m": must be less than or equal to cpu limit of 500m`},
		},
		"a sidecar with devices": {
			file: explain + "/sidecar-devices.yaml", commands: "explain pod/train {}",
			cause: []string{"asks 16 example.com/npu (sidecar warm 8, container c 8)", "8 allocatable"}, fix: []string{"request at most 0 example.com/npu in sidecar warm (now 8)"},
		},
		"a pod-level request": {
			file: explain + "/pod-level-request.yaml", commands: "explain pod/pl {}",
			cause: []string{"asks 3 cpu (pod-level requests 3, its containers 2)", "2500m on w-1"}, fix: []string{"request at most 2500m CPU for the whole pod (now 3)"},
		},
		"an autoscaler adds nodes one by one": {
			file: own + "/one-node-at-a-time.yaml", commands: "scale {}",
			cause: []string{"spread"},
		},
		"a quota has no room for the new pod": {
			file: own + "/quota-surge.yaml", commands: "run {}",
			cause: []string{"limits.cpu", "24"},
		},
		"nodes without zones": {
			file: explain + "/no-zone-labels.yaml", commands: "explain sts/search {}",
			cause: []string{"topology.kubernetes.io/zone", "metal-1, metal-2 and metal-3 lack it"}, fix: []string{"label nodes metal-1, metal-2 and metal-3 with their topology.kubernetes.io/zone"},
		},
		"a resize waits": {
			file: own + "/resize-deferred.yaml", commands: "run {}\nexplain pod/small {}",
			cause: []string{"resize"},
		},
		"a zone is down": {
			file: explain + "/zone-down.yaml", commands: "run {}\nexplain sts/es {}",
			cause: []string{"zc", "data-es"}, fix: []string{"nodeTaintsPolicy: Honor"}, never: []string{"zone of its own 0 pods"},
		},
		"a gang takes a device": {
			file: own + "/device-of-a-gang.yaml", commands: "run {}",
			cause: []string{"device"},
		},
		"replicas beside an autoscaler": {
			file: own + "/autoscaled-replicas.yaml", commands: "lint {}",
			cause: []string{"replicas-set-twice", "HorizontalPodAutoscaler"},
		},
		"a selector and an affinity that no node matches": {
			file: explain + "/selector-and-affinity.yaml", commands: "explain sts/alertmanager {}",
			cause: []string{"openstack-control-plane=enabled", "lacks only node-role.kubernetes.io/worker=worker"}, fix: []string{"label node ctl-1 with node-role.kubernetes.io/worker=worker"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var screens []string
			var answers strings.Builder
			for line := range strings.SplitSeq(test.commands, "\n") {
				var out, said bytes.Buffer
				args := strings.Fields(strings.ReplaceAll(line, "{}", filepath.FromSlash(test.file)))
				if code := execute(context.Background(), inmemory.StartProgram, command.OwnName, args, nil, &out, &said); code == 2 || out.Len() == 0 {
					t.Fatalf("simulate %s: exit %d: %s", line, code, said.String())
				}
				lines := strings.Split(out.String(), "\n")
				screens = append(screens, flat(strings.Join(lines[:min(len(lines), screen)], "\n")))
				answers.WriteString(flat(out.String()) + "\n")
			}
			for _, cause := range test.cause {
				if first := strings.Join(screens, "\n"); !strings.Contains(first, cause) {
					t.Errorf("the first screens do not say %q:\n%s", cause, first)
				}
			}
			for _, fix := range test.fix {
				if !strings.Contains(answers.String(), fix) {
					t.Errorf("no answer has %q:\n%s", fix, answers.String())
				}
			}
			for _, never := range test.never {
				if strings.Contains(answers.String(), never) {
					t.Errorf("an answer has %q:\n%s", never, answers.String())
				}
			}
		})
	}
}

// flat returns the text on one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
