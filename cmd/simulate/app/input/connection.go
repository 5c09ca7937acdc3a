package input

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // what kubeconfigs name besides plugins that are programs
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/output"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Connection selects the live cluster to read, by kubectl's flags. It lacks --cluster and --as, which mean something else here.
type Connection struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
	dump       *live.Dump // nil until it is read
}

// Register adds the flags.
func (c *Connection) Register(cmd *cobra.Command) {
	registerGroup(cmd, connectionGroup, func() { c.register(cmd.Flags()) })
}

func (c *Connection) register(flags *pflag.FlagSet) {
	flags.Bool("live", false, "read the cluster of kubeconfig's current context or, in a pod without a kubeconfig, the pod's own, in place of --cluster")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "read the cluster that this kubeconfig `FILE` is for (default $KUBECONFIG, or ~/.kube/config)")
	info := func(name, usage string) clientcmd.FlagInfo {
		return clientcmd.FlagInfo{LongName: name, Description: usage}
	}
	names := clientcmd.ConfigOverrideFlags{CurrentContext: info(clientcmd.FlagContext, "read the cluster of this kubeconfig `CONTEXT`, in place of --cluster")}
	names.ContextOverrideFlags.AuthInfoName = info(clientcmd.FlagAuthInfoName, "the kubeconfig `USER` to read it as")
	names.AuthOverrideFlags = clientcmd.AuthOverrideFlags{
		Token:             info(clientcmd.FlagBearerToken, "the bearer `TOKEN` to read it with"),
		ClientCertificate: info(clientcmd.FlagCertFile, "`FILE` of a client certificate for TLS"),
		ClientKey:         info(clientcmd.FlagKeyFile, "`FILE` of the client certificate's key"),
	}
	names.ClusterOverrideFlags = clientcmd.ClusterOverrideFlags{
		APIServer:             info(clientcmd.FlagAPIServer, "read the cluster of the API server at this `ADDRESS`"),
		CertificateAuthority:  info(clientcmd.FlagCAFile, "`FILE` of the certificate of the server's authority"),
		InsecureSkipTLSVerify: info(clientcmd.FlagInsecure, "do not check the server's certificate"),
		TLSServerName:         info(clientcmd.FlagTLSServerName, "the `NAME` that the server's certificate must have (default the host of its address)"),
		ProxyURL:              info(clientcmd.FlagProxyURL, "the `URL` of a proxy to reach the server by"),
		DisableCompression:    info(clientcmd.FlagDisableCompression, "ask for answers that are not compressed"),
	}
	names.Timeout = info(clientcmd.FlagTimeout, "the `TIME` that one request may take; 0 is any")
	names.Timeout.Default = "1m"
	clientcmd.BindOverrideFlags(&c.overrides, flags, names)
}

// HasLiveFlag reports whether a flag asks for a live cluster.
func HasLiveFlag(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"live", "kubeconfig", clientcmd.FlagContext, clientcmd.FlagAPIServer}, cmd.Flags().Changed)
}

// IsPlugin reports whether the program runs as a plugin of kubectl. It then reads kubectl's current cluster by default.
func IsPlugin(cmd *cobra.Command) bool {
	return cmd.Root().Annotations[cobra.CommandDisplayNameAnnotation] != ""
}

// Config returns a name for the cluster, and the configuration of a client.
func (c *Connection) Config(cmd *cobra.Command) (string, *rest.Config, error) {
	of := c.clientConfig()
	raw, err := of.RawConfig()
	if err != nil {
		return "", nil, exit.Usage(cmd, "the kubeconfig cannot be read: %s", err)
	}
	name := cmp.Or(c.overrides.CurrentContext, raw.CurrentContext)
	if given := c.overrides.CurrentContext; given != "" && raw.Contexts[given] == nil {
		return "", nil, exit.Usage(cmd, "--context: there is no context %q in the kubeconfig; %s", given, scenario.ListChoices(given, contextNames(&raw)))
	}
	if given := c.overrides.Context.AuthInfo; given != "" && raw.AuthInfos[given] == nil {
		return "", nil, exit.Usage(cmd, "--user: there is no user %q in the kubeconfig; %s", given, scenario.ListChoices(given, slices.Sorted(maps.Keys(raw.AuthInfos))))
	}
	timeout, err := clientcmd.ParseTimeout(cmp.Or(c.overrides.Timeout, "0"))
	if err != nil {
		return "", nil, exit.Usage(cmd, "--request-timeout: %q is no length of time; give one such as 30s or 2m", c.overrides.Timeout)
	}
	config, err := of.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return "", nil, exit.Usage(cmd, "there is no kubeconfig with a current context, and this runs in no pod; give --kubeconfig and --context, or --server")
	case err != nil:
		return "", nil, exit.Usage(cmd, "%s", err)
	}
	config.Timeout = timeout
	if name == "" || c.overrides.ClusterInfo.Server != "" {
		name = path.Base(config.Host) // the host without the scheme
	}
	return name, config, nil
}

