package explain

import (
	"context"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/scenarios"
)

func simulated(t *testing.T, text string) *simulation.Result {
	t.Helper()
	return run(t, loaded(t, text))
}

func loaded(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	var file scenario.File
	if err := yaml.UnmarshalStrict([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("test", &file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func walkthrough(t *testing.T) *simulation.Result {
	t.Helper()
	s, err := loader.LoadFS(scenarios.FS, scenarios.Walkthrough, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, s)
}

func run(t *testing.T, s *scenario.Scenario) *simulation.Result {
	t.Helper()
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func deployment(name string) cluster.Ref {
	return cluster.Ref{Kind: "Deployment", Namespace: "default", Name: name}
}
