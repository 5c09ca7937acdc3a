package live

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/report"
)

var rbacFormats = []string{"yaml", "json"}

func newRBAC(s command.Streams) *cobra.Command {
	var name, format string
	var params []string
	var watch bool
	cmd := &cobra.Command{
		Use:   "rbac",
		Short: "Print the smallest ClusterRole with which a live cluster can be read",
		Long: `Print the ClusterRole that allows to list the kinds of objects which commands with --context read, and nothing else: no Secrets, no
ConfigMaps, and no other verb.

Admission policies may have parameters, which are ConfigMaps or custom resources. Only those that bindings name are read. A command that may not
read one prints a note with the --parameters that allow it.`,
		Example: `  simulate rbac | kubectl apply -f -
  simulate rbac --parameters configmaps/replica-limit | kubectl apply -f -
  kubectl create clusterrolebinding faultline --clusterrole faultline --serviceaccount faultline:faultline`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(rbacFormats, format) {
				return exit.Usage(cmd, "-o %s: unknown format: use one of %s", format, strings.Join(rbacFormats, ", "))
			}
			if problems := content.IsPathSegmentName(name); name == "" || len(problems) > 0 {
				return exit.Usage(cmd, "--name %q: %s", name, strings.Join(append(problems, "give the name of a ClusterRole"), "; "))
			}
			var parameters []live.Parameters
			for _, text := range params {
				p, err := live.ParseParameters(text)
				if err != nil {
					return exit.Usage(cmd, "--parameters: %s", err)
				}
				parameters = append(parameters, p)
			}
			verbs := []string{"list"}
			if watch {
				verbs = append(verbs, "watch")
			}
			encode := report.EncodeJSON
			if format == "yaml" {
				encode = yaml.Marshal
			}
			data, err := encode(live.ClusterRole(name, parameters, verbs...))
			if err == nil {
				_, err = s.Out.Write(data)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "faultline", "the `NAME` of the ClusterRole")
	cmd.Flags().StringArrayVar(&params, "parameters", nil, "also allow to read these parameters of admission policies, `RESOURCE` or RESOURCE/NAME (repeatable)")
	cmd.Flags().BoolVar(&watch, "watch", false, "also allow to watch these objects")
	cmd.Flags().StringVarP(&format, "output", "o", rbacFormats[0], "output `FORMAT`: "+strings.Join(rbacFormats, ", "))
	output.CompleteValues(cmd, "output", rbacFormats)
	return cmd
}
