// Package job writes what carries out a sweep on a Kubernetes cluster, a shard a pod: a ConfigMap with the scenario's files, and an
// Indexed Job. It runs nothing.
//
//	Sweep ─ Objects ─▶ *v1.ConfigMap, *batchv1.Job
//	      ─ Write ───▶ a manifest for kubectl, with comments on what to do with it
package job

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Sweep is a sweep that is to be carried out.
type Sweep struct {
	// Name is that of the Job, of the ConfigMap, and of the folder of the results; a DNS label (see Name).
	Name string
	// Namespace is where they are; empty: where kubectl applies them.
	Namespace string
	// Image holds the program, as its entry point.
	Image string
	// Version is that of the program that must be in the image.
	Version string
	// Shards is how many pods share the points, 1 or more, and Parallelism how many of them run at once.
	Shards, Parallelism int
	// Files are what the scenario is read from, the first its own file. Only that one counts if ScenarioClaim, a PersistentVolumeClaim,
	// holds them.
	Files         []File
	ScenarioClaim string
	// Options are further arguments of simulate sweep, those that change its results.
	Options []string
	// ResultsClaim is the PersistentVolumeClaim that keeps finished points and the reports; empty: reports go to the pods' logs.
	ResultsClaim string
}

// Scenario is the path of the scenario's file.
func (s *Sweep) Scenario() string { return s.Files[0].Path }

// MaxFailed is how many shards may fail before the others are ended. One that fails costs them nothing; if more than an eighth fail, there
// is one cause, and the others will.
func (s *Sweep) MaxFailed() int { return (s.Shards + 7) / 8 }

// File is a file of the scenario. The path is below the folder of its volume, with slashes.
type File struct {
	Path string
	Data []byte
}

// MaxData is how many bytes the values of a ConfigMap may have in all
// (https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-object).
const MaxData = v1.MaxSecretSize

// Where the volumes are. What stands at the top of a ConfigMap's volume is a symbolic link, which a walk through a folder does not
// follow, so its files are one folder further down.
const (
	scenarioDir = "/scenario"
	filesDir    = "files"
	resultsDir  = "/results"
)

// index is replaced by the kubelet with the shard that a pod carries out, from 0: the Job controller gives every container of an Indexed
// Job this variable (https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/).
const index = "$(JOB_COMPLETION_INDEX)"

const (
	// retries of a shard: what fails more often than this is no longer bad luck.
	retries = 3
	// badInput is the exit status of a wrong usage or scenario, and of a step that cannot be carried out.
	badInput = 2
	// nobody is the user of the image.
	nobody = 65532
	// kept is how many seconds a finished Job is kept, and the logs of its pods with it: a day.
	kept = 24 * 60 * 60
)

// What a shard may use. Go takes the limit of CPUs for the number of points that it carries out at once; of 5,000 nodes
// with 1,100 pods, two at once take 0.3 GiB.
var (
	cpus   = resource.MustParse("2")
	memory = resource.MustParse("1Gi")
)

var illegal = regexp.MustCompile(`[^a-z0-9]+`)

// Name returns a legal name for the Job of that many shards of a scenario, whatever the scenario is called.
func Name(scenario string, shards int) string {
	name := "sweep-" + strings.Trim(illegal.ReplaceAllString(strings.ToLower(scenario), "-"), "-")
	return strings.Trim(name[:min(len(name), MaxName(shards))], "-")
}

// MaxName is how long the name of a Job of that many shards may be: a pod has it for its host's name, with its index, of 63 characters
// at most.
func MaxName(shards int) int { return 63 - len(fmt.Sprintf("-%d", shards-1)) }

