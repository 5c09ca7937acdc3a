package operation

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	askupgrade "github.com/faultline/faultline/pkg/ask/upgrade"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/upgrade"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

func newUpgrade(s command.Streams) *cobra.Command {
	var in input.Flags
	var out output.Flags
	var from, to string
	var failOn []string
	cmd := &cobra.Command{
		Use:   "upgrade [SCENARIO | MANIFEST...] --to RELEASE",
		Short: "Show what another release of Kubernetes changes for these objects",
		Long: `Run a scenario as one release of Kubernetes. Then place each of its pods anew, alone, as this release and as another one, and list
the pods that the two do not place alike. Running pods do not move by themselves: an upgrade matters when a pod is created again.
Also list the objects that only one release accepts, or that they store in different ways, the feature gates that change and have
to do with an object, and what changes but is not simulated.

The earlier release is --from, or what the scenario says, or the newest release of the nodes' kubelets. In place of a release that
cannot be simulated, on either side, stands the nearest one that can, and a note says so. The release after the program's own
is a preview: some of its changes are simulated, and the others listed.

The exit code is 0 whatever changes. With --fail-on it is 3 if there are changes of these kinds:
  moved     a pod would go to another node
  pending   a pod would stay Pending
  refused   an object would be refused, or its API version is not served
  stored    an object would be stored in another way
  gates     a feature gate changes that has to do with an object
  any       any of these, or an object that only the later release accepts`,
		Example: `  simulate upgrade dump.json --to 1.37
  simulate upgrade dump.json --from 1.35 --to 1.36 -o markdown
  simulate upgrade scenario.yaml --from 1.34 --fail-on pending,refused
  simulate upgrade dump.json --to 1.38 # a preview`,
		RunE: command.Question[upgrade.Report]{
			Input: &in, Output: &out, Formats: upgrade.Formats,
			Check: func(c *command.Call) error { return checkUpgrade(c, nearestRelease(from), nearestRelease(to), failOn) },
			Ask: func(c *command.Call) (*upgrade.Report, error) {
				if err := keepInput(c); err != nil {
					return nil, err
				}
				later := nearestRelease(to)
				s, earlier, err := loadEarlier(c, nearestRelease(from))
				if err == nil {
					err = checkLater(c, earlier, later)
				}
				if err != nil {
					return nil, err
				}
				s.Notes = append(slices.Clip(s.Notes), later.notes("with")...)
				if later.nearest == sched.Preview() {
					s.Notes = append(s.Notes, sched.PreviewNote())
				}
				result, err := simulation.Run(c.Context(), s, simulation.Options{Progress: c.Bar.Counts("pods")})
				if err != nil {
					return nil, err
				}
				state := result.Initial
				if n := len(result.Steps); n > 0 {
					state = result.Steps[n-1].State
				}
				answer, err := compareReleases(c, s, state, later.nearest)
				if err != nil {
					return nil, err
				}
				found := upgrade.New(result, answer, failOn, c.ToolVersion)
				return found, command.UnmetUnless(found.Met(), nil)
			},
		}.Run(s),
	}
	in.Register(cmd)
	_ = cmd.Flags().MarkHidden("kubernetes") // --from and --to take its place
	flags, earlier := cmd.Flags(), append(sched.EarlierReleases(), sched.Release{}.Minor())
	flags.StringVar(&from, "from", "", "the earlier `RELEASE`: "+words.Or(earlier)+"\n(default what the scenario says, or the nodes' kubelets)")
	flags.StringVar(&to, "to", sched.Release{}.Minor(), "the later `RELEASE`: "+words.Or(sched.Releases()[1:])+"; "+sched.Preview()+" is a preview")
	flags.StringSliceVar(&failOn, "fail-on", nil, "exit with 3 if there are `CHANGES` of these kinds: "+strings.Join(upgrade.FailOns(), ", ")+"\n(repeatable, or comma-separated)")
	output.CompleteValues(cmd, "from", earlier)
	output.CompleteValues(cmd, "to", sched.Releases()[1:])
	output.CompleteValues(cmd, "fail-on", upgrade.FailOns())
	out.Register(cmd, upgrade.Formats.Names(), "the summary", "list every pod and object, however many there are")
	return cmd
}

// simulatedRelease are a wanted release and the nearest one that can be simulated, as MAJOR.MINOR.
type simulatedRelease struct{ wanted, nearest string }

// nearestRelease returns the release that can be simulated and is nearest to the wanted one. It is "" if the text is not a release.
func nearestRelease(wanted string) simulatedRelease {
	v, err := version.ParseGeneric(wanted)
	if err != nil {
		return simulatedRelease{wanted: wanted}
	}
	all := sched.Releases()
	switch minor := fmt.Sprintf("%d.%d", v.Major(), v.Minor()); {
	case sched.Before(minor, all[0]):
		return simulatedRelease{minor, all[0]}
	case sched.Before(all[len(all)-1], minor):
		return simulatedRelease{minor, all[len(all)-1]}
	default:
		return simulatedRelease{minor, minor}
	}
}

// notes says that the nearest release stands for the wanted one, if they differ.
func (r simulatedRelease) notes(compares string) []string {
	if r.wanted == r.nearest {
		return nil
	}
	return []string{fmt.Sprintf("Kubernetes %s", r.wanted) + r.standInNote(compares)}
}

func (r simulatedRelease) standInNote(compares string) string {
	return fmt.Sprintf(" cannot be simulated; %s is the nearest release, and this compares %s it. What changed between the two is missing.", r.nearest, compares)
}

