// Package job writes the manifest that runs a sweep on a Kubernetes cluster, one shard per pod: a ConfigMap with the scenario's files, and
// an Indexed Job. It runs nothing itself.
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

// Sweep is a sweep to run.
type Sweep struct {
	// Name is the name of the Job, the ConfigMap, and the folder of the results; a DNS label (see Name).
	Name string
	// Namespace is the namespace of the Job and the ConfigMap; if empty, kubectl applies them to its current namespace.
	Namespace string
	// Image is the image whose entry point is the program.
	Image string
	// Version is the version of the program that the image must have.
	Version string
	// Shards is the number of pods that share the points, at least 1. Parallelism is the number of pods that run at the same time.
	Shards, Parallelism int
	// Files lists the scenario's files, the scenario file first. If ScenarioClaim, a PersistentVolumeClaim, holds them, only the first is
	// needed.
	Files         []File
	ScenarioClaim string
	// Options are further arguments of simulate sweep that change its results.
	Options []string
	// ResultsClaim is the PersistentVolumeClaim for finished points and reports; if empty, reports go to the pods' logs.
	ResultsClaim string
}

// Scenario returns the path of the scenario's file.
func (s *Sweep) Scenario() string { return s.Files[0].Path }

// maxFailed returns the number of shards that may fail before the others are stopped. A failed shard does not affect the others. But if
// more than an eighth of them fail, they probably have a common cause, and the others will fail, too.
func (s *Sweep) maxFailed() int { return (s.Shards + 7) / 8 }

// File is a file of the scenario. Its path is relative to the volume's folder, with slashes.
type File struct {
	Path string
	Data []byte
}

// MaxData is the maximum total size in bytes of the values of a ConfigMap.
const MaxData = v1.MaxSecretSize

// Mount paths of the volumes. The top-level entries of a ConfigMap's volume are symbolic links, which a walk through a folder does not
// follow, so its files are one folder further down.
const (
	scenarioDir = "/scenario"
	filesDir    = "files"
	resultsDir  = "/results"
)

// indexVariable stands for the pod's shard, from 0. The kubelet replaces it, since the Job controller gives every container of an Indexed Job this
// variable
// (https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/).
const indexVariable = "$(JOB_COMPLETION_INDEX)"

const (
	// retriesPerShard is the number of retries of a shard. More failures are unlikely to be transient.
	retriesPerShard = 3
	// badInput is the exit code for bad usage or input, and for a step that cannot run.
	badInput = 2
	// imageUser is the user of the image.
	imageUser = 65532
	// keepSeconds is the number of seconds for which a finished Job, and with it its pods' logs, is kept: a day.
	keepSeconds = 24 * 60 * 60
)

// shardCPUs and shardMemory are the resources of a shard. Go runs as many points at the same time as the CPU limit; with 5,000 nodes and
// 1,100 pods, two points take 0.3 GiB.
var (
	shardCPUs   = resource.MustParse("2")
	shardMemory = resource.MustParse("1Gi")
)

var illegalInName = regexp.MustCompile(`[^a-z0-9]+`)

// Name returns a legal name for the Job that runs that many shards of a scenario with this name.
func Name(scenario string, shards int) string {
	name := "sweep-" + strings.Trim(illegalInName.ReplaceAllString(strings.ToLower(scenario), "-"), "-")
	return strings.Trim(name[:min(len(name), MaxName(shards))], "-")
}

// MaxName returns the maximum length of the name of a Job with that many shards: it is part of the pods' host names, with their index,
// which have at most 63 characters.
func MaxName(shards int) int { return 63 - len(fmt.Sprintf("-%d", shards-1)) }

// Objects returns the ConfigMap, unless a claim holds the scenario, and the Job.
func Objects(s *Sweep) (*v1.ConfigMap, *batchv1.Job) {
	meta := metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: map[string]string{"app.kubernetes.io/name": "faultline"}}
	scenario, workingDir := newVolume("scenario", s.ScenarioClaim), scenarioDir
	var files *v1.ConfigMap
	if s.ScenarioClaim == "" {
		source := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: s.Name}}
		files = &v1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: meta,
			Immutable:  ptr.To(true), // all shards, and their retries, run the same scenario
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
		volumes = append(volumes, newVolume("results", s.ResultsClaim))
		mounts = append(mounts, v1.VolumeMount{Name: "results", MountPath: resultsDir})
	}
	return files, &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			CompletionMode:          ptr.To(batchv1.IndexedCompletion),
			Completions:             ptr.To(int32(s.Shards)),
			Parallelism:             ptr.To(int32(s.Parallelism)),
			BackoffLimitPerIndex:    ptr.To(int32(retriesPerShard)),
			MaxFailedIndexes:        ptr.To(int32(s.maxFailed())),
			PodFailurePolicy:        podFailurePolicy(),
			TTLSecondsAfterFinished: ptr.To(int32(keepSeconds)),
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels},
				Spec: v1.PodSpec{
					RestartPolicy:                v1.RestartPolicyNever,
					AutomountServiceAccountToken: ptr.To(false),
					SecurityContext: &v1.PodSecurityContext{
						RunAsNonRoot:        ptr.To(true),
						RunAsUser:           ptr.To(int64(imageUser)),
						RunAsGroup:          ptr.To(int64(imageUser)),
						FSGroup:             ptr.To(int64(imageUser)), // allows the program to write to the claim
						FSGroupChangePolicy: ptr.To(v1.FSGroupChangeOnRootMismatch),
						SeccompProfile:      &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []v1.Container{{
						Name:       "simulate",
						Image:      s.Image,
						Args:       arguments(s),
						WorkingDir: workingDir,
						Resources: v1.ResourceRequirements{
							Requests: v1.ResourceList{v1.ResourceCPU: shardCPUs, v1.ResourceMemory: shardMemory},
							Limits:   v1.ResourceList{v1.ResourceCPU: shardCPUs, v1.ResourceMemory: shardMemory},
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

// podFailurePolicy returns the policy for failed pods. An eviction by the cluster does not count as a failure. A pod that exits with badInput is
// not retried, since it would fail again; other shards continue, since the error may concern a single point.
func podFailurePolicy() *batchv1.PodFailurePolicy {
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

// arguments returns the arguments of simulate in the pod.
func arguments(s *Sweep) []string {
	args := []string{"sweep"}
	for _, option := range s.Options {
		args = append(args, escapeVariables(option))
	}
	args = append(args, fmt.Sprintf("--shards=%d", s.Shards), "--shard="+indexVariable)
	if s.ResultsClaim == "" {
		args = append(args, "--output=json")
	} else {
		results := path.Join(resultsDir, s.Name)
		args = append(args, "--results="+results, "--report=json="+results+"/shard-"+indexVariable+".json")
	}
	return append(args, "--", escapeVariables(s.Scenario())) // a name can begin with a dash
}

// escapeVariables keeps the kubelet from expanding variables in an argument.
func escapeVariables(arg string) string { return strings.ReplaceAll(arg, "$", "$$") }

func newVolume(name, claim string) v1.Volume {
	if claim == "" {
		return v1.Volume{Name: name}
	}
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

var illegalInKey = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// keyOf returns the key of the i-th file: keys have no slashes, and the number makes them unique.
func keyOf(i int, file string) string {
	key := fmt.Sprintf("%d-%s", i, illegalInKey.ReplaceAllString(path.Base(file), "-"))
	return key[:min(len(key), 253)]
}
