// Package controllers runs those controllers of kube-controller-manager that a world does not have: for namespaces, service accounts, garbage,
// endpoints, quotas and the protection of volumes. They are upstream's own, and clients of the API server like any other.
package controllers

import (
	"context"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	certificates "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	openapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	// workers is how many objects each controller looks at at a time. The store is in memory, and the machine has other work.
	workers = 2
	// endpointsPerSlice is the default of kube-controller-manager.
	endpointsPerSlice = 100
	// discoveryPeriod is how long it takes until a new custom resource is known, as by default.
	discoveryPeriod = 30 * time.Second
	// quotaPeriod is how long the usage of a quota may be out of date after pods that the world's controllers have made. kube-controller-manager
	// counts such pods when they are admitted, and looks again after five minutes.
	quotaPeriod = 2 * time.Second
)

// certificateTTL is how long a certificate is valid that a client asks for, as by default.
const certificateTTL = 365 * 24 * time.Hour

// Start starts the controllers. They end with the context. The certificate is that of the API server, which each namespace has in a ConfigMap;
// its file and that of its key sign what clients ask to be signed.
func Start(ctx context.Context, config *rest.Config, certificate []byte, certificateFile, keyFile string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	typed := informers.NewSharedInformerFactory(client, 0)
	partial := metadatainformer.NewSharedInformerFactory(meta, 0)
	both := informerfactory.NewInformerFactory(typed, partial)
	started := make(chan struct{})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	logger := klog.FromContext(ctx)
	core, known := typed.Core().V1(), client.Discovery().ServerPreferredNamespacedResources

	var all []func(context.Context, int)
	namespaces := namespace.NewNamespaceController(ctx, client, meta, known, core.Namespaces(), 5*time.Minute, v1.FinalizerKubernetes)
	all = append(all, namespaces.Run)

	accounts, err := serviceaccount.NewServiceAccountsController(logger, core.ServiceAccounts(), core.Namespaces(), client, serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return err
	}
	all = append(all, accounts.Run)

	authority, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), client, certificate)
	if err != nil {
		return err
	}
	all = append(all, authority.Run)

	slices := typed.Discovery().V1().EndpointSlices()
	all = append(all,
		endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), slices, endpointsPerSlice, client, 0).Run,
		endpointslicemirroring.NewController(ctx, core.Endpoints(), slices, core.Services(), endpointsPerSlice, client, 0).Run,
		endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), client, 0).Run,
		clusterroleaggregation.NewClusterRoleAggregation(typed.Rbac().V1().ClusterRoles(), client.RbacV1()).Run,
		ttlafterfinished.New(ctx, typed.Batch().V1().Jobs(), client).Run,
	)

	cronjobs, err := cronjob.NewControllerV2(ctx, typed.Batch().V1().Jobs(), typed.Batch().V1().CronJobs(), client)
	if err != nil {
		return err
	}
	all = append(all, cronjobs.Run)

	claims, err := pvcprotection.NewPVCProtectionController(logger, core.PersistentVolumeClaims(), core.Pods(), client)
	if err != nil {
		return err
	}
	volumes, err := pvprotection.NewPVProtectionController(logger, core.PersistentVolumes(), client)
	if err != nil {
		return err
	}
	attributes, err := vacprotection.NewVACProtectionController(logger, client, core.PersistentVolumeClaims(), core.PersistentVolumes(), typed.Storage().V1().VolumeAttributesClasses())
	if err != nil {
		return err
	}
	all = append(all, claims.Run, volumes.Run, attributes.Run)

	requests := typed.Certificates().V1().CertificateSigningRequests()
	all = append(all, approver.NewCSRApprovingController(ctx, client, requests).Run)
	for _, newSigner := range []func(context.Context, kubernetes.Interface, certificates.CertificateSigningRequestInformer, string, string, time.Duration) (*signer.CSRSigningController, error){
		signer.NewKubeletServingCSRSigningController, signer.NewKubeletClientCSRSigningController, signer.NewKubeAPIServerClientCSRSigningController, signer.NewLegacyUnknownCSRSigningController,
	} {
		signs, err := newSigner(ctx, client, requests, certificateFile, keyFile, certificateTTL)
		if err != nil {
			return err
		}
		all = append(all, signs.Run)
	}

	policies, err := validatingadmissionpolicystatus.NewController(typed.Admissionregistration().V1().ValidatingAdmissionPolicies(), client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), &validating.TypeChecker{
		SchemaResolver: resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme).Combine(&resolver.ClientDiscoveryResolver{Discovery: client.Discovery()}),
		RestMapper:     mapper,
	})
	if err != nil {
		return err
	}
	all = append(all, policies.Run)

	evaluators, err := install.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(typed.ForResource), typed)
	if err != nil {
		return err
	}
	quotas, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient: client.CoreV1(), ResourceQuotaInformer: core.ResourceQuotas(),
		ResyncPeriod:    func() time.Duration { return quotaPeriod },
		InformerFactory: both, ReplenishmentResyncPeriod: func() time.Duration { return 12*time.Hour + rand.N(12*time.Hour) },
		DiscoveryFunc: known, IgnoredResourcesFunc: evaluators.IgnoredResources, InformersStarted: started,
		Registry: generic.NewRegistry(evaluators.Evaluators()), UpdateFilter: install.DefaultUpdateFilter(),
	})
	if err != nil {
		return err
	}
	all = append(all, quotas.Run)

	garbage, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, garbagecollector.DefaultIgnoredResources(), both, started)
	if err != nil {
		return err
	}
	all = append(all, func(ctx context.Context, workers int) { garbage.Run(ctx, workers, discoveryPeriod) })

	both.Start(ctx.Done())
	close(started)
	for _, run := range all {
		go run(ctx, workers)
	}
	go quotas.Sync(ctx, known, discoveryPeriod)
	go garbage.Sync(ctx, client.Discovery(), discoveryPeriod)
	return nil
}
