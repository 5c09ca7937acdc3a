package app

// kubectlGet dumps a cluster for the commands: every kind that takes part in scheduling, and the revisions of templates, which are made up
// if missing.
const kubectlGet = "kubectl get nodes,pods,deploy,rs,sts,ds,rc,controllerrevisions,jobs,cj,hpa,svc,pdb,pv,pvc,sc,pc,csinodes,csidrivers,csistoragecapacities,ns,runtimeclasses,limitranges,quota -A -o json"
