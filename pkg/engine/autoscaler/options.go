package autoscaler

import (
	"flag"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the values of the autoscaler's flags. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/config/flags/flags.go.
type Options struct {
	Expanders  []string
	Priorities map[int][]*regexp.Regexp // for the expander priority: patterns of group names, by priority; nil: that expander leaves all options

	BalanceSimilarNodeGroups               bool
	BalancingIgnoreLabels, BalancingLabels []string
	MaxNodesTotal, MaxNodesPerScaleUp      int
	Cores, Memory                          Range // Memory in bytes
	NewPodScaleUpDelay                     time.Duration
	ExpendablePodsPriorityCutoff           int
	ForceDaemonSets                        bool
	SimulateSkippedGroups                  bool

	ScaleDown, ScaleDownUnready                                   bool
	UtilizationThreshold                                          float64
	UnneededTime, UnreadyTime                                     time.Duration
	DelayAfterAdd, DelayAfterDelete                               time.Duration
	RecheckTimeout, SystemPodTimeout                              time.Duration
	IgnoreDaemonSetsUtilization, IgnoreMirrorPodsUtilization      bool
	MaxScaleDownParallelism, MaxDrainParallelism, MinReplicaCount int
	SkipSystemPods, SkipLocalStorage, SkipCustomControllerPods    bool
	MaxNodeProvisionTime, MaxNodeStartupTime                      time.Duration
	OkTotalUnreadyCount                                           int
	MaxTotalUnreadyPercentage                                     float64
}

// Range is a minimum and a maximum, both inclusive.
type Range struct{ Min, Max int64 }

// expanders are the values of --expander that are supported here.
var expanders = []string{"random", "most-pods", "least-waste", "least-nodes", "priority"}

// Flags sets the options to the autoscaler's defaults, and returns flags with the autoscaler's names that change them.
func (o *Options) Flags() *flag.FlagSet {
	fs := flag.NewFlagSet("cluster-autoscaler", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Expanders = []string{"least-waste"}
	fs.Func("expander", "", func(value string) error {
		o.Expanders = strings.Split(value, ",")
		for i, name := range o.Expanders {
			switch {
			case !slices.Contains(expanders, name):
				return fmt.Errorf("expander %q is not one of %s", name, strings.Join(expanders, ", "))
			case slices.Contains(o.Expanders[:i], name):
				return fmt.Errorf("expander %q is there twice", name)
			case i > 0 && o.Expanders[i-1] == "random":
				return fmt.Errorf("expander %q comes after random, which leaves one option", name)
			}
		}
		return nil
	})
	fs.BoolVar(&o.BalanceSimilarNodeGroups, "balance-similar-node-groups", false, "")
	listVar(fs, &o.BalancingIgnoreLabels, "balancing-ignore-label")
	listVar(fs, &o.BalancingLabels, "balancing-label")
	fs.IntVar(&o.MaxNodesTotal, "max-nodes-total", 0, "")
	fs.IntVar(&o.MaxNodesPerScaleUp, "max-nodes-per-scaleup", 1000, "")
	rangeVar(fs, &o.Cores, "cores-total", Range{0, 5000 * 64}, 1)
	rangeVar(fs, &o.Memory, "memory-total", Range{0, 5000 * 64 * 20}, 1<<30)
	fs.DurationVar(&o.NewPodScaleUpDelay, "new-pod-scale-up-delay", 0, "")
	fs.IntVar(&o.ExpendablePodsPriorityCutoff, "expendable-pods-priority-cutoff", -10, "")
	fs.BoolVar(&o.ForceDaemonSets, "force-ds", false, "")
	fs.BoolVar(&o.SimulateSkippedGroups, "scaleup-simulation-for-skipped-node-groups-enabled", false, "")

	fs.BoolVar(&o.ScaleDown, "scale-down-enabled", true, "")
	fs.BoolVar(&o.ScaleDownUnready, "scale-down-unready-enabled", true, "")
	fs.Float64Var(&o.UtilizationThreshold, "scale-down-utilization-threshold", 0.5, "")
	fs.DurationVar(&o.UnneededTime, "scale-down-unneeded-time", 10*time.Minute, "")
	fs.DurationVar(&o.UnreadyTime, "scale-down-unready-time", 20*time.Minute, "")
	fs.DurationVar(&o.DelayAfterAdd, "scale-down-delay-after-add", 10*time.Minute, "")
	fs.DurationVar(&o.DelayAfterDelete, "scale-down-delay-after-delete", 0, "")
	fs.DurationVar(&o.RecheckTimeout, "unremovable-node-recheck-timeout", 5*time.Minute, "")
	fs.DurationVar(&o.SystemPodTimeout, "blocking-system-pod-distruption-timeout", time.Hour, "")
	fs.BoolVar(&o.IgnoreDaemonSetsUtilization, "ignore-daemonsets-utilization", false, "")
	fs.BoolVar(&o.IgnoreMirrorPodsUtilization, "ignore-mirror-pods-utilization", false, "")
	fs.IntVar(&o.MaxScaleDownParallelism, "max-scale-down-parallelism", 10, "")
	fs.IntVar(&o.MaxDrainParallelism, "max-drain-parallelism", 1, "")
	fs.IntVar(&o.MinReplicaCount, "min-replica-count", 0, "")
	fs.BoolVar(&o.SkipSystemPods, "skip-nodes-with-system-pods", true, "")
	fs.BoolVar(&o.SkipLocalStorage, "skip-nodes-with-local-storage", true, "")
	fs.BoolVar(&o.SkipCustomControllerPods, "skip-nodes-with-custom-controller-pods", true, "")
	fs.DurationVar(&o.MaxNodeProvisionTime, "max-node-provision-time", 15*time.Minute, "")
	fs.DurationVar(&o.MaxNodeStartupTime, "max-node-startup-time", 15*time.Minute, "")
	fs.IntVar(&o.OkTotalUnreadyCount, "ok-total-unready-count", 3, "")
	fs.Float64Var(&o.MaxTotalUnreadyPercentage, "max-total-unready-percentage", 45, "")
	return fs
}

// FlagNames returns the names of all flags, sorted.
func FlagNames() []string {
	var names []string
	new(Options).Flags().VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// listVar defines a flag whose values are added to a list. A value may have several items, separated by commas.
func listVar(fs *flag.FlagSet, to *[]string, name string) {
	fs.Func(name, "", func(value string) error {
		*to = append(*to, strings.Split(value, ",")...)
		return nil
	})
}

// rangeVar defines a flag for a range such as 0:100, in units. Its default is the range whole.
func rangeVar(fs *flag.FlagSet, to *Range, name string, whole Range, unit int64) {
	*to = Range{whole.Min * unit, whole.Max * unit}
	fs.Func(name, "", func(value string) error {
		low, high, _ := strings.Cut(value, ":")
		least, err := strconv.ParseInt(low, 10, 64)
		most, err2 := strconv.ParseInt(high, 10, 64)
		if err != nil || err2 != nil || least < 0 || least > most || most > math.MaxInt64/unit {
			return fmt.Errorf("%q is not a minimum and a maximum, such as 0:100", value)
		}
		*to = Range{least * unit, most * unit}
		return nil
	})
}

// CompilePriorities compiles the patterns of the expander priority: regular expressions for names of groups, by priority.
func CompilePriorities(written map[int][]string) (map[int][]*regexp.Regexp, error) {
	priorities := map[int][]*regexp.Regexp{}
	for priority, patterns := range written {
		for _, pattern := range patterns {
			compiled, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			priorities[priority] = append(priorities[priority], compiled)
		}
	}
	return priorities, nil
}
