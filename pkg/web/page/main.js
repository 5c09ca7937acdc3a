// The playground: a scenario as text, what the real scheduler does with it as a map, and the answer beside it.

import {load, nodesOf} from "#shared/data.js";
import {fill, h, keepingFocus, say} from "#shared/dom.js";
import {inLanguage} from "#shared/language.js";
import {searchField} from "#shared/search.js";
import {drawMap} from "#shared/stage.js";
import {themeButton} from "#shared/theme.js";
import {restore, show, surround, view} from "#shared/view.js";
import {count} from "#shared/words.js";
import {follow, linkNow, linkOfLesson, recall, remember, stay} from "./address.js";
import {
  announce,
  answering,
  askNow,
  askQuiz,
  askSoon,
  drawStep,
  forget,
  represent,
  stopAsking,
  want,
} from "./answer.js";
import {drawBuilder, OWN, withQuestions} from "./builder.js";
import {breaking, lookAt} from "./breaking.js";
import {complete, hover, knownIn} from "./complete.js";
import {makeEditor} from "./editor.js";
import {challenging} from "./challenge.js";
import {connect} from "./engine.js";
import {explaining} from "./explaining.js";
import {drawUndo, filesBar} from "./files.js";
import {history} from "./history.js";
import {handingOut} from "./handout.js";
import {drawHome} from "./home.js";
import {languageChoice, speakReadersLanguage} from "./languages.js";
import {drawLesson, freshStep, textOf} from "./lessons.js";
import {HOME} from "./link.js";
import {drawQuestion, isAsked, markTabs, pick, predictions, tallying} from "./predicting.js";
import {shareMenu} from "./share.js";
import {exampleOf, state} from "./state.js";
import {drawLevers} from "./strip.js";
import {LARGE} from "./yamltext.js";

const at = (id) => document.getElementById(id);

speakReadersLanguage();

const notice = (words) => {
  at("notice").hidden = !words;
  at("notice").textContent = inLanguage(words);
};

let loading = false; // the notice says how much of the engine is here
let inLine = false; // the notice says where in the line a request is

const call = connect({
  progress: ({loaded, all}) => {
    if (loaded || loading)
      notice(
        loaded
          ? "Loading the engine, which is the real kube-scheduler: " +
              `${megabytes(loaded)}${all ? ` of ${megabytes(all)}` : ""} MB` +
              (loaded === all ? "; starting it …" : "")
          : "",
      );
    loading = Boolean(loaded);
    at("notice").style.setProperty("--share", String(all ? loaded / all : 0));
  },
  waiting: (words) => {
    if (words || inLine) notice(words);
    inLine = Boolean(words);
  },
});

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

const editor = makeEditor({
  parent: at("editor"),
  ...helpOf(),
  changed: (file, text) => edited({...state.input, files: {...state.input.files, [file]: text}}, true),
});

// helpOf completes and describes the scenario's own file, from its schema.
function helpOf() {
  const known = () => knownIn(state.input, nodesOf[view.step]);
  return {
    complete: (file, text, offset) =>
      file === state.input.main && state.schema ? complete(text, offset, state.schema, known()) : undefined,
    hover: (file, text, offset) =>
      file === state.input.main && state.schema ? hover(text, offset, state.schema) : undefined,
  };
}

// edited takes an input that the reader wrote, with the editor or with a lever.
function edited(input, typed = false) {
  past.add(input, typed);
  state.input = input;
  if (typed) undoButtons();
  askSoon();
}

let past = history(state.input);

// travel undoes a change of the reader, does it again, or goes back to the input as it came.
function travel(what) {
  if (!past.can(what)) return;
  state.input = past[what]();
  for (const [file, text] of Object.entries(state.input.files)) editor.change(file, text);
  if (side !== "text") bar();
  else files.open(state.input.files[state.file] === undefined ? state.input.main : state.file);
  levers();
  askSoon();
  say({undo: "Undone.", redo: "Done again.", reset: "As it came."}[what]);
}

const undoButtons = () => drawUndo(past, travel);

// changed takes an input that something else than the editor wrote; what is dragged is one change, as what is typed is.
function changed(input, shows, typed = false) {
  if (shows) want({step: shows});
  edited(input, typed);
  for (const [file, text] of Object.entries(input.files)) editor.change(file, text);
  levers();
}

const levers = () => drawLevers(changed, predictions.on ? null : () => predict(true));

