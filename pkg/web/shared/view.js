// What the reader chose. The page that shows it says how it is drawn.

import {steps} from "./data.js";
import {keepingFocus, say} from "./dom.js";
import {failing, failureOf, lossOf, notBack, recoveryOf} from "./losses.js";
import {count, listed, noun} from "./words.js";

// view is what the reader chose: a step, domains of one level that fail, a workload shown alone, what was
// searched for, groups whose nodes are listed, the labels that group nodes instead of the levels, what colours nodes.
export const view = {step: 0, failed: null, marked: null, found: null, open: new Set(), by: [], heat: "Pods"};

// around is what the page does that the map is on: it draws a step, or of that what depends on the failure and on the
// workload in view, keeps what was chosen, and may take a click on a node or domain for something else than its
// failure.
/** @type {{drawStep(): void, drawMap(): void, chosen(): void, picked(key: string, domain: string): boolean}} */
export const around = {drawStep() {}, drawMap() {}, chosen() {}, picked: () => false};
export const surround = (page) => Object.assign(around, page);

// show brings a step into view, with nothing failed.
export function show(i, failed = null) {
  Object.assign(view, {step: i, failed, found: null});
  /** @type {NodeListOf<HTMLElement>} */
  const tabs = document.querySelectorAll(".tabs [role=tab]");
  tabs.forEach((tab, at) => {
    tab.setAttribute("aria-selected", String(at === i));
    tab.tabIndex = at === i ? 0 : -1;
    if (at === i) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
  });
  document
    .querySelectorAll("tr[data-step]")
    .forEach((row) => row.classList.toggle("chosen", row.getAttribute("data-step") === steps[i].name));
  around.drawStep();
  around.chosen();
}

// redrawMap is for a choice made on the map, which keeps the focus.
export const redrawMap = () => keepingFocus(around.drawMap);

// select fails a domain, or restores it when it is the one that failed; further ones of the level are added to it.
export function select(key, domain, further) {
  if (around.picked(key, domain)) return;
  const before = view.failed?.key === key ? view.failed.domains : [];
  const without = before.filter((other) => other !== domain);
  fail(
    key,
    further
      ? without.length < before.length
        ? without
        : [...before, domain]
      : before.length === 1 && without.length === 0
        ? []
        : [domain],
  );
}

export function fail(key, domains) {
  Object.assign(view, {
    failed: domains.length > 0 ? {key, domains} : null,
    found: null,
    marked: view.found?.workload ? null : view.marked,
  });
  redrawMap();
  around.chosen();
  sayFailed();
}

// sayFailed tells a screen reader what failed, and what is known to come back.
export function sayFailed() {
  if (!view.failed) return say("Restored.");
  const {key, domains} = view.failed,
    step = steps[view.step];
  const {recovery} = recoveryOf(step, key, failureOf(step, key, domains));
  say(
    `${noun(key)}${domains.length > 1 ? "s" : ""} ${listed(domains)} failed: ` +
      `${count(lossOf(step, failing(step, key, domains)).pods, "pod")} lost` +
      (recovery ? `, ${recovery.recovered?.length ?? 0} back, ${notBack(recovery)} not back.` : "."),
  );
}

// find marks what was searched for.
export function find(found, marked = null) {
  Object.assign(view, {failed: null, found, marked});
  around.drawMap();
  around.chosen();
}

export const restore = () => fail("", []);
