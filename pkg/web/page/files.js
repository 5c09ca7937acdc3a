// The tabs of the input's files: open, add, rename, remove.

import {fill, h, keepingFocus} from "#shared/dom.js";
import {state} from "./state.js";

const TABS = 3; // of more files there is a list beside the tabs

// drawUndo draws what takes changes back: past is a history, and travel goes through it.
export function drawUndo(past, travel) {
  const button = (what, title, sign) =>
    h(
      "button",
      {
        type: "button",
        title,
        "aria-label": title,
        "data-focus": what,
        disabled: !past.can(what),
        click: () => keepingFocus(() => travel(what)),
      },
      sign,
    );
  keepingFocus(() => {
    const place = document.getElementById("undo");
    place.replaceChildren();
    fill(place, {hidden: null}, [
      button("undo", "Undo your last change (Ctrl+Z)", "↶"),
      button("redo", "Do it again (Ctrl+Shift+Z)", "↷"),
      button("reset", "Reset: everything as it came", "Reset"),
    ]);
  });
}

// filesBar draws the tabs, of which side is the one in view: lesson, builder or text; on has open(file), change(files, main,
// file), build(), and lesson() where the input has words for its steps.
export function filesBar(on, side) {
  const text = side === "text";
  const names = Object.keys(state.input.files).sort(
    (a, b) =>
      Number(b === state.input.main) - Number(a === state.input.main) || a.localeCompare(b, "en", {numeric: true}),
  );
  const wrong = new Set(state.problems.map((problem) => problem.file));
  const tab = (name, words, selected, click, rest) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-selected": String(selected),
        "aria-controls": {Lesson: "lesson", Builder: "builder"}[name] ?? "editor",
        tabindex: selected ? "0" : "-1",
        title: name,
        click,
        ...rest,
      },
      words,
    );
  const list = h(
    "div",
    {class: "filetabs", role: "tablist", "aria-label": "Files", keydown: walk},
    on.lesson && tab("Lesson", "Lesson", side === "lesson", on.lesson, {class: "lessontab"}),
    on.build && tab("Builder", "Builder", side === "builder", on.build, {class: "lessontab"}),
    names.map((name) =>
      tab(
        name,
        [name, wrong.has(name) && h("span", {class: "bad", "aria-label": "has problems"}, " ●")],
        text && name === state.file,
        () => on.open(name),
        {dblclick: () => rename(on, name)},
      ),
    ),
  );
  const bar = document.getElementById("files");
  bar.replaceChildren();
  fill(bar, {}, [
    list,
    h(
      "span",
      {class: "fileactions"},
      names.length > TABS &&
        h(
          "span",
          {class: "allfiles"},
          h(
            "select",
            {
              "aria-label": "All files",
              title: `All ${names.length} files`,
              change: (event) => on.open(event.target.value),
            },
            names.map((name) => h("option", {value: name, selected: name === state.file}, name)),
          ),
          h("span", {"aria-hidden": "true"}, "▾"),
        ),
      h("button", {type: "button", title: "Add a file", "aria-label": "Add a file", click: () => add(on)}, "+"),
      h(
        "button",
        {
          type: "button",
          title: `Rename ${state.file}`,
          "aria-label": `Rename ${state.file}`,
          hidden: !text,
          click: () => rename(on, state.file),
        },
        "✎",
      ),
      h(
        "button",
        {
          type: "button",
          title: `Remove ${state.file}`,
          "aria-label": `Remove ${state.file}`,
          hidden: !text || state.file === state.input.main,
          click: () => remove(on, state.file),
        },
        "×",
      ),
    ),
  ]);
  const selected = list.querySelector('[aria-selected="true"]'); // which scrollIntoView would move the page for
  list.scrollLeft = Math.max(0, selected.offsetLeft + selected.offsetWidth - list.clientWidth);
}

function walk(event) {
  const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!by || event.target.role !== "tab") return;
  event.preventDefault();
  const all = [...event.currentTarget.querySelectorAll("[role=tab]")];
  const to = (all.indexOf(event.target) + by + all.length) % all.length;
  all[to].click();
  /** @type {NodeListOf<HTMLElement>} */
  const drawn = document.querySelectorAll("#files [role=tab]");
  drawn[to]?.focus();
}

// named asks for a name in the bar itself.
function named(label, value, take) {
  const field = h("input", {type: "text", value, "aria-label": label, spellcheck: "false", autocomplete: "off"});
  const form = h(
    "form",
    {
      class: "filename",
      submit: (event) => {
        event.preventDefault();
        done(true);
      },
    },
    field,
  );
  let over = false;
  const done = (taken) => {
    if (over) return;
    over = true;
    form.remove();
    const name = field.value.trim().replace(/^(\.?\/)+/, "");
    if (taken && name && name !== value && !name.split("/").includes("..") && state.input.files[name] === undefined)
      take(name);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") done(false);
  });
  field.addEventListener("blur", () => done(true));
  document.getElementById("files").append(form);
  field.focus();
  field.select();
}

const add = (on) =>
  named("Name of the new file", "", (name) => on.change({...state.input.files, [name]: ""}, state.input.main, name));

const rename = (on, old) =>
  named(`New name of ${old}`, old, (name) =>
    on.change(
      Object.fromEntries(Object.entries(state.input.files).map(([file, text]) => [file === old ? name : file, text])),
      state.input.main === old ? name : state.input.main,
      name,
    ),
  );

const remove = (on, old) =>
  on.change(
    Object.fromEntries(Object.entries(state.input.files).filter(([file]) => file !== old)),
    state.input.main,
    state.input.main,
  );
