// What a lesson asks, and what came of it. A question is as the engine's quiz has it: {ask, kind, fields, answers, equal,
// hint, said, why}, where said is the answer of the run, and why begins with it.
//
//   judge(question, given) → outcome
//       given are texts, as the answers are: numbers in the order of the fields, names of nodes, yes or no, a message, a reason
//       outcome is "right", "equal" (as right: chance decides among equal nodes) or "wrong"
//   inWords(question, given) → text
//   reasonOf(question) → children of an element
//   keeper(storage) → {of(lesson, step), keep(lesson, step, of), count(lesson), forget(lesson)}
//       what is kept of a step: the texts that were given for each question, with the outcomes: [{ask, given,
//       outcome, again}], empty for a step that was skipped, where again tells of a second try; count → {steps, asked,
//       right}

import {inLanguage} from "#shared/language.js";
import {listed} from "#shared/words.js";
import {inline} from "./lesson.js";
import {isChanged} from "./state.js";

/** @typedef {{kind?: string, fields?: string[], answers?: string[][], equal?: string[][]}} Question */

/** @param {Question} question */
export function judge({answers, equal = []}, given) {
  const has = (all) => all.some((one) => one.length === given.length && one.every((text, i) => text === given[i]));
  return has(answers) ? "right" : has(equal) ? "equal" : "wrong";
}

/** @param {Question} question */
export function inWords({kind, fields}, given) {
  switch (kind) {
    case "number":
      return fields?.length > 0 ? fields.map((field, i) => `${field} ${given[i]}`).join(", ") : given[0];
    case "nodes":
      return given.length > 0 ? listed(given) : "no node";
    case "message":
      return given[0] || "no pod is Pending";
  }
  return given[0];
}

// reasonOf is the answer of the run and why it is so, as children of an element. The reason is about the scenario as it came.
export function reasonOf({said, why}) {
  const reason = isChanged() ? "" : why.slice(said.length).trim();
  return [...inline(inLanguage(said)), ...(reason ? [" ", ...inline(inLanguage(reason))] : [])];
}

const KEY = "faultline progress";

export function keeper(storage) {
  let all;
  try {
    all = JSON.parse(storage.getItem(KEY)) ?? {};
  } catch {
    all = {}; // what something else wrote there
  }
  const write = () => {
    try {
      storage.setItem(KEY, JSON.stringify(all));
    } catch {
      // A full or forbidden storage keeps the progress of this page only.
    }
  };
  return {
    of: (lesson, step) => all[lesson]?.[step],
    keep(lesson, step, of) {
      (all[lesson] ??= {})[step] = of;
      write();
    },
    count(lesson) {
      const steps = Object.values(all[lesson] ?? {}),
        given = steps.flat();
      return {steps: steps.length, asked: given.length, right: given.filter(({outcome}) => outcome !== "wrong").length};
    },
    forget(lesson) {
      delete all[lesson];
      write();
    },
  };
}
