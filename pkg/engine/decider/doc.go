// Package decider speaks to programs that decide in a cluster beside its scheduler, such as Karpenter: it starts such a program, tells it what
// is in the cluster, asks it what to do, and passes on its calls. The program is a process of its own, with other versions of Kubernetes'
// libraries than this one.
package decider
