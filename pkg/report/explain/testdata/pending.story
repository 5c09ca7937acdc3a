Pod default/lorem-ipsum-deployment-56447b58fb-tdsvq of deployment/lorem-ipsum-deployment, step hard-region-3: → affinity-worker, one of 3 equal nodes
  1. Filter: the scheduler looks at 4 nodes. TaintToleration refuses affinity-control-plane (node(s) had untolerated taint(s)). 3 nodes are left.
  2. Score: each of 7 plugins gives every one of the 3 nodes points, which are brought to a scale from 0 to 100 and multiplied by the plugin's weight.
  3. TaintToleration, NodeResourcesFit, VolumeBinding, PodTopologySpread, DynamicResources, NodeResourcesBalancedAllocation and ImageLocality have the same points for all of them, and so decide nothing.
  4. The sum is 673 for every node. They are equal, and affinity-worker is taken: the first in the scheduler's order, or the one that was drawn.
  5. The rule required anti-affinity over topology.kubernetes.io/region decides: without it 2 pods of the workload are elsewhere and 0 pods are Pending instead of 1.

Pod default/lorem-ipsum-deployment-56447b58fb-wngld of deployment/lorem-ipsum-deployment, step hard-region-3: → affinity-worker3
  1. Filter: the scheduler looks at 4 nodes. InterPodAffinity refuses affinity-worker and affinity-worker2 (node(s) didn't match pod anti-affinity rules); TaintToleration refuses affinity-control-plane (node(s) had untolerated taint(s)). 1 node is left.
  2. A single node is left, affinity-worker3, so there is nothing to score, and the pod goes there.

Pod default/lorem-ipsum-deployment-56447b58fb-zx49x of deployment/lorem-ipsum-deployment, step hard-region-3: got no node
  1. Filter: the scheduler looks at 4 nodes. InterPodAffinity refuses affinity-worker, affinity-worker2 and affinity-worker3 (node(s) didn't match pod anti-affinity rules); TaintToleration refuses affinity-control-plane (node(s) had untolerated taint(s)). None is left.
  2. No node is left, so the pod stays Pending. The event on the pod reads: 0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 node(s) didn't match pod anti-affinity rules. preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod.
  3. The rule required anti-affinity over topology.kubernetes.io/region decides: without it 2 pods of the workload are elsewhere and 0 pods are Pending instead of 1.
  4. The mildest change that helps, of those tried: let the rollout stop all old pods before it starts new ones: strategy Recreate.
