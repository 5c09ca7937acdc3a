package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// The manifest's comments explain how to use it. The function comments fills in their braces. Without --server-side, kubectl would keep a
// copy of the ConfigMap in an annotation, and annotations are limited to 256 KiB.
const (
	toApply = `# A sweep, {scenario}. Shards: {shards}, a pod each. The image must hold simulate {version}.
#
#     kubectl apply --server-side{-n} -f job.yaml
#     kubectl get{-n} job {name} --watch
#     kubectl get{-n} job {name} -o jsonpath='done: {.status.completedIndexes}, failed: {.status.failedIndexes}{"\n"}'
#
`
	toMergeFromClaim = `# Each shard writes its report to the volume, and every finished point, so that a shard which is tried again goes on from there. The
# claim {resultsClaim} is ReadWriteMany, unless all pods are on one node; an object store can be one by a CSI driver whose volumes
# can rename files. Then, from any pod that mounts the claim and has tar:
#
#     kubectl cp{-n} POD:/results/{name} {name}
#     simulate merge {name}/shard-*.json
#
`
	toMergeFromLogs = `# Each shard writes its report to its log. A shard that is tried again begins anew; with --results-claim it goes on from what was
# finished. The logs are there as long as the Job, a day after its end; kubelets keep 10 MiB of each, some thousand points. Then:
#
#     for i in $(seq 0 {last}); do
#       pod=$(kubectl get pods{-n} -l batch.kubernetes.io/job-name={name},batch.kubernetes.io/job-completion-index=$i \
#         --field-selector status.phase=Succeeded -o name)
#       [ -z "$pod" ] || kubectl logs{-n} $pod > shard-$i.json
#     done
#     simulate merge shard-*.json
#
`
	toTryAgain = `# Merge lists which points are missing, if a shard has failed; kubectl logs of its pod says why. Exit status 2, bad input, is not tried
# again. More failed shards than {maxFailed} end the Job.
`
	aboutScenarioClaim = `# The claim {scenarioClaim} holds the scenario's folder: {scenario} is where it is in the volume, and what it names is beside it.
`
	toDelete = `# Before another sweep of this name: kubectl delete{-n} -f job.yaml
`
)

func usageComments(s *Sweep) string {
	text := toApply
	if s.ResultsClaim != "" {
		text += toMergeFromClaim
	} else {
		text += toMergeFromLogs
	}
	text += toTryAgain
	if s.ScenarioClaim != "" {
		text += aboutScenarioClaim
	}
	inNamespace := ""
	if s.Namespace != "" {
		inNamespace = " -n " + s.Namespace
	}
	return strings.NewReplacer(
		"{scenario}", strconv.Quote(s.Scenario()), "{version}", s.Version, "{name}", s.Name, "{-n}", inNamespace,
		"{shards}", strconv.Itoa(s.Shards), "{last}", strconv.Itoa(s.Shards-1), "{maxFailed}", strconv.Itoa(s.maxFailed()),
		"{resultsClaim}", s.ResultsClaim, "{scenarioClaim}", s.ScenarioClaim,
	).Replace(text + toDelete)
}

// Write writes the objects as YAML, the ConfigMap first, below comments.
func Write(w io.Writer, s *Sweep) error {
	out := bytes.NewBufferString(usageComments(s))
	files, job := Objects(s)
	if files != nil {
		if err := writeDocument(out, files); err != nil {
			return err
		}
	}
	if err := writeDocument(out, job); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writeDocument writes an object as a document without a status.
func writeDocument(out *bytes.Buffer, obj any) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return err
	}
	delete(fields, "status")
	if data, err = json.Marshal(fields); err != nil {
		return err
	}
	if data, err = yaml.JSONToYAML(data); err != nil {
		return err
	}
	fmt.Fprintf(out, "---\n%s", data)
	return nil
}
