// Command faultline-descheduler is the descheduler as a decider: its own plugins choose the pods to evict; see docs/descheduler.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/faultline/faultline/deciders/kit"
)

func main() {
	flags := pflag.NewFlagSet("faultline-descheduler", pflag.ContinueOnError)
	policy := flags.String("policy", "", "the `FILE` of the DeschedulerPolicy (descheduler/v1alpha2)")
	interval := flags.Duration("descheduling-interval", 5*time.Minute, "time from one round to the next, as the descheduler's flag of that name")
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := serve(*policy, *interval); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(policy string, interval time.Duration) error {
	return kit.Serve(context.Background(), os.Stdin, os.Stdout, &descheduler{policyFile: policy, interval: interval})
}