const files = {
  open(file) {
    side = "text";
    state.file = file;
    if (!isLarge()) {
      editor.open(file, state.input.files[file]);
      editor.mark(state.problems);
    }
    bar();
  },
  change(all, main, file) {
    edited({main, files: all});
    files.open(file);
  },
};

const isLarge = () => state.input.files[state.file].length > LARGE;

// side is what stands beside the map: the editor's text, or in its place the lesson or the builder.
/** @type {"text" | "lesson" | "builder"} */
let side = "text";

function bar() {
  document.body.classList.toggle("reading", side !== "text");
  at("lesson").hidden = side !== "lesson";
  at("builder").hidden = side !== "builder";
  at("editor").hidden = side !== "text" || isLarge();
  at("large").hidden = side !== "text" || !isLarge();
  at("large").textContent = isLarge()
    ? `${state.file} has ${megabytes(state.input.files[state.file].length)} MB, which is too much for an editor. ` +
      "It is used as it is."
    : "";
  undoButtons();
  const own = !exampleOf().lesson && !exampleOf().challenge && !isLarge();
  filesBar({...files, lesson: (side === "lesson" || textOf()) && read, build: own && build}, side);
  drawSide();
}

function drawSide() {
  if (side === "lesson") keepingFocus(() => drawLesson(readers));
  if (side === "builder") drawBuilder({changed, tryIt: () => predict(true), link: linkOfLesson});
}

// build shows the form that makes a lesson.
function build() {
  side = "builder";
  predictions.on = false;
  bar();
  if (!state.report) return; // the answer comes with its questions
  show(view.step);
  if (!state.quiz) askQuiz().catch((error) => notice(error.message));
}

const readers = {predict, drag: (input, shows) => changed(input, shows, true)};

function read() {
  side = "lesson";
  bar();
}

// predict asks before each answer, or does not any more.
function predict(on) {
  predictions.on = on;
  if (on) read();
  show(view.step);
  if (on && !state.quiz) askQuiz().catch((error) => notice(error.message));
}

// begin opens another scenario, at a step if one is wanted.
function begin(input, example, wanted, first = input) {
  forget();
  want(wanted);
  editor.forget();
  if (!state.examples.some((one) => one.name === example)) example = "";
  Object.assign(state, {input, first, example, file: input.main, problems: []});
  past = history(first);
  past.add(input);
  files.open(input.main);
  leaveHome();
  const {lesson, challenge} = exampleOf();
  const teaches = lesson || (example !== OWN && !challenge && withQuestions(input));
  predictions.on = teaches && !wanted?.failed;
  if (teaches || challenge) read();
  if (example === OWN) build();
  if (challenge) view.step = Infinity; // the first step whose goal is not reached
  return askNow();
}

let given; // the scenario that the page came with, if it did

const isHome = () => document.body.classList.contains("home");

// goHome shows the opening page, over what is open.
function goHome() {
  stay();
  document.body.classList.add("home");
  document.title = TITLE;
  const go = () => {
    leaveHome();
    show(view.step, view.failed);
  };
  drawHome({
    given: Boolean(given),
    back: state.report && {title: titleNow(), go},
    open: (input) => begin(input, "").catch((error) => notice(error.message)),
  });
}

function leaveHome() {
  document.body.classList.remove("home");
  at("home").replaceChildren();
  entitle();
}

const TITLE = document.title;

const titleNow = () => state.report?.scenario || exampleOf().title || "Your scenario";

// entitle says what is open, in the bar and in the browser's title.
function entitle() {
  at("title").textContent = inLanguage(titleNow());
  if (!isHome()) document.title = `${inLanguage(titleNow())} · ${TITLE}`;
}

// afterAnswer draws what depends on the text as well as on the answer.
function afterAnswer() {
  editor.mark(state.problems);
  bar();
  levers();
  entitle();
  const list = at("problems");
  list.replaceChildren();
  if (state.problems.length === 0) return announce();
  const [first] = state.problems;
  fill(list, {}, [
    h("b", {}, count(state.problems.length, "problem")),
    ": ",
    state.problems.slice(0, 4).map((problem) =>
      h(
        "button",
        {
          type: "button",
          class: "link",
          click: () => {
            files.open(problem.file);
            editor.goTo(problem.line);
          },
        },
        `${problem.file}${problem.line > 0 ? `:${problem.line}` : ""}: ${problem.message}`,
      ),
    ),
    state.problems.length > 4 && ` and ${state.problems.length - 4} more`,
  ]);
  editor.reveal();
  say(`${count(state.problems.length, "problem")}. ${first.file}, line ${first.line}: ${first.message}`);
}

