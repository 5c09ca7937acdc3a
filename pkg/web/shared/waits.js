// What a pod waits for, in the words of the text report.

const LEFT_TO = "left to the scheduler ",
  VOLUME = "waits for its volume, attached to ";

const sentence = (text) => text[0].toUpperCase() + text.slice(1);

// untriedWords say why the scheduler does not try a pod, and that kubectl does not show it.
const untriedWords = (untried) =>
  untried.startsWith(LEFT_TO) ? sentence(untried) : `Not tried: ${untried} (no event and no condition says so)`;

// waitsOf are the lines on a pod that has no node or has not started: what kubectl shows of it, and what there is to
// say besides.
/** @param {{message?: string, reason?: string, untried?: string, waits?: string, gates?: string[]}} pod */
export function waitsOf({message, reason, untried, waits, gates}) {
  const lines = [];
  if (waits) {
    lines.push(sentence(waits));
    if (message) lines.push(`FailedAttachVolume ${message}`);
  } else if (message || !untried) {
    lines.push(message?.startsWith(VOLUME) ? sentence(message) : message || "kube-scheduler gave no message");
  }
  if (reason === "SchedulerError")
    lines.push(`${reason}: a plugin failed, and the scheduler tries the pod again and again`);
  if (untried) lines.push(untriedWords(untried));
  if (gates) lines.push(`Gates: ${gates.join(", ")}`);
  return lines;
}

// causesOf are the lines on the refusals of a Pending pod, with the values of both sides.
/** @param {{causes?: {plugin: string, nodes?: number, sentence: string}[]}} pod */
export const causesOf = ({causes = []}) =>
  causes.map(({plugin, nodes, sentence}) => {
    if (!nodes) return `${plugin}: ${sentence}`;
    return `${plugin} refuses ${nodes === 1 ? "1 node" : `${nodes} nodes`}: ${sentence}`;
  });

// mustWait tells of pods that waitsOf has something to say of.
export const mustWait = (pod) => !pod.node || Boolean(pod.waits);

// sameWait is equal for pods that wait for the same.
export const sameWait = (pod) => waitsOf(pod).join("\n");