func (c *Connection) clientConfig() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = c.kubeconfig, false
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
}

func contextNames(config *api.Config) []string { return slices.Sorted(maps.Keys(config.Contexts)) }

// completeContexts completes the contexts of the kubeconfig.
func completeContexts(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var c Connection
	c.kubeconfig, _ = cmd.Flags().GetString("kubeconfig")
	raw, err := c.clientConfig().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return filterByPrefix(begun, contextNames(&raw)), cobra.ShellCompDirectiveNoFileComp
}

// Client returns a client of the cluster.
func (c *Connection) Client(cmd *cobra.Command) (*live.Client, error) {
	name, config, err := c.Config(cmd)
	if err != nil {
		return nil, err
	}
	return live.New(name, config)
}

// Read reads the cluster at the first call, and returns the same dump at later ones.
func (c *Connection) Read(cmd *cobra.Command, bar *output.Progress) (*live.Dump, error) {
	if c.dump != nil {
		return c.dump, nil
	}
	client, err := c.Client(cmd)
	if err != nil {
		return nil, err
	}
	c.dump, err = client.Read(cmd.Context(), bar.Counts("kinds"))
	return c.dump, err
}

// Load reads the cluster. It returns the name of a file, and loader options with which the loader finds the dump under this name.
func (c *Connection) Load(cmd *cobra.Command, bar *output.Progress, opts loader.Options) (string, loader.Options, error) {
	again := c.dump != nil
	dump, err := c.Read(cmd, bar)
	if err != nil {
		return "", opts, err
	}
	if len(dump.Forbidden) > 0 && !again { // the notes explain this, but not all reports have notes
		bar.Clear()
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s may not be read, and the answer lacks them\n", cmd.Root().DisplayName(), words.And(dump.Forbidden))
	}
	opts.FS, opts.Server, opts.Unread, opts.Notes = newDumpFS(opts.FS, dump), dump.Version, dump.Unread, DumpNotes(cmd, dump)
	var assumed, flags []string
	if opts.SchedulerConfig == "" {
		assumed, flags = append(assumed, "configuration"), append(flags, "--scheduler-config")
	}
	if opts.FeatureGates == "" {
		assumed, flags = append(assumed, "feature gates"), append(flags, "--feature-gates")
	}
	if len(assumed) > 0 {
		opts.Notes = append(opts.Notes, fmt.Sprintf("assumed, since no API server tells it: the scheduler's default %s; if others are set, give %s.", words.And(assumed), words.And(flags)))
	}
	return dump.Name, opts, nil
}

// DumpNotes returns the notes of a dump. They name the program as the user calls it.
func DumpNotes(cmd *cobra.Command, dump *live.Dump) (notes []string) {
	for _, note := range dump.Notes {
		notes = append(notes, manifest.Clean(strings.ReplaceAll(note, "simulate rbac", cmd.Root().DisplayName()+" rbac")))
	}
	return notes
}

// KubectlGet is the command that dumps a cluster: every kind that takes part in scheduling, and the revisions of templates, which the
// loader makes up if they are missing.
const KubectlGet = "kubectl get nodes,pods,deploy,rs,sts,ds,rc,controllerrevisions,jobs,cj,hpa,svc,pdb,pv,pvc,sc,pc,csinodes,csidrivers,csistoragecapacities,ns,runtimeclasses,limitranges,quota,validatingwebhookconfigurations,mutatingwebhookconfigurations -A -o json"
