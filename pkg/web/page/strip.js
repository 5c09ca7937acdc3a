// The strip of levers above the map: each one writes the text, and is read from it.

import {nodesOf, qualified, steps} from "#shared/data.js";
import {fill, h} from "#shared/dom.js";
import {view} from "#shared/view.js";
import {noun} from "#shared/words.js";
import {read, write} from "./levers.js";
import {exampleOf, state} from "./state.js";

const AT_ONCE = 2; // of more workloads one is chosen, whose levers are shown

const GUESSABLE = 60; // nodes; among more nobody can say where a pod goes

let chosen; // workload, as namespace/kind/name
let unfolded; // the reader opened the levers, or closed them

const titleOf = (key) => qualified(key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1));

// short is a value as the strip has room for it: a topology key by its noun.
export const short = (value) => (typeof value === "string" && value.includes("/") ? noun(value) : String(value));

// summaryOf says what the first levers are at, for as long as they are folded.
const summaryOf = (levers) =>
  levers
    .slice(0, 4)
    .map(({label, kind, value}) => (kind === "toggle" ? label : `${label}: ${short(value)}`))
    .join(" · ");

// drawLevers draws the strip; changed is called with the input that a lever wrote and a step to show, and predict where
// the reader wants to.
export function drawLevers(changed, predict) {
  const strip = document.getElementById("levers"),
    focused = document.activeElement?.getAttribute("data-lever");
  const step = steps[view.step]?.name ?? "",
    nodes = nodesOf[view.step] ?? [];
  const {levers, without} = read(state.input, step, nodes);
  const pull = (lever, value) => {
    try {
      changed(write(state.input, step, lever.id, value, nodes), lever.shows);
    } catch (error) {
      document.getElementById("lever-problem").textContent = error.message;
    }
  };
  const ofWorkloads = Map.groupBy(
    levers.filter((lever) => lever.of.workload),
    (lever) => `${lever.of.namespace ?? "default"}/${lever.of.workload}`,
  );
  if (!ofWorkloads.has(chosen)) chosen = ofWorkloads.keys().next().value;
  const ofNodes = levers.filter((lever) => !lever.of.workload),
    nodesUnfolded = /** @type {HTMLDetailsElement} */ (strip.querySelector("details details"))?.open;
  const ofWorkload = ([key, some]) =>
    h(
      "div",
      {class: "levers", role: "group", "aria-label": titleOf(key)},
      ofWorkloads.size <= AT_ONCE
        ? h("b", {title: titleOf(key)}, titleOf(key))
        : h(
            "select",
            {
              "aria-label": "Workload",
              "data-lever": "workload",
              change: (event) => {
                chosen = event.target.value;
                drawLevers(changed, predict);
              },
            },
            [...ofWorkloads.keys()].map((one) => h("option", {value: one, selected: one === chosen}, titleOf(one))),
          ),
      some.map((lever) => control(lever, pull)),
    );
  strip.replaceChildren();
  fill(strip, {}, [
    levers.length > 0
      ? h(
          "details",
          {class: "fold", open: unfolded ?? exampleOf().challenge},
          h(
            "summary",
            {"data-focus": "levers", click: (event) => (unfolded = !event.currentTarget.parentElement.open)},
            "Change it",
            h("small", {}, summaryOf(ofWorkloads.get(chosen) ?? ofNodes)),
          ),
          [...ofWorkloads].filter(([key]) => key === chosen || ofWorkloads.size <= AT_ONCE).map(ofWorkload),
          ofNodes.length > 0 &&
            h(
              "details",
              {class: "levers", open: nodesUnfolded ?? ofNodes.length <= 3},
              h("summary", {}, "Nodes, failures and cordons"),
              h(
                "div",
                {class: "toggles"},
                ofNodes.map((lever) => control(lever, pull)),
              ),
            ),
        )
      : h(
          "p",
          {class: "hint"},
          without.length > 0
            ? `No levers for ${without[0].of}: ${without[0].reason}.`
            : "No levers: the scenario has no workload yet.",
        ),
    predict &&
      nodes.length <= GUESSABLE &&
      h(
        "button",
        {
          type: "button",
          class: "button",
          title: "Say where the pods of this step go before you see it",
          click: predict,
        },
        "Predict",
      ),
    h("p", {id: "lever-problem", class: "bad", role: "status"}),
  ]);
  /** @type {HTMLElement} */
  const again = focused && strip.querySelector(`[data-lever="${CSS.escape(focused)}"]`);
  again?.focus({preventScroll: true});
}

// control is a lever as a control; within tells it from another control of the same lever on the page.
export function control(lever, pull, within = "") {
  const id = within + "lever-" + lever.id.replace(/\W+/g, "-");
  const label = h("label", {for: id, title: lever.label}, lever.label);
  if (lever.kind === "toggle") {
    return h(
      "span",
      {class: "lever toggle"},
      h("input", {
        type: "checkbox",
        id,
        "data-lever": lever.id,
        checked: lever.value,
        change: (event) => pull(lever, event.target.checked),
      }),
      label,
    );
  }
  if (lever.kind === "choice") {
    const options = [...(lever.options.includes(lever.value) ? [] : [lever.value]), ...lever.options];
    return h(
      "span",
      {class: "lever"},
      label,
      h(
        "select",
        {id, "data-lever": lever.id, change: (event) => pull(lever, options[event.target.selectedIndex])},
        options.map((option) =>
          h("option", {value: option, title: option, selected: option === lever.value}, short(option)),
        ),
      ),
      lever.note && h("small", {class: "hint"}, lever.note),
    );
  }
  const to = (value) => pull(lever, Math.max(lever.min, Math.min(lever.max, value)));
  return h(
    "span",
    {class: "lever"},
    label,
    h(
      "span",
      {class: "stepper"},
      h(
        "button",
        {
          type: "button",
          tabindex: "-1",
          "aria-label": `one less: ${lever.label}`,
          disabled: lever.value <= lever.min,
          click: () => to(lever.value - 1),
        },
        "−",
      ),
      h("input", {
        type: "number",
        id,
        "data-lever": lever.id,
        value: lever.value,
        style: {"--digits": String(lever.value).length},
        min: lever.min,
        max: lever.max,
        change: (event) => {
          if (event.target.value !== "") to(Math.round(Number(event.target.value)));
        },
      }),
      h(
        "button",
        {
          type: "button",
          tabindex: "-1",
          "aria-label": `one more: ${lever.label}`,
          disabled: lever.value >= lever.max,
          click: () => to(lever.value + 1),
        },
        "+",
      ),
    ),
  );
}
