package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/template"

	"sigs.k8s.io/yaml"
)

// comments explain what to do with the manifest. Without --server-side, kubectl would keep a copy of the ConfigMap in an annotation, and
// annotations are limited to 256 KiB.
var comments = template.Must(template.New("comments").Parse(`# A sweep, {{printf "%q" .Scenario}}. Shards: {{.Shards}}, a pod each. The image must hold simulate {{.Version}}.
#
#     kubectl apply --server-side{{.InNamespace}} -f job.yaml
#     kubectl get{{.InNamespace}} job {{.Name}} --watch
#     kubectl get{{.InNamespace}} job {{.Name}} -o jsonpath='done: {.status.completedIndexes}, failed: {.status.failedIndexes}{"\n"}'
#
{{- if .ResultsClaim}}
# Each shard writes its report to the volume, and every finished point, so that a shard which is tried again goes on from there. The
# claim {{.ResultsClaim}} is ReadWriteMany, unless all pods are on one node; an object store can be one by a CSI driver whose volumes
# can rename files. Then, from any pod that mounts the claim and has tar:
#
#     kubectl cp{{.InNamespace}} POD:/results/{{.Name}} {{.Name}}
#     simulate merge {{.Name}}/shard-*.json
#
{{- else}}
# Each shard writes its report to its log. A shard that is tried again begins anew; with --results-claim it goes on from what was
# finished. The logs are there as long as the Job, a day after its end; kubelets keep 10 MiB of each, some thousand points. Then:
#
#     for i in $(seq 0 {{.Last}}); do
#       pod=$(kubectl get pods{{.InNamespace}} -l batch.kubernetes.io/job-name={{.Name}},batch.kubernetes.io/job-completion-index=$i \
#         --field-selector status.phase=Succeeded -o name)
#       [ -z "$pod" ] || kubectl logs{{.InNamespace}} $pod > shard-$i.json
#     done
#     simulate merge shard-*.json
#
{{- end}}
# Merge tells which points are missing, if a shard has failed; kubectl logs of its pod says why. Exit status 2, bad input, is not tried
# again. More failed shards than {{.MaxFailed}} end the Job.
{{- if .ScenarioClaim}}
# The claim {{.ScenarioClaim}} holds the scenario's folder: {{printf "%q" .Scenario}} is where it is in the volume, and what it names is beside it.
{{- end}}
# Before another sweep of this name: kubectl delete{{.InNamespace}} -f job.yaml
`))

// Write writes the objects as YAML, the ConfigMap first, below comments.
func Write(w io.Writer, s *Sweep) error {
	var out bytes.Buffer
	if err := comments.Execute(&out, s); err != nil {
		return err
	}
	files, job := Objects(s)
	if files != nil {
		if err := encode(&out, files); err != nil {
			return err
		}
	}
	if err := encode(&out, job); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// encode writes an object as a document, without the status that it does not have yet.
func encode(out *bytes.Buffer, obj any) error {
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
