//go:build ordered

// Command faultline-kueue is Kueue as a decider of simulate: its real code, in logical time. See docs/kueue.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/features"

	"github.com/faultline/faultline/deciders/kit"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "faultline-kueue: error:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	cfg, err := parse(args)
	if err != nil {
		return err
	}
	d, err := newDecider(cfg)
	if err != nil {
		return err
	}
	return kit.Serve(context.Background(), os.Stdin, os.Stdout, d)
}

// parse reads Kueue's own flags, and its configuration.
func parse(args []string) (*configapi.Configuration, error) {
	flags := flag.NewFlagSet("faultline-kueue", flag.ContinueOnError)
	file := flags.String("config", "", "the `FILE` of Kueue's Configuration. Without one, Kueue's defaults hold, and the integrations are batch/job, pod and jobset.x-k8s.io/jobset")
	gates := flags.String("feature-gates", "", "feature gates of Kueue, such as ElasticJobsViaWorkloadSlices=true")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	_, cfg, err := config.Load(newScheme(), *file)
	if err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	if *file == "" {
		cfg.Integrations.Frameworks = supported
	}
	if err := config.LoadAndValidateFeatureGates(*gates, cfg.FeatureGates).ToAggregate(); err != nil {
		return nil, fmt.Errorf("the feature gates: %w", err)
	}
	if err := config.Validate(&cfg, newScheme()).ToAggregate(); err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	// Kueue writes statuses by server-side apply, or with this gate by the merge patches that simulate takes.
	return &cfg, utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.WorkloadRequestUseMergePatch): true})
}