// againButton reads the live cluster again that the page began with.
function againButton(cluster) {
  const button = h(
    "button",
    {
      type: "button",
      id: "again",
      title: `Read the cluster ${cluster} again, in place of what is here`,
      click: async () => {
        button.disabled = true;
        try {
          stopAsking();
          given = (await call("load", {again: true})).input;
          notice("");
          await begin(given, "");
          say(`${cluster} was read again.`);
        } catch (error) {
          notice(error.message);
        } finally {
          button.disabled = false;
        }
      },
    },
    `Read ${cluster} again`,
  );
  return button;
}

// presentButton makes the page large, for a projector: the lesson or the map, and the answer, without what is for one.
function presentButton() {
  const button = h(
    "button",
    {
      type: "button",
      id: "present",
      title: "Large type for a projector (P)",
      "aria-pressed": "false",
      click: () => {
        const on = document.documentElement.classList.toggle("presenting");
        button.setAttribute("aria-pressed", String(on));
        button.textContent = inLanguage(on ? "Stop presenting" : "Present");
        if (state.report) show(view.step, view.failed);
      },
    },
    "Present",
  );
  return button;
}

function keys(event) {
  const within = event.composedPath()[0];
  if (within.closest?.("input, select, textarea, dialog, [contenteditable]") || document.querySelector("dialog[open]"))
    return;
  if (isHome()) return;
  const undo =
    (event.ctrlKey || event.metaKey) && {z: event.shiftKey ? "redo" : "undo", y: "redo"}[event.key.toLowerCase()];
  if (undo) {
    event.preventDefault();
    travel(undo);
  }
  if (event.key === "Escape" && (view.failed || view.found)) restore();
  if (event.key === "p" && !event.ctrlKey && !event.metaKey && !event.altKey) at("present").click();
  if (event.key === "/") {
    event.preventDefault();
    at("search").focus();
  }
}

async function start() {
  const loaded = await call("load", {});
  Object.assign(state, {
    version: loaded.version,
    scheduler: loaded.scheduler,
    schema: loaded.schema,
    class: Boolean(loaded.class),
    examples: loaded.examples,
  });
  load({live: true});
  fill(at("choose"), {}, [h("a", {class: "button", href: HOME}, "← Lessons"), h("b", {id: "title"})]);
  fill(at("tools"), {}, [
    searchField(),
    loaded.live && againButton(loaded.live),
    shareMenu(linkNow, askQuiz),
    presentButton(),
    languageChoice(),
    themeButton(),
  ]);
  fill(document.querySelector("footer"), {}, [
    h(
      "p",
      {},
      `Placed by the plugins of kube-scheduler ${loaded.scheduler}, in memory, by Faultline ${loaded.version}. ` +
        "Nothing leaves this page.",
    ),
  ]);
  surround({
    picked: pick,
    drawMap,
    drawStep: () => {
      document.body.classList.toggle("predicting", isAsked());
      drawSide();
      if (isAsked()) drawQuestion(freshStep());
      else drawStep();
      markTabs();
    },
    chosen: () => {
      document.body.classList.toggle("chosen", Boolean(view.failed || view.found));
      if (!isHome()) remember();
      if (isAsked()) return;
      levers();
      lookAt();
    },
  });
  answering(call, afterAnswer, notice);
  // What was still asked of another step shows nothing while a question is open.
  breaking(call, () => isAsked() || represent());
  explaining(call);
  challenging(call, changed);
  tallying((answers) => call("tally", answers).catch(() => {})); // the lesson does not wait for the class
  addEventListener("keydown", keys);
  handingOut();
  given = loaded.given && loaded.input;
  follow(() => reopen().catch((error) => notice(error.message)));
  await reopen();
}

// reopen shows what the address holds, or else what there is to begin with.
async function reopen() {
  const linked = await recall();
  notice(linked?.note ?? "");
  const known = state.examples.some(({name}) => name === linked?.example);
  if (!linked?.input && !known) {
    if (linked?.example) notice(`Nothing was opened: there is no lesson or example ${linked.example}.`);
    return given && !linked?.home ? begin(given, "") : goHome();
  }
  stopAsking();
  const first = known ? (await call("load", {example: linked.example})).input : linked.input;
  notice(linked.note ?? "");
  return begin(linked.input ?? first, linked.example, linked.view, first);
}

start().catch((error) => notice(error.message));
