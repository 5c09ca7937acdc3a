// Command faultline-karpenter is Karpenter as a decider of simulate: its real code, in logical time. See docs/karpenter.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
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
	ctx, prices, err := parse(args)
	if err != nil {
		return err
	}
	d, err := newDecider(ctx, prices)
	if err != nil {
		return err
	}
	return kit.Serve(ctx, os.Stdin, os.Stdout, d)
}

// parse reads Karpenter's own flags and environment, and the flags of the decider: the files of --prices.
func parse(args []string) (ctx context.Context, prices []string, err error) {
	log.SetLogger(logr.Discard())
	own, karpenter := &kwokoptions.Options{}, &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("faultline-karpenter", flag.ContinueOnError)}
	karpenter.AddFlags(flags)
	own.AddFlags(flags)
	flags.StringVar(&own.InstanceTypesFilePath, "instance-types", own.InstanceTypesFilePath, "A file of instance types, in the kwok provider's format or as aws ec2 describe-instance-types prints them. Without one, a node class of kwok has the kwok provider's 144 types, and one of another provider the shapes of the cluster's nodes")
	flags.Func("prices", "A file as aws pricing get-products, aws ec2 describe-spot-price-history or describe-instance-type-offerings print it, for types of AWS (repeatable). Without one, prices are reckoned as the kwok provider does", func(file string) error {
		prices = append(prices, file)
		return nil
	})
	if err := karpenter.Parse(flags, args...); err != nil {
		return nil, nil, err
	}
	if flags.NArg() > 0 {
		return nil, nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return own.ToContext(karpenter.ToContext(context.Background())), prices, nil
}
