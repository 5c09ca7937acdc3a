package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Name is the plugin's name in a scheduler configuration.
const Name = "PreferLabel"

// PreferLabel prefers nodes that have a label.
type PreferLabel struct{ args Args }

// Args are the plugin's arguments in a scheduler configuration.
type Args struct {
	// Key is the label's.
	Key string `json:"key"`
}

var _ fwk.ScorePlugin = &PreferLabel{}

// New builds the plugin, as for kube-scheduler.
func New(_ context.Context, args runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	p := &PreferLabel{}
	if err := frameworkruntime.DecodeInto(args, &p.args); err != nil {
		return nil, err
	}
	if p.args.Key == "" {
		return nil, errors.New("args.key is empty; give the key of a label")
	}
	return p, nil
}

// Name is the plugin's.
func (*PreferLabel) Name() string { return Name }

// Score gives a node with the label all points, and any other none.
func (p *PreferLabel) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if _, found := node.Node().Labels[p.args.Key]; found {
		return fwk.MaxScore, nil
	}
	return 0, nil
}

// ScoreExtensions are none: the scores need no normalisation.
func (*PreferLabel) ScoreExtensions() fwk.ScoreExtensions { return nil }
