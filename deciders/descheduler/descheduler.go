package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/descheduler/pkg/api"
	program "sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/deciders/kit"
)

// descheduler runs the rounds of the descheduler.
type descheduler struct {
	policyFile string
	interval   time.Duration
	longest    time.Duration // the longest age of a pod that the policy asks about; see longestAge
	read       bool
}

// memory is what the descheduler remembers from one round to the next.
type memory struct {
	// Next is the earliest time of the next round, and Round its number from 0.
	Next  time.Time `json:"next"`
	Round uint64    `json:"round"`
}

// Hello says which descheduler this is.
func (*descheduler) Hello() kit.Hello {
	return kit.Hello{
		Name: "descheduler", Version: "v0.36.0",
		Reads: []string{"Node", "Pod", "Namespace", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "PriorityClass", "PodDisruptionBudget",
			"ReplicaSet", "Deployment", "StatefulSet", "Job"},
		Lacks: []string{"metrics of a metrics server or of Prometheus: utilisation is by requests", "the gate EvictionsInBackground"},
	}
}

// Admit has no custom resources to admit.
func (*descheduler) Admit([]*unstructured.Unstructured) ([]kit.Problem, error) { return nil, nil }

// Decide runs a round if it is time for one.
func (d *descheduler) Decide(ctx context.Context, c *kit.Cluster, request kit.Request) (answer kit.Answer, err error) {
	var was memory
	if len(request.Memory) > 0 {
		if err := json.Unmarshal(request.Memory, &was); err != nil {
			return answer, err
		}
	}
	now := request.Now.Time
	answer.Memory = was
	if now.Before(was.Next) {
		answer.AskAgain(was.Next)
		return answer, nil
	}
	round, err := newRound(c, request, was.Round)
	if err != nil {
		return answer, err
	}
	policy, err := d.readPolicy(round)
	if err != nil {
		return answer, err
	}
	evicted, err := round.run(ctx, policy)
	if err != nil {
		return answer, err
	}
	next := memory{now.Add(d.interval), was.Round + 1}
	answer.Memory, answer.Events = next, round.events
	if evicted > 0 || now.Before(round.youngest.Add(d.longest+d.interval)) {
		answer.AskAgain(next.Next)
	}
	return answer, nil
}

// readPolicy reads the policy by the descheduler's own function, which also validates it.
func (d *descheduler) readPolicy(r *round) (*api.DeschedulerPolicy, error) {
	if d.policyFile == "" {
		return nil, errors.New("give the policy: --policy FILE, a DeschedulerPolicy of descheduler/v1alpha2")
	}
	if !d.read {
		program.SetupPlugins()
		text, err := os.ReadFile(d.policyFile)
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(text, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", d.policyFile, err)
		}
		d.longest, d.read = longestAge(content), true
	}
	policy, err := program.LoadPolicyConfig(d.policyFile, r.client, pluginregistry.PluginRegistry)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", d.policyFile, strings.Join(strings.Fields(err.Error()), " "))
	}
	return policy, nil
}

// longestAge returns the longest age of a pod that a policy asks about, such as the maxPodLifeTimeSeconds of PodLifeTime: until all pods are
// older, another round can evict more although nothing has changed.
func longestAge(value any) (longest time.Duration) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			age := longestAge(inner)
			switch seconds, number := inner.(float64); {
			case number && strings.HasSuffix(key, "TimeSeconds"):
				age = time.Duration(seconds) * time.Second
			case key == "minPodAge":
				text, _ := inner.(string)
				age, _ = time.ParseDuration(text)
			}
			longest = max(longest, age)
		}
	case []any:
		for _, inner := range v {
			longest = max(longest, longestAge(inner))
		}
	}
	return longest
}
