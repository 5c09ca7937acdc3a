// The tabs of the steps.

import {changesOf, changeWords, steps, unscheduled} from "./data.js";
import {h} from "./dom.js";
import {show, view} from "./view.js";
import {number} from "./words.js";

export function tabs() {
  const list = h(
    "div",
    {
      class: "tabs",
      hidden: steps.length === 1,
      role: "tablist",
      "aria-label": "Steps",
      keydown: (event) => {
        const to = {ArrowRight: view.step + 1, ArrowLeft: view.step - 1, Home: 0, End: steps.length - 1}[event.key];
        if (to === undefined) return;
        event.preventDefault();
        show((to + steps.length) % steps.length);
        document.getElementById("tab-" + view.step).focus();
      },
    },
    steps.map((step, i) => {
      const expectations = step.expectations ?? [],
        failed = expectations.filter((expectation) => !expectation.met && !expectation.changed).length,
        changed = expectations.filter((expectation) => expectation.changed).length;
      return h(
        "button",
        {
          type: "button",
          role: "tab",
          id: "tab-" + i,
          "aria-controls": "step",
          title: step.action,
          click: () => show(i),
        },
        h(
          "span",
          {class: "at"},
          h("span", {}, String(i + 1)),
          expectations.length > 0 &&
            h(
              "span",
              {class: failed > 0 ? "sign bad" : changed > 0 ? "sign" : "sign good"},
              failed > 0
                ? `✕ ${failed} not met`
                : changed > 0
                  ? `≠ ${changed} changed`
                  : `✓ ${expectations.length} met`,
            ),
        ),
        h("b", {title: step.name}, step.name),
        h("span", {class: "doing"}, step.action),
        h(
          "span",
          {class: "run"},
          h("span", {}, `${number(step.summary.running)} running`),
          step.summary.pending > 0 && h("span", {class: "warn"}, `${number(step.summary.pending)} Pending`),
          step.summary.notCreated > 0 && h("span", {class: "warn"}, `${number(step.summary.notCreated)} refused`),
          step.summary.notReady > 0 && h("span", {class: "bad"}, `${number(step.summary.notReady)} on lost nodes`),
          unscheduled(step).length > 0 &&
            h("span", {class: "warn"}, `${number(unscheduled(step).length)} without a cluster`),
        ),
        i > 0 && h("span", {class: "change"}, changeWords(changesOf(i)).join(", ") || "nothing moved"),
      );
    }),
  );
  return list;
}
