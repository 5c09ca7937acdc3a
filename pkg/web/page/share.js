// What can be taken away: a link, the command, the text, a picture, paper.

import {h, say} from "#shared/dom.js";
import {inLanguage} from "#shared/language.js";
import {pictureOf} from "./picture.js";
import {exampleOf, state} from "./state.js";

// shareMenu has a button for each; link makes the address of the state, and askQuiz brings the questions of a lesson.
export function shareMenu(link, askQuiz) {
  const done = h("span", {class: "hint", role: "status"});
  const told = (words = "") => {
    done.textContent = inLanguage(words);
    say(words);
    setTimeout(() => {
      done.textContent = "";
    }, 3000);
  };
  const item = (text, title, act) =>
    h(
      "button",
      {
        type: "button",
        title,
        click: async () => {
          try {
            told(await act());
          } catch (error) {
            told(`That did not work: ${error.message}`);
          }
        },
      },
      text,
    );
  const copied = (what, text) =>
    copy(text).then(
      () => `${what} copied.`,
      () => {
        menu.open = false;
        toCopy(what, text);
      },
    );
  const menu = h(
    "details",
    {class: "menu"},
    h("summary", {}, "Share"),
    h(
      "div",
      {class: "items"},
      item("Copy link", "A link that opens this scenario, with the step and the failure", async () =>
        copied("Link", await link()),
      ),
      item("Copy command", "A command line that runs this scenario", () => copied("Command", commandOf(state.input))),
      item("Copy YAML", `The text of ${state.input.main}`, () => copied(state.file, state.input.files[state.file])),
      item("Save YAML", `${state.input.main} as a file`, async () => {
        save(
          new Blob([state.input.files[state.file]], {type: "application/yaml"}),
          state.file.slice(state.file.lastIndexOf("/") + 1),
        );
        return "File saved.";
      }),
      item("Save PNG", "The map as a picture", async () => {
        save(await pictureOf(document.getElementById("map")), nameOf() + ".png");
        return "Picture saved.";
      }),
      item("Print", "The answer on paper; of a lesson a handout, with an answer sheet", async () => {
        if (!state.quiz && exampleOf().lesson) await askQuiz();
        menu.open = false;
        print();
        return "";
      }),
      done,
    ),
  );
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      menu.open = false;
      menu.firstChild.focus();
      event.stopPropagation();
    }
  });
  return menu;
}

// copy fails where the page may not write to the clipboard: without TLS only pages of this machine may.
const copy = async (text) => navigator.clipboard.writeText(text);

function toCopy(what, text) {
  const field = h("textarea", {readonly: true, rows: "10", "aria-label": what}, text);
  const dialog = h(
    "dialog",
    {class: "explain", "aria-label": what, close: () => dialog.remove()},
    h(
      "div",
      {class: "panelhead"},
      h("h2", {}, what),
      h("button", {type: "button", class: "restore", click: () => dialog.close()}, "Close", h("kbd", {}, "Esc")),
    ),
    h("p", {class: "hint"}, "The browser does not let the page copy this: copy it from here."),
    field,
  );
  document.body.append(dialog);
  dialog.showModal();
  field.select();
}

const nameOf = () => (state.report?.scenario || state.example || "scenario").replace(/[^\w-]+/g, "-");

function save(blob, name) {
  const link = h("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// commandOf writes the files and runs the scenario, in any POSIX shell.
export function commandOf({main, files}) {
  const quoted = (text) => (/^[\w./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");
  const folders = [
    ...new Set(
      Object.keys(files)
        .filter((file) => file.includes("/"))
        .map((file) => file.slice(0, file.lastIndexOf("/"))),
    ),
  ];
  const written = Object.entries(files).map(([file, text]) => {
    let end = "EOF";
    while (text.split("\n").includes(end)) end += "_";
    return `cat > ${quoted(file)} <<'${end}'\n${text.endsWith("\n") || text === "" ? text : text + "\n"}${end}\n`;
  });
  return (
    (folders.length > 0 ? `mkdir -p ${folders.map(quoted).join(" ")}\n` : "") +
    written.join("") +
    `simulate run ${quoted(main)}\n`
  );
}
