package app

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

	"github.com/faultline/faultline/pkg/ask/job"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/scenario/loader"
)

// jobFlags say how a sweep is carried out on a cluster. The sweep's name, its files and its options are set later.
type jobFlags struct {
	wanted bool
	job.Sweep
}

// By default a Job has 64 shards, or as many as there are points, of which 16 run at once.
const (
	jobShards      = 64
	jobParallelism = 16
)

func (j *jobFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&j.wanted, "job", false, "carry out nothing, and write the manifest of a Kubernetes Job that carries out the sweep, a shard a pod")
	flags.StringVar(&j.Image, "image", "", "`IMAGE` of the Job, which holds this version of simulate (default faultline:VERSION, as the Dockerfile builds it)")
	flags.StringVar(&j.Name, "job-name", "", "`NAME` of the Job (default sweep- and the scenario's)")
	flags.StringVarP(&j.Namespace, "namespace", "n", "", "`NAMESPACE` of the Job (default where kubectl applies it)")
	flags.IntVar(&j.Parallelism, "parallelism", jobParallelism, "`NUMBER` of pods of the Job that run at once")
	flags.StringVar(&j.ResultsClaim, "results-claim", "", "PersistentVolumeClaim `NAME`, ReadWriteMany, where the Job keeps finished points and the shards' reports\n(default none: reports go to the pods' logs)")
	flags.StringVar(&j.ScenarioClaim, "scenario-claim", "", "PersistentVolumeClaim `NAME` that holds the scenario's folder, where it is too large for a ConfigMap")
}

// onlyOfJobs are the flags that say how a Job is made, and notOfJobs those that it gives to its shards itself.
var (
	onlyOfJobs = []string{"image", "job-name", "namespace", "parallelism", "results-claim", "scenario-claim"}
	notOfJobs  = []string{"shard", "results", "output", "report", "all"}
)

// check finds flags that do not go with each other.
func (j *jobFlags) check(cmd *cobra.Command) error {
	flags, wrong := onlyOfJobs, "is for the manifest of a Job; give --job, too"
	if j.wanted {
		flags, wrong = notOfJobs, "has no place with --job, whose shards report by themselves; leave it out"
	}
	var problems []error
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			problems = append(problems, fmt.Errorf("--%s %s", name, wrong))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return usage(cmd, "%s", err)
	}
	return nil
}

// write writes the manifest of the Job that carries out the sweep.
func (j *jobFlags) write(cmd *cobra.Command, s streams, loaded *scenario.Scenario, shards int) error {
	j.Shards = shards
	if !cmd.Flags().Changed("shards") {
		j.Shards = min(jobShards, len(loaded.Points))
	}
	j.Parallelism = min(j.Parallelism, j.Shards)
	j.Name = cmp.Or(j.Name, job.Name(loaded.Name, j.Shards))
	j.Image = cmp.Or(j.Image, "faultline:"+version)
	j.Version = version
	if err := errors.Join(j.checkNames(), j.gather(cmd, loaded)); err != nil {
		return usage(cmd, "%s", err)
	}
	return job.Write(s.out, &j.Sweep)
}

// checkNames finds what the API server would refuse.
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
		problems = append(problems, fmt.Errorf("--job-name %s: is longer than %d characters, which the names of %d pods leave; give a shorter one",
			j.Name, longest, j.Shards))
	}
	legal("namespace", j.Namespace, validation.IsDNS1123Label)
	legal("results-claim", j.ResultsClaim, validation.IsDNS1123Subdomain)
	legal("scenario-claim", j.ScenarioClaim, validation.IsDNS1123Subdomain)
	if j.Parallelism < 1 {
		problems = append(problems, fmt.Errorf("--parallelism %d: give the number of pods that run at once, 1 or more", j.Parallelism))
	}
	if j.Shards > scenario.MaxPoints {
		problems = append(problems, fmt.Errorf("--shards %d: a sweep has at most %d points; give fewer shards", j.Shards, scenario.MaxPoints))
	}
	return errors.Join(problems...)
}

// gather takes the scenario's files and the sweep's options along. In the pod the files are beside each other as they are here, in a
// folder of the same name, since a scenario without a name is called like its folder.
func (j *jobFlags) gather(cmd *cobra.Command, loaded *scenario.Scenario) error {
	own := filepath.Base(loaded.File)
	folder := filepath.Dir(loaded.File)
	above := filepath.Base(folder)
	if above == "." || above == ".." || above == string(filepath.Separator) {
		above = "scenario" // which is then its name, too
	}
	names, err := loader.Files(nil, loaded)
	if err != nil {
		return err
	}
	var problems []error
	names = slices.DeleteFunc(names, func(name string) bool {
		outside := !filepath.IsLocal(name)
		if outside {
			problems = append(problems, fmt.Errorf("%s: reads %s, which the Job does not have; put it into the scenario's folder, and name it relative to that",
				loaded.File, name))
		}
		return outside || name == own
	})
	config := ""
	if flag := cmd.Flags().Lookup("scheduler-config"); flag.Changed {
		if config, err = within(folder, flag.Value.String()); err != nil {
			problems = append(problems, fmt.Errorf("--scheduler-config %s: the Job does not have it; put it into the scenario's folder, %s",
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
		problems = append(problems, fmt.Errorf("%s: it and the files it names have %d bytes, and a ConfigMap has at most %d; copy the folder to a volume, and give its --scenario-claim",
			loaded.File, size, job.MaxData))
	}
	j.options(cmd, path.Join(above, filepath.ToSlash(config)))
	return errors.Join(problems...)
}

// within returns the path, relative to the folder, of a file that must be in it.
func within(folder, name string) (string, error) {
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

// options takes along each option of this command line that is not about the Job.
func (j *jobFlags) options(cmd *cobra.Command, config string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		switch {
		case flag.Name == "job", flag.Name == "shards", slices.Contains(onlyOfJobs, flag.Name):
			return
		case flag.Name == "scheduler-config":
			values = []string{config}
		}
		for _, value := range values {
			j.Options = append(j.Options, "--"+flag.Name+"="+value)
		}
	})
}
