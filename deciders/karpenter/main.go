// Command faultline-karpenter is Karpenter as a decider of simulate: its real code, in logical time. See docs/karpenter.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/faultline/faultline/deciders/kit"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "faultline-karpenter: error:", err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	ctx, err := parse(args)
	if err != nil {
		return err
	}
	types, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return err
	}
	d, err := newDecider(types, kwokoptions.FromContext(ctx).InstanceTypesFilePath != "")
	if err != nil {
		return err
	}
	return kit.Serve(ctx, os.Stdin, os.Stdout, d)
}

// parse reads Karpenter's own flags and environment, and the flags of the decider.
func parse(args []string) (context.Context, error) {
	log.SetLogger(logr.Discard())
	own, karpenter := &kwokoptions.Options{}, &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("faultline-karpenter", flag.ContinueOnError)}
	karpenter.AddFlags(flags)
	own.AddFlags(flags)
	flags.StringVar(&own.InstanceTypesFilePath, "instance-types", own.InstanceTypesFilePath, "A file of instance types in the kwok provider's format. Without one, a node class of kwok has the kwok provider's 144 types, and one of another provider the shapes of the cluster's nodes")
	if err := karpenter.Parse(flags, args...); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return own.ToContext(karpenter.ToContext(context.Background())), nil
}
