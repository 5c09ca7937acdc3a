package app

// kubectlGet prints a cluster as the commands take it: every kind that takes part in scheduling, but for revisions of templates, which are
// made where they are missing.
const kubectlGet = "kubectl get nodes,pods,deploy,rs,sts,ds,controllerrevisions,jobs,cj,hpa,svc,pdb,pv,pvc,sc,pc,csinodes,ns -A -o json"
