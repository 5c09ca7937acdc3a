// Break it: what fails on the map is put to the engine, which says what comes back.

import {nodesOf, steps} from "#shared/data.js";
import {failureOf} from "#shared/losses.js";
import {drawMap} from "#shared/stage.js";
import {view} from "#shared/view.js";
import {state} from "./state.js";

const NODES = 40,
  PODS = 400; // of a larger step only the failures that are clicked on are looked at

let call,
  found = () => {},
  running;
const looked = new Map(); // by step's name: all its failures
const asked = []; // failures that were looked at alone
let common; // what all of them have in common

// breaking is called once; found is called when more failures are known.
export const breaking = (engine, then) => ([call, found] = [engine, then]);

export function forgetFailures() {
  running?.abort();
  looked.clear();
  asked.length = 0;
  common = undefined;
}

// blastOf is what is known of failures, as a report on them has it.
export const blastOf = () => common && {...common, simultaneous: 1, steps: [...looked.values()], asked: [...asked]};

// lookAt asks for what is not known of the step in view: the failure that was chosen, and in a small cluster all
// others.
export async function lookAt() {
  running?.abort();
  const mine = (running = new AbortController()),
    step = steps[view.step],
    nodes = nodesOf[view.step],
    report = state.report;
  if (!step || !report || report.steps.indexOf(step) < 0) return;
  view.refused = undefined;
  const ask = (more) => call("fail", {input: state.input, step: step.name, ...more}, mine.signal);
  try {
    if (view.failed && !failureOf(step, view.failed.key, view.failed.domains)?.recovery && !likeAnother(step))
      await one(step, ask);
    if (!looked.has(step.name) && nodes.length <= NODES && (step.pods ?? []).length <= PODS) await all(step, ask);
  } catch (error) {
    // Another report may be in view by now.
    if (error.name === "AbortError" || running !== mine || steps[view.step] !== step) return;
    view.refused = error.message;
    drawMap();
  }
}

const likeAnother = (step) => failureOf(step, view.failed.key, view.failed.domains)?.likeDomains;

async function one(step, ask) {
  const {key, domains} = view.failed;
  const {blast} = await ask({topologyKey: key, domains});
  const failure = blast?.steps[0]?.levels.find((level) => level.topologyKey === key)?.failures[0];
  if (!failure) return;
  common ??= blast;
  asked.push({step: step.name, key, failure: {...failure, domains, likeDomains: undefined}});
  found();
}

async function all(step, ask) {
  const {blast} = await ask({});
  if (!blast?.steps[0]) return;
  common = {...blast};
  looked.set(step.name, blast.steps[0]);
  found();
}
