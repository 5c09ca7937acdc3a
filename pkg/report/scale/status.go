package scale

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/report"
)

// statusFormat is the ConfigMap with the autoscaler's own status, in the form that kubectl prints. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/clusterstate/utils/status.go.
var statusFormat = report.RenderedFormat("status", func(r *Report, _ report.Options) ([]byte, error) {
	return yaml.Marshal(v1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "cluster-autoscaler-status",
			Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/last-updated": r.at.UTC().Format("2006-01-02 15:04:05.999999999 -0700 MST")},
		},
		Data: map[string]string{"status": r.status},
	})
})