// Objects returns the objects: the ConfigMap, unless a claim holds the scenario, and the Job.
func Objects(s *Sweep) (*v1.ConfigMap, *batchv1.Job) {
	meta := metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: map[string]string{"app.kubernetes.io/name": "faultline"}}
	scenario, workingDir := volume("scenario", s.ScenarioClaim), scenarioDir
	var files *v1.ConfigMap
	if s.ScenarioClaim == "" {
		source := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: s.Name}}
		files = &v1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: meta,
			Immutable:  ptr.To(true), // all shards, and their retries, are of one scenario
			Data:       map[string]string{},
		}
		for i, file := range s.Files {
			key := keyOf(i, file.Path)
			files.Data[key] = string(file.Data)
			source.Items = append(source.Items, v1.KeyToPath{Key: key, Path: path.Join(filesDir, file.Path)})
		}
		scenario.ConfigMap = source
		workingDir = path.Join(scenarioDir, filesDir)
	}
	volumes := []v1.Volume{scenario}
	mounts := []v1.VolumeMount{{Name: "scenario", MountPath: scenarioDir, ReadOnly: true}}
	if s.ResultsClaim != "" {
		volumes = append(volumes, volume("results", s.ResultsClaim))
		mounts = append(mounts, v1.VolumeMount{Name: "results", MountPath: resultsDir})
	}
	return files, &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			CompletionMode:          ptr.To(batchv1.IndexedCompletion),
			Completions:             ptr.To(int32(s.Shards)),
			Parallelism:             ptr.To(int32(s.Parallelism)),
			BackoffLimitPerIndex:    ptr.To(int32(retries)),
			MaxFailedIndexes:        ptr.To(int32(s.MaxFailed())),
			PodFailurePolicy:        failures(),
			TTLSecondsAfterFinished: ptr.To(int32(kept)),
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
				Spec: v1.PodSpec{
					RestartPolicy:                v1.RestartPolicyNever,
					AutomountServiceAccountToken: ptr.To(false),
					SecurityContext: &v1.PodSecurityContext{
						RunAsNonRoot:        ptr.To(true),
						RunAsUser:           ptr.To(int64(nobody)),
						RunAsGroup:          ptr.To(int64(nobody)),
						FSGroup:             ptr.To(int64(nobody)), // may write to the claim
						FSGroupChangePolicy: ptr.To(v1.FSGroupChangeOnRootMismatch),
						SeccompProfile:      &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []v1.Container{{
						Name:       "simulate",
						Image:      s.Image,
						Args:       arguments(s),
						WorkingDir: workingDir,
						Resources: v1.ResourceRequirements{
							Requests: v1.ResourceList{v1.ResourceCPU: cpus, v1.ResourceMemory: memory},
							Limits:   v1.ResourceList{v1.ResourceCPU: cpus, v1.ResourceMemory: memory},
						},
						SecurityContext: &v1.SecurityContext{
							AllowPrivilegeEscalation: ptr.To(false),
							ReadOnlyRootFilesystem:   ptr.To(true),
							Capabilities:             &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
						},
						VolumeMounts: mounts,
					}},
					Volumes: volumes,
				},
			},
		},
	}
}

// failures says which failed pods are tried again. One that the cluster took away does not count. One that says that its input is wrong
// will say so again; other shards may not, since it can be about a point.
func failures() *batchv1.PodFailurePolicy {
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}},
		},
		{
			Action: batchv1.PodFailurePolicyActionFailIndex,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{badInput},
			},
		},
	}}
}

// arguments are those of simulate in the pod.
func arguments(s *Sweep) []string {
	args := []string{"sweep"}
	for _, option := range s.Options {
		args = append(args, literal(option))
	}
	args = append(args, fmt.Sprintf("--shards=%d", s.Shards), "--shard="+index)
	if s.ResultsClaim == "" {
		args = append(args, "--output=json")
	} else {
		results := path.Join(resultsDir, s.Name)
		args = append(args, "--results="+results, "--report=json="+results+"/shard-"+index+".json")
	}
	return append(args, "--", literal(s.Scenario())) // a name can begin with a dash
}

// literal keeps the kubelet from replacing variables in an argument.
func literal(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

func volume(name, claim string) v1.Volume {
	if claim == "" {
		return v1.Volume{Name: name}
	}
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

var notInKeys = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// keyOf is the key of the i-th file: keys have no slashes, and the number keeps them apart.
func keyOf(i int, file string) string {
	key := fmt.Sprintf("%d-%s", i, notInKeys.ReplaceAllString(path.Base(file), "-"))
	return key[:min(len(key), 253)]
}