// checkLater returns an error unless the release of --to is later than the other.
func checkLater(c *command.Call, from, to simulatedRelease) error {
	switch {
	case isEarlier(from.nearest, to.nearest):
		return nil
	case from.wanted == from.nearest && to.wanted == to.nearest || !sched.Before(from.wanted, to.wanted):
		return c.Usage("--to: %s is not later than %s; give a later release, or an earlier one with --from", to.wanted, from.wanted)
	}
	return c.Usage("--to: of Kubernetes %s and %s, the nearest release that can be simulated is %s for both; give %s", from.wanted, to.wanted, to.nearest, words.Or(sched.Releases()[1:]))
}

func checkUpgrade(c *command.Call, from, to simulatedRelease, failOn []string) error {
	if c.Flags().Changed("kubernetes") {
		return c.Usage("--kubernetes: give --from and --to")
	}
	for _, given := range []struct {
		flag string
		simulatedRelease
	}{{"from", from}, {"to", to}} {
		if given.wanted != "" && given.nearest == "" {
			return c.Usage("--%s: %q is no release; give one such as %s", given.flag, given.wanted, words.Or(sched.Releases()))
		}
	}
	if from.wanted != "" {
		if err := checkLater(c, from, to); err != nil {
			return err
		}
	}
	for _, kind := range failOn {
		if !slices.Contains(upgrade.FailOns(), kind) {
			return c.Usage("--fail-on: %q is not a kind of change: use one of %s", kind, strings.Join(upgrade.FailOns(), ", "))
		}
	}
	return nil
}

// isEarlier reports whether release a comes before release b. Both can be simulated.
func isEarlier(a, b string) bool {
	return slices.Index(sched.Releases(), a) < slices.Index(sched.Releases(), b)
}

// keepInput reads standard input into memory if the command line names it, so that it can be read once for each release.
func keepInput(c *command.Call) error {
	if !slices.Contains(slices.Concat(c.Input.Cluster, c.Input.Files, c.Args), manifest.Stdin) {
		return nil
	}
	data, err := io.ReadAll(c.Streams.In)
	c.Streams.In = bytes.NewReader(data)
	return err
}

// loadRewound reads the scenario. It reads standard input from its beginning if keepInput has kept it.
func loadRewound(c *command.Call) (*scenario.Scenario, error) {
	if kept, is := c.Streams.In.(*bytes.Reader); is {
		if _, err := kept.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return c.Load(c.Args)
}

// loadEarlier reads the scenario as the earlier release: that of --from, or of the scenario, or of the nodes' kubelets. If that release cannot be
// simulated, the nearest one takes its place, and a note says so.
func loadEarlier(c *command.Call, from simulatedRelease) (*scenario.Scenario, simulatedRelease, error) {
	c.Input.Options.Kubernetes = from.nearest
	s, err := loadRewound(c)
	if err != nil {
		return nil, from, err
	}
	if from.wanted != "" {
		s.Notes = append(slices.Clip(s.Notes), from.notes("from")...)
		return s, from, nil
	}
	if own := s.Config.Release(); own.Kubernetes != "" {
		return s, simulatedRelease{own.Minor(), own.Minor()}, nil
	}
	var nodes []*v1.Node
	for _, obj := range s.Cluster {
		if node, is := obj.(*v1.Node); is {
			nodes = append(nodes, node)
		}
	}
	kubelets := cluster.NewestKubelet(nodes)
	if kubelets == "" {
		return nil, from, c.Usage("no node says which release its kubelet is; give --from %s", words.Or(append(sched.EarlierReleases(), sched.Release{}.Minor())))
	}
	of := nearestRelease(kubelets)
	switch {
	case of.wanted == of.nearest:
		return s, of, nil
	case sched.Before(of.nearest, kubelets):
		return nil, of, exit.InvalidInput(fmt.Errorf("the nodes run Kubernetes %s, which cannot be simulated; give --from %s", kubelets, words.Or(append(sched.EarlierReleases(), sched.Release{}.Minor()))))
	}
	c.Input.Options.Kubernetes = of.nearest
	if s, err = loadRewound(c); err == nil {
		s.Notes = append(slices.Clip(s.Notes), fmt.Sprintf("The nodes run Kubernetes %s, which", kubelets)+of.standInNote("from"))
	}
	return s, of, err
}

// compareReleases places the pods of the state as the scenario's release, and then as the later one. Only one release at a time can be set
// in a process.
func compareReleases(c *command.Call, s *scenario.Scenario, state *cluster.State, to string) (*askupgrade.Answer, error) {
	place := func(s *scenario.Scenario) (*askupgrade.Side, error) {
		side, progress := &askupgrade.Side{Scenario: s}, c.Bar.Counts("pods")
		return side, side.Place(c.Context(), state, func(done, total int) { progress("as Kubernetes "+s.Config.Release().Minor(), done, total) })
	}
	older, err := place(s)
	if err != nil {
		return nil, err
	}
	c.Input.Options.Kubernetes = to
	later, err := loadRewound(c)
	switch {
	case exit.Interrupted(err):
		return nil, err
	case err != nil:
		return askupgrade.Refusal(s.Config.Release().Minor(), to, err), nil
	}
	newer, err := place(later)
	if err != nil {
		return nil, err
	}
	answer, err := askupgrade.Compare(older, newer, state)
	if err != nil {
		return nil, err
	}
	return answer, answer.AddReasons(c.Context(), older, newer, state)
}
