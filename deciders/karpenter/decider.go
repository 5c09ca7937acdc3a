package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	"sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
	"github.com/faultline/faultline/deciders/kit/crd"
)

// version is the version of Karpenter, as in go.mod.
const version = "v1.14.1"

// decider is Karpenter as a decider.
type decider struct {
	api         *api.Client
	prints      fingerprints
	types       []*cloudprovider.InstanceType
	given       bool // the types are those of a file
	aws         *aws // in which the types are; nil: types has them
	definitions *crd.Definitions
}

// newDecider reads the instance types of the file that the options name, if they name one, and for types of AWS the prices.
func newDecider(ctx context.Context, prices []string) (*decider, error) {
	definitions, err := crd.New(append(apis.CRDs[:3:3], kwokapis.CRDs...)...)
	if err != nil {
		return nil, err
	}
	client, err := newClient(definitions.Admit)
	if err != nil {
		return nil, err
	}
	file := kwokoptions.FromContext(ctx).InstanceTypesFilePath
	d := &decider{api: client, given: file != "", definitions: definitions}
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--instance-types: %w", err)
		}
		if isAWS(content) {
			if d.aws, err = newAWS(content, prices); err != nil {
				return nil, err
			}
			return d, nil
		}
	}
	if len(prices) > 0 {
		return nil, errors.New("--prices is for types of AWS; give --instance-types with a file that aws ec2 describe-instance-types has printed")
	}
	if d.types, err = kwok.ConstructInstanceTypes(ctx); err != nil {
		return nil, fmt.Errorf("--instance-types %s: %w", file, err)
	}
	return d, nil
}

// Hello implements kit.Decider.
func (d *decider) Hello() kit.Hello {
	return kit.Hello{
		Name: "karpenter", Version: version,
		Reads: []string{
			"CSINode", "DaemonSet", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget",
			"StorageClass", "VolumeAttachment",
		},
		Resources: []kit.Resource{
			{APIVersion: "karpenter.sh/v1", Kind: "NodePool"},
			{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim"},
			{APIVersion: "karpenter.sh/v1alpha1", Kind: "NodeOverlay"},
			{APIVersion: "karpenter.kwok.sh/v1alpha1", Kind: "KWOKNodeClass"},
			{APIVersion: "karpenter.k8s.aws/v1", Kind: "EC2NodeClass"},
			{APIVersion: "karpenter.azure.com/v1beta1", Kind: "AKSNodeClass"},
			{APIVersion: "karpenter.k8s.gcp/v1alpha1", Kind: "GCENodeClass"},
		},
		Lacks: []string{
			"the time that a machine takes to start: a node is ready in the second in which Karpenter asks for it",
			"what a cloud's own provider decides: drift of images and security groups, spot interruptions, capacity that runs out; a node class of any provider is taken as kwok's",
			"node repair, static capacity, capacity buffers and dynamic resources (the feature gates NodeRepair, StaticCapacity and CapacityBuffer, and --ignore-dra-requests=false)",
			"the rate limit of nomination events, by which Karpenter loses some of them",
		},
	}
}

// Admit implements kit.Decider.
func (d *decider) Admit(objects []*unstructured.Unstructured) ([]kit.Problem, error) {
	return d.definitions.Admit(objects), nil
}

// Decide implements kit.Decider.
func (d *decider) Decide(ctx context.Context, c *kit.Cluster, request kit.Request) (kit.Answer, error) {
	var answer kit.Answer
	m := &memory{Started: request.Now.UTC()}
	if len(request.Memory) > 0 {
		if err := json.Unmarshal(request.Memory, m); err != nil {
			return answer, fmt.Errorf("the memory is not one of karpenter's: %w", err)
		}
	}
	if m.Nominated == nil {
		m.Nominated = map[string]time.Time{}
	}
	if m.Said == nil {
		m.Said = map[string]time.Time{}
	}
	if err := d.api.Read(c); err != nil {
		return answer, err
	}
	o, err := newOperator(ctx, d, request, m, &answer)
	if err != nil {
		return answer, err
	}
	for _, step := range []func(context.Context) error{o.price, o.notice, o.reconcile, o.collect, o.provision, o.execute, o.count, o.disrupt, o.execute, o.count} {
		if err := step(ctx); err != nil {
			return answer, err
		}
		if d.api.Broken != nil {
			return answer, d.api.Broken
		}
	}
	o.askAgain()
	o.recorder.forget()
	answer.Memory, answer.Events = m, o.recorder.events
	return answer, nil
}
