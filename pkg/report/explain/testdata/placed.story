Pod default/lorem-ipsum-deployment-6b45db547-54l7s of deployment/lorem-ipsum-deployment, step weighted-2: → affinity-worker, one of 3 equal nodes
  1. Filter: the scheduler looks at 4 nodes. TaintToleration refuses affinity-control-plane (node(s) had untolerated taint(s)). 3 nodes are left.
  2. Score: each of 7 plugins gives every one of the 3 nodes points, which are brought to a scale from 0 to 100 and multiplied by the plugin's weight.
  3. TaintToleration, NodeResourcesFit, VolumeBinding, PodTopologySpread, DynamicResources, NodeResourcesBalancedAllocation and ImageLocality have the same points for all of them, and so decide nothing.
  4. The sum is 673 for every node. They are equal, and affinity-worker is taken: the first in the scheduler's order, or the one that was drawn.
  5. The rule preferred anti-affinity over topology.kubernetes.io/region (weight 100) decides: without it 1 pod of the workload is elsewhere.
  6. The rule preferred anti-affinity over topology.kubernetes.io/zone (weight 99) is present and decides nothing: without it every pod of the step is where it is now.

Pod default/lorem-ipsum-deployment-6b45db547-7d9tg of deployment/lorem-ipsum-deployment, step weighted-2: → affinity-worker3 by 102 points over affinity-worker2
  1. Filter: the scheduler looks at 4 nodes. TaintToleration refuses affinity-control-plane (node(s) had untolerated taint(s)). 3 nodes are left.
  2. Score: each of 8 plugins gives every one of the 3 nodes points, which are brought to a scale from 0 to 100 and multiplied by the plugin's weight.
  3. TaintToleration, VolumeBinding, DynamicResources and ImageLocality have the same points for all of them, and so decide nothing.
  4. NodeResourcesFit (weight 1) likes affinity-worker3 and 1 more best, with 99 points, and affinity-worker least, with 98.
  5. PodTopologySpread (weight 2) likes affinity-worker3 and 1 more best, with 200 points, and affinity-worker least, with 132: the hostname affinity-worker holds 1 pod for system default constraint, maxSkew 3, that of the best 0 and the zone west-1a holds 1 pod for system default constraint, maxSkew 5, that of the best 0.
  6. InterPodAffinity (weight 2) likes affinity-worker3 best, with 200 points, and affinity-worker least, with 0: the region west holds 1 pod for its own preferred anti-affinity [0], that of the best 0, the zone west-1a holds 1 pod for its own preferred anti-affinity [1], that of the best 0, the region west holds 1 pod for preferred anti-affinity of pods that run, that of the best 0 and the zone west-1a holds 1 pod for preferred anti-affinity of pods that run, that of the best 0.
  7. NodeResourcesBalancedAllocation (weight 1) likes affinity-worker best, with 75 points, and affinity-worker2 least, with 74.
  8. The sum is highest for affinity-worker3, with 873 points; that is 102 more than for affinity-worker2, the next. Without the points of InterPodAffinity it would not be this node alone, so that decided.
  9. Were the weight of NodeResourcesBalancedAllocation 270 and not 1, the pod would go to affinity-worker.
 10. The rule preferred anti-affinity over topology.kubernetes.io/region (weight 100) decides: without it 1 pod of the workload is elsewhere.
 11. The rule preferred anti-affinity over topology.kubernetes.io/zone (weight 99) is present and decides nothing: without it every pod of the step is where it is now.
