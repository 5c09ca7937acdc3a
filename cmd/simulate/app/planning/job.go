package planning

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/ask/job"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// jobFlags are the flags that turn a sweep into a Job. write fills in the sweep's name, files and options.
type jobFlags struct {
	wanted bool
	job.Sweep
}

// By default a Job has 64 shards, or one per point if there are fewer, and runs 16 at once.
const (
	jobShards      = 64
	jobParallelism = 16
)

func (j *jobFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&j.wanted, "job", false, "print the manifest of a Kubernetes Job that runs the sweep, one shard per pod, and run nothing")
	flags.StringVar(&j.Image, "image", "", "`IMAGE` of the Job, with this version of simulate (default faultline:VERSION, which the Dockerfile builds)")
	flags.StringVar(&j.Name, "job-name", "", "`NAME` of the Job (default sweep- and the scenario's name)")
	flags.StringVar(&j.Namespace, "job-namespace", "", "`NAMESPACE` of the Job (default the one kubectl applies it to)")
	flags.IntVar(&j.Parallelism, "parallelism", jobParallelism, "`NUMBER` of the Job's pods that run at once")
	flags.StringVar(&j.ResultsClaim, "results-claim", "", "PersistentVolumeClaim `NAME`, ReadWriteMany, where the Job keeps finished points and the shards' reports\n(default none: reports go to the pods' logs)")
	flags.StringVar(&j.ScenarioClaim, "scenario-claim", "", "PersistentVolumeClaim `NAME` that holds the scenario's folder, if it is too large for a ConfigMap")
}

// jobOnlyFlags are the flags without effect except on a Job. [flagsSetByJobs] are the flags that a Job sets for each of its shards.
var (
	jobOnlyFlags   = []string{"image", "job-name", "job-namespace", "parallelism", "results-claim", "scenario-claim"}
	flagsSetByJobs = []string{"shard", "results", "output", "report", "all"}
)

// check rejects flags that exclude each other.
func (j *jobFlags) check(cmd *cobra.Command) error {
	flags, wrong := jobOnlyFlags, "has no effect without --job; give both"
	if j.wanted {
		flags, wrong = flagsSetByJobs, "cannot be used with --job, whose shards write their own reports; leave it out"
	}
	var problems []error
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			problems = append(problems, fmt.Errorf("--%s %s", name, wrong))
		}
	}
	return exit.UsageProblems(cmd, problems...)
}

// write writes the manifest of the Job that runs the sweep.
func (j *jobFlags) write(cmd *cobra.Command, s command.Streams, loaded *scenario.Scenario, shards int) error {
	j.Shards = shards
	if !cmd.Flags().Changed("shards") {
		j.Shards = min(jobShards, len(loaded.Points))
	}
	j.Parallelism = min(j.Parallelism, j.Shards)
	j.Name = cmp.Or(j.Name, job.Name(loaded.Name, j.Shards))
	j.Image = cmp.Or(j.Image, "faultline:"+s.ToolVersion)
	j.Version = s.ToolVersion
	if err := exit.UsageProblems(cmd, j.checkNames(), j.collectFiles(cmd, loaded)); err != nil {
		return err
	}
	return job.Write(s.Out, &j.Sweep)
}

// checkNames rejects names and numbers that the API server would reject.
func (j *jobFlags) checkNames() error {
	var problems []error
	legal := func(flag, value string, check func(string) []string) {
		if value != "" {
			for _, problem := range check(value) {
				problems = append(problems, fmt.Errorf("--%s %s: %s", flag, value, problem))
			}
		}
	}
	legal("job-name", j.Name, validation.IsDNS1123Label)
	if longest := job.MaxName(j.Shards); len(j.Name) > longest {
		problems = append(problems, fmt.Errorf("--job-name %s: longer than %d characters, the limit with %d pods; give a shorter one",
			j.Name, longest, j.Shards))
	}
	legal("job-namespace", j.Namespace, validation.IsDNS1123Label)
	legal("results-claim", j.ResultsClaim, validation.IsDNS1123Subdomain)
	legal("scenario-claim", j.ScenarioClaim, validation.IsDNS1123Subdomain)
	if j.Parallelism < 1 {
		problems = append(problems, fmt.Errorf("--parallelism %d: give at least 1 pod that runs at once", j.Parallelism))
	}
	if j.Shards > scenario.MaxPoints {
		problems = append(problems, fmt.Errorf("--shards %d: a sweep has at most %d points; give fewer shards", j.Shards, scenario.MaxPoints))
	}
	return errors.Join(problems...)
}

// collectFiles collects the scenario's files and the sweep's options. A pod of the Job has the files in a folder of the same name as here,
// because a scenario without a name is named after its folder.
func (j *jobFlags) collectFiles(cmd *cobra.Command, loaded *scenario.Scenario) error {
	own := filepath.Base(loaded.File)
	folder := filepath.Dir(loaded.File)
	above := filepath.Base(folder)
	if above == "." || above == ".." || above == string(filepath.Separator) {
		above = "scenario" // the scenario is then named so, too
	}
	names, err := loader.Files(nil, loaded)
	if err != nil {
		return err
	}
	var problems []error
	names = slices.DeleteFunc(names, func(name string) bool {
		outside := !filepath.IsLocal(name)
		if outside {
			problems = append(problems, fmt.Errorf("%s: the Job cannot read %s; put it into the scenario's folder, and name it relative to that",
				loaded.File, name))
		}
		return outside || name == own
	})
	config := ""
	if flag := cmd.Flags().Lookup("scheduler-config"); flag.Changed {
		if config, err = relativeInside(folder, flag.Value.String()); err != nil {
			problems = append(problems, fmt.Errorf("--scheduler-config %s: the Job cannot read it; put it into the scenario's folder, %s",
				flag.Value, folder))
		} else if !slices.Contains(names, config) {
			names = append(names, config)
		}
	}
	size := 0
	for _, name := range append([]string{own}, names...) {
		file := job.File{Path: path.Join(above, filepath.ToSlash(name))}
		if j.ScenarioClaim == "" {
			if file.Data, err = os.ReadFile(filepath.Join(folder, name)); err != nil {
				problems = append(problems, err)
			}
		}
		size += len(file.Data)
		j.Files = append(j.Files, file)
	}
	if size > job.MaxData {
		problems = append(problems, fmt.Errorf("%s: the scenario and its files have %d bytes, and a ConfigMap at most %d; copy the folder to a volume, and give --scenario-claim",
			loaded.File, size, job.MaxData))
	}
	j.collectOptions(cmd, path.Join(above, filepath.ToSlash(config)))
	return errors.Join(problems...)
}

// relativeInside returns the path of a file relative to a folder. It returns an error if the file is not below the folder.
func relativeInside(folder, name string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if name, err = filepath.Abs(name); err != nil {
		return "", err
	}
	if name, err = filepath.Rel(folder, name); err == nil && !filepath.IsLocal(name) {
		err = fmt.Errorf("%s is not in %s", name, folder)
	}
	return name, err
}

// collectOptions collects the options of this command line that are not about the Job itself.
func (j *jobFlags) collectOptions(cmd *cobra.Command, config string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		switch {
		case flag.Name == "job", flag.Name == "shards", slices.Contains(jobOnlyFlags, flag.Name):
			return
		case flag.Name == "scheduler-config":
			values = []string{config}
		}
		for _, value := range values {
			j.Options = append(j.Options, "--"+flag.Name+"="+value)
		}
	})
}
