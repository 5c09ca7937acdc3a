// Elements. Text becomes a text node wherever it comes from, so that nothing in a report is read as HTML.

import {inLanguage} from "./language.js";
import {causesOf, waitsOf} from "./waits.js";
import {number, percent} from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

// h makes an element; children are elements, text, lists of them, and null for nothing.
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// svg makes an element of a drawing.
export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

// SPOKEN are the attributes that are read by people; what is within QUOTED elements is in no language.
const SPOKEN = new Set(["title", "aria-label", "placeholder"]),
  QUOTED = new Set(["code", "kbd", "mark", "pre", "textarea"]);

export function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style")
      for (const [property, of] of Object.entries(value)) element.style.setProperty(property, of);
    else element.setAttribute(name, value === true ? "" : SPOKEN.has(name) ? inLanguage(value) : value);
  }
  const quoted = QUOTED.has(element.localName);
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false) element.append(quoted ? child : inLanguage(child));
  return element;
}

// say tells a screen reader.
export const say = (text) => {
  const live = document.getElementById("live");
  live.textContent = inLanguage(text);
  for (const animation of live.getAnimations?.() ?? []) {
    animation.cancel();
    animation.play();
  }
};

// table has heads of text, or {text, number: true} for a column of numbers, and rows of cells or finished rows.
export function table(label, heads, rows) {
  const columns = heads.map((title) => (typeof title === "string" ? {text: title} : title));
  const cell = (content, i) => h("td", {class: columns[i]?.number && "number"}, content);
  return h(
    "div",
    {class: "scroll", role: "region", "aria-label": label, tabindex: "0"},
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((column) => h("th", {scope: "col", class: column.number && "number"}, column.text)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) => (row instanceof Element ? row : h("tr", {}, row.map(cell)))),
      ),
    ),
  );
}

// many shows the first items, and the next ones on demand: a page of 20,000 pods has few elements. Show puts items into
// parent.
export function many(parent, items, size, show) {
  let shown = 0;
  const button = h("button", {type: "button", class: "more", click: () => next()});
  const next = () => {
    button.remove();
    show(items.slice(shown, shown + size));
    shown = Math.min(shown + size, items.length);
    if (shown === items.length) return;
    const left = items.length - shown;
    button.textContent = inLanguage(
      left > size ? `Show ${number(size)} more of ${number(left)}` : `Show ${number(left)} more`,
    );
    parent.append(button);
  };
  next();
  return parent;
}

// manyRows is a table that grows on demand.
export function manyRows(label, heads, items, size, row) {
  const grid = table(label, heads, []);
  const body = grid.querySelector("tbody");
  return many(h("div", {}, grid), items, size, (some) => body.append(...some.flatMap(row)));
}

// bar is a share of something as a bar, with its figure.
export function bar(share, text, kind) {
  return h(
    "span",
    {class: "bar " + (kind ?? ""), style: {"--share": share}},
    h("span", {class: "track", "aria-hidden": "true"}),
    h("span", {class: "figure"}, text),
  );
}

// radiusBar is a share of a workload, the graver the larger: all of it, half of it, less.
export const radiusBar = (share, text = percent(share)) => bar(share, text, grave(share));
export const grave = (share) => (share >= 1 ? "bad" : share >= 0.5 ? "warn" : "");

// chip is a workload's letters on its colour; pod is the one that it stands for, if it is one.
export function chip(mark, kind, title, text, pod) {
  return h(
    "span",
    {
      class: "chip " + (kind ?? ""),
      title,
      "data-pod": pod && podKey(pod),
      style: {"--mark": mark.colour, "--mark-ink": mark.ink},
    },
    h("b", {}, mark.letters),
    text && h("i", {}, text),
  );
}

// parted is a name that may be broken between its words and nowhere else, as a plugin's, a label's or a field's.
export const parted = (name) =>
  name.split(/(?<=[./:=])|(?<=[a-z])(?=[A-Z])/).flatMap((word, i) => (i > 0 ? [h("wbr"), word] : [word]));

// podKey names a pod to what listens on the page.
export const podKey = (pod) => pod.namespace + "/" + pod.name;

// waiting is what a pod waits for, line by line.
export const waiting = (pod) => waitsOf(pod).map((line) => h("p", {class: "message"}, line));

// causes are the refusals of a Pending pod, a line each.
export const causes = (pod) =>
  pod.causes?.length > 0 &&
  h(
    "ul",
    {class: "causes"},
    causesOf(pod).map((line) => h("li", {}, line)),
  );

// section is a part of the page with its heading.
export const section = (name, title, ...children) =>
  h(
    "section",
    {class: "part part-" + name, "aria-labelledby": "title-" + name},
    h("h3", {id: "title-" + name}, title),
    children,
  );

// keepingFocus redraws without losing the place of someone who works with the keyboard.
export function keepingFocus(redraw) {
  const place = document.activeElement?.getAttribute("data-focus");
  redraw();
  if (!place) return;
  /** @type {NodeListOf<HTMLElement>} */
  const places = document.querySelectorAll("[data-focus]");
  for (const element of places) {
    if (element.dataset.focus === place) {
      element.focus({preventScroll: true});
      return;
    }
  }
}

// colour is what a custom property of the style sheet stands for at the moment, light or dark.
export function colour(property) {
  const probe = document.getElementById("live");
  probe.style.setProperty("color", `var(${property})`);
  const found = getComputedStyle(probe).color;
  probe.style.removeProperty("color");
  return found;
}

// point shows words beside a place on the screen; without words it takes them away.
export function point(text, x, y) {
  const tip = document.getElementById("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18) + "px";
}

// growing is a list that grows on demand.
export function growing(items, size, show) {
  const list = h("ul", {});
  return many(list, items, size, (some) => list.append(...some.map(show)));
}

// useBar is what pods request of a node's CPU or memory.
export const useBar = (use) =>
  use
    ? bar(
        Math.min(1, use.share),
        `${percent(use.share)}, ${use.words}`,
        use.share > 1 ? "bad" : use.share >= 0.9 ? "warn" : "",
      )
    : "–";
