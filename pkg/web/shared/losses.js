// What a failure takes, as the data has it.

import {blast, byName, domainOf, livesWithNode, nodesOf, qualified, steps, workloadOf} from "./data.js";

// blastStep is what was found out about failures after the step; undefined if nothing was.
export const blastStep = (step) => blast?.steps.find((looked) => looked.name === step.name);

// failureOf is the failure of exactly these domains; undefined if it was not looked at. Asked are those that were
// looked at alone.
export function failureOf(step, key, domains) {
  const same = (failure) =>
    failure.domains.length === domains.length && failure.domains.every((domain) => domains.includes(domain));
  return (
    blastStep(step)
      ?.levels.find((level) => level.topologyKey === key)
      ?.failures.find(same) ??
    blast?.asked?.find((of) => of.step === step.name && of.key === key && same(of.failure))?.failure
  );
}

// recoveryOf is what came back after a failure, and of which failure that was looked at: {recovery, like}.
export function recoveryOf(step, key, failure) {
  if (!failure?.likeDomains) return {recovery: failure?.recovery};
  return {recovery: failureOf(step, key, failure.likeDomains)?.recovery, like: failure.likeDomains};
}

// failing are the nodes that fail, as a set of names.
export function failing(step, key, domains) {
  const failure = failureOf(step, key, domains);
  if (failure) return new Set(failure.nodes);
  const nodes = nodesOf[steps.indexOf(step)];
  return new Set(nodes.filter((node) => domains.includes(domainOf(node, key))).map((node) => node.name));
}

// lossOf counts what the failure of the nodes takes, from the placements alone: {pods, of, others, workloads}, where
// others are lost pods that count in no share, and each of the workloads has {key, lost, replicas, pods}, the largest
// share first.
export function lossOf(step, nodes) {
  const loss = {pods: 0, of: 0, others: 0};
  const workloads = new Map();
  for (const pod of step.pods ?? []) {
    if (!pod.node) continue;
    const lost = nodes.has(pod.node);
    loss.of++;
    if (lost) loss.pods++;
    if (livesWithNode(pod)) {
      if (lost) loss.others++;
      continue;
    }
    const key = workloadOf(pod);
    if (!workloads.has(key))
      workloads.set(key, {key, namespace: pod.namespace, workload: pod.workload, lost: 0, replicas: 0, pods: []});
    const of = workloads.get(key);
    of.replicas++;
    if (lost) {
      of.lost++;
      of.pods.push(pod);
    }
  }
  loss.workloads = [...workloads.values()]
    .filter((of) => of.lost > 0)
    .sort((a, b) => b.lost * a.replicas - a.lost * b.replicas || b.lost - a.lost || byName(a.key, b.key));
  return loss;
}

// takes is "2 of 3 of deployment/web".
export const takes = (radius) =>
  `${radius.lost} of ${radius.replicas} of ${qualified(radius.namespace ?? "", radius.workload)}`;

// ofNode says whether the pod lives and dies with its node, as the report has it.
export const ofNode = (pod) => /^(pod of a DaemonSet|static pod): /.test(pod.why);

// notBack is how many of the lost pods do not come back, without those that live and die with their node.
export const notBack = (recovery) =>
  (recovery.stranded?.length ?? 0) + (recovery.notReplaced ?? []).filter((pod) => !ofNode(pod)).length;
