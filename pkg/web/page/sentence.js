// A step in sentences: what its workloads are asked for, with the numbers as handles to drag, and what comes of it.
//
//   sentencesPart(changed) → element | null
//       changed is called with the input that a handle wrote, and with a step to show

import {domainOf, isEnding, levelKeys, nodesOf, qualified, workloadOf} from "#shared/data.js";
import {h} from "#shared/dom.js";
import {view} from "#shared/view.js";
import {HOSTNAME, listed, noun} from "#shared/words.js";
import {read, write} from "./levers.js";
import {state} from "./state.js";

const MOST = 2; // workloads
const STEP = {replicas: 14, weight: 3, wish: 3}; // pixels that the pointer goes for one more
const PAGE = 10; // by the keys PageUp and PageDown

export function sentencesPart(changed) {
  const step = state.report?.steps[view.step]; // while a question is open, the map has the step as it was before
  if (!step) return null;
  const {levers} = read(state.input, step.name, nodesOf[view.step]);
  const workloads = Map.groupBy(
    levers.filter(({of, kind}) => of.workload && (kind === "number" || kind === "choice")),
    ({of}) => `${of.namespace}/${of.workload}`,
  );
  const shown = [...workloads].filter(([key]) => step.pods?.some((pod) => workloadOf(pod) === key)).slice(0, MOST);
  if (shown.length === 0) return null;
  return h(
    "div",
    {class: "sentences"},
    h("p", {class: "hint"}, "Drag a number, and see what comes of it:"),
    shown.map(([key, some]) => sentencesOf(step, key, some, changed)),
  );
}

function sentencesOf(step, key, levers, changed) {
  const of = (what) => levers.filter(({id}) => id.startsWith(what + " "));
  const [replicas] = of("replicas"),
    [rule] = of("rule"),
    keys = of("key"),
    weights = of("weight");
  const handle = (lever) => handleOf(step.name, lever, changed);
  const over = listed(keys.map(({value}) => noun(value)));
  const apart = {none: "no rule keeps them apart", several: "several rules keep them apart"}[rule?.value];
  return h(
    "p",
    {},
    h("b", {}, qualified(key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1))),
    replicas ? [" has ", handle(replicas), " replicas"] : " has its pods",
    rule &&
      (apart
        ? `, and ${apart}`
        : [
            `, and a ${rule.value} rule over ${over} keeps them apart`,
            weights.length > 0 && [", of weight ", weights.flatMap((lever, i) => [i > 0 && " and ", handle(lever)])],
          ]),
    of("wish").map((lever) => [
      `; it wants to be ${lever.label.replace(/^Weight: /, "").replace(/^nodes/, "on nodes")}, with weight `,
      handle(lever),
    ]),
    ". ",
    h("b", {}, outcomeOf(step, key, keys.at(-1)?.value)),
  );
}

// outcomeOf says how many pods of the workload each domain has.
function outcomeOf(step, workload, key = levelKeys.at(-1) ?? HOSTNAME) {
  const domains = new Map(nodesOf[view.step].map((node) => [node.name, domainOf(node, key)]));
  const counts = new Map(
    [...new Set(domains.values())].filter((domain) => domain !== undefined).map((domain) => [domain, 0]),
  );
  let pending = 0;
  for (const pod of step.pods ?? []) {
    if (workloadOf(pod) !== workload || isEnding(pod)) continue;
    const domain = domains.get(pod.node);
    if (!pod.node) pending++;
    else if (domain !== undefined) counts.set(domain, counts.get(domain) + 1);
  }
  const used = [...counts].filter(([, n]) => n > 0 || counts.size <= 6);
  return `→ ${noun(key)} ${used.map(([domain, n]) => `${domain} ${n}`).join(", ")}${pending > 0 ? `; ${pending} Pending` : ""}`;
}

// handleOf is a lever as a number in a sentence: it is dragged, or moved by the keys of a slider.
function handleOf(step, lever, changed) {
  const what = lever.id.slice(0, lever.id.indexOf(" "));
  const name = `handle ${lever.id}`;
  const set = (value) => {
    const to = Math.max(lever.min, Math.min(lever.max, value));
    if (to === lever.value) return;
    lever = {...lever, value: to};
    /** @type {HTMLElement} */
    const here = document.querySelector(`[data-focus="${CSS.escape(name)}"]`); // the one that is on the page by now
    here.textContent = String(to);
    here.setAttribute("aria-valuenow", String(to));
    changed(write(state.input, step, lever.id, to, nodesOf[view.step]), lever.shows);
  };
  const keys = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE};
  return h(
    "span",
    {
      class: "handle",
      role: "slider",
      tabindex: "0",
      title: "Drag, or use the arrow keys",
      "aria-label": `${lever.label} of ${lever.of.workload}`,
      "aria-valuemin": String(lever.min),
      "aria-valuemax": String(lever.max),
      "aria-valuenow": String(lever.value),
      "data-focus": name,
      keydown: (event) => {
        if (!(event.key in keys)) return;
        event.preventDefault();
        set(lever.value + keys[event.key]);
      },
      pointerdown: (event) => {
        event.preventDefault();
        event.currentTarget.focus();
        const from = event.clientX,
          was = lever.value;
        // Each answer draws the sentence anew, so that the pointer is followed on the whole page.
        const end = new AbortController();
        addEventListener("pointermove", ({clientX}) => set(was + Math.round((clientX - from) / STEP[what])), end);
        for (const over of ["pointerup", "pointercancel"]) addEventListener(over, () => end.abort(), end);
      },
    },
    String(lever.value),
  );
}
