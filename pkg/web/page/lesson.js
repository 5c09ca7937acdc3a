// A lesson is a scenario whose descriptions are read step by step.
//
//   lesson(text, report?) → {title, intro, steps}
//       title is the scenario's name; intro its description as blocks
//       steps: [{name, fresh, text, ticks}], where text are the blocks of the step's description; ticks are the step's
//       expectations as the report has them: [{want, got, met, open, why, line}], none before there is a report; fresh
//       tells that the step begins with an empty cluster
//   blocks(markdown) → [block]
//   inline(text) → children
//   element(block, inner?) → the element on the page, whose blocks within are made by inner
//
// A block is {tag: "p", children} or {tag: "ul" | "ol", children: [{tag: "li", children}]}, and children are texts and
// {tag: "code" | "strong", children}. Nothing else is read as markup, so that no text of a scenario ever becomes HTML.

import {h, parted} from "#shared/dom.js";
import {inLanguage} from "#shared/language.js";
import {documents, plain} from "./yamltext.js";

export function lesson(text, report) {
  const scenario = plainOf(text);
  const answers = new Map((report?.steps ?? []).map((step) => [step.name, step.expectations ?? []]));
  const steps = (Array.isArray(scenario.steps) ? scenario.steps : []).filter((step) => step?.name);
  const names = [
    ...(answers.has("workloads") && !steps.some(({name}) => name === "workloads") ? [{name: "workloads"}] : []),
    ...steps,
  ];
  return {
    title: String(scenario.metadata?.name ?? ""),
    intro: blocks(scenario.description),
    steps: names.map(({name, description, fresh}) => ({
      name: String(name),
      fresh: fresh === true,
      text: blocks(description),
      ticks: (answers.get(name) ?? []).map(tick),
    })),
  };
}

const tick = ({want, got, met, open, why = "", source}) => ({want, got, met, open, why, line: source?.line ?? 0});

function plainOf(text) {
  const document = documents(text)[0],
    scenario = document && plain(document);
  return typeof scenario === "object" && scenario !== null ? scenario : {};
}

export function blocks(markdown) {
  const found = [];
  let open; // the list, or the paragraph, that a further line belongs to
  for (const line of String(markdown ?? "").split("\n")) {
    const [, marker, item] = /^\s*([-*]|\d+[.)])\s+(.*)$/.exec(line) ?? [];
    if (line.trim() === "") {
      open = open?.tag === "p" ? undefined : open && {...open, ended: true};
    } else if (marker) {
      const tag = /\d/.test(marker) ? "ol" : "ul";
      if (open?.tag !== tag) found.push((open = {tag, items: []}));
      else open = found.at(-1);
      open.items.push(item);
    } else if (open?.items && !open.ended) {
      open.items.push(open.items.pop() + " " + line.trim());
    } else if (open?.tag === "p") {
      open.text += " " + line.trim();
    } else {
      found.push((open = {tag: "p", text: line.trim()}));
    }
  }
  return found.map(({tag, text, items}) => ({
    tag,
    children: items ? items.map((item) => ({tag: "li", children: inline(inLanguage(item))})) : inline(inLanguage(text)),
  }));
}

// inline reads `code` and **bold**; what is not closed is text.
export function inline(text) {
  const children = [];
  for (const part of text.split(/(`[^`]+`|\*\*(?:[^*`]|`[^`]+`|\*(?!\*))+\*\*)/)) {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`"))
      children.push({tag: "code", children: [part.slice(1, -1)]});
    else if (part.length > 4 && part.startsWith("**") && part.endsWith("**"))
      children.push({tag: "strong", children: inline(part.slice(2, -2))});
    else if (part) children.push(part);
  }
  return children;
}

export const element = (block, inner = element) =>
  typeof block === "string"
    ? block
    : h(block.tag, {}, block.tag === "code" ? parted(block.children[0]) : block.children.map((child) => inner(child)));
