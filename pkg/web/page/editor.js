// The editor of the scenario's files. It stands in a shadow root, where its style sheets need no exception of the
// page's policy.
//
//   makeEditor({parent, complete, hover, changed}) → {open, change, forget, mark, reveal, goTo}
//       complete(file, text, offset) → {from, options} | undefined, hover(file, text, offset) → {from, to, label,
//       detail, info} | undefined, changed(file, text) when the reader wrote

import {autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyKeymap, indentWithTab} from "@codemirror/commands";
import {yaml} from "@codemirror/lang-yaml";
import {bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting} from "@codemirror/language";
import {lintGutter, setDiagnostics} from "@codemirror/lint";
import {highlightSelectionMatches, searchKeymap} from "@codemirror/search";
import {Annotation, EditorState} from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import {tags} from "@lezer/highlight";
import {h} from "#shared/dom.js";

const HANGING = 3000; // lines of a larger file are not indented

const fromOutside = Annotation.define(); // a change that the page makes

const colours = HighlightStyle.define([
  {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)"},
  {tag: [tags.string, tags.special(tags.string)], color: "var(--good)"},
  {tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--warn)"},
  {tag: tags.comment, color: "var(--muted)", fontStyle: "italic"},
  {tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: "var(--muted)"},
]);

const look = EditorView.theme({
  "&": {height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "13px"},
  "&.cm-focused": {outline: "none"},
  ".cm-scroller": {
    fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
    lineHeight: "1.5",
  },
  ".cm-content": {caretColor: "var(--ink)", padding: "6px 0"},
  ".cm-cursor": {borderLeftColor: "var(--ink)"},
  ".cm-gutters": {backgroundColor: "var(--surface)", color: "var(--muted)", border: "none"},
  ".cm-lineNumbers .cm-gutterElement": {padding: "0 4px 0 8px", minWidth: "2.2em", opacity: ".65"},
  ".cm-gutter-lint": {width: "12px"},
  ".cm-gutter-lint .cm-gutterElement": {padding: "3px 0 0 1px"},
  ".cm-lint-marker": {width: "10px", height: "10px"},
  ".cm-activeLine, .cm-activeLineGutter": {backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)"},
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  ".cm-selectionMatch": {backgroundColor: "color-mix(in srgb, var(--warn) 22%, transparent)"},
  "&.cm-focused .cm-matchingBracket": {backgroundColor: "color-mix(in srgb, var(--good) 25%, transparent)"},
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "0 6px 20px rgb(0 0 0 / .18)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {fontFamily: "inherit", maxHeight: "14em"},
  ".cm-tooltip-autocomplete ul li[aria-selected]": {backgroundColor: "var(--accent-soft)", color: "var(--ink)"},
  ".cm-completionDetail": {color: "var(--muted)", fontStyle: "normal"},
  ".cm-tooltip.cm-completionInfo": {
    padding: ".4rem .6rem",
    maxWidth: "22rem",
    fontFamily: "ui-sans-serif, system-ui, sans-serif",
  },
  ".cm-described": {padding: ".35rem .6rem", maxWidth: "24rem", fontFamily: "ui-sans-serif, system-ui, sans-serif"},
  ".cm-described p": {margin: ".2rem 0 0"},
  ".cm-diagnostic": {padding: ".3rem .6rem", maxWidth: "34rem", whiteSpace: "pre-wrap", overflowWrap: "anywhere"},
  ".cm-diagnostic-error": {borderLeft: "4px solid var(--bad)"},
  ".cm-panels input, .cm-panels button": {
    color: "var(--ink)",
    background: "var(--raised)",
    border: "1px solid var(--line)",
    borderRadius: "4px",
  },
});

// hanging indents what is left of a line that is too long, so that its own indentation stays to be seen.
const hanging = EditorView.decorations.compute(["doc"], (state) => {
  const marks = [];
  for (let n = 1; n <= Math.min(state.doc.lines, HANGING); n++) {
    const {from, text} = state.doc.line(n),
      indent = /^[ -]*/.exec(text)[0].length + 2;
    if (text.length > 30)
      marks.push(
        Decoration.line({
          attributes: {style: `text-indent: -${indent}ch; padding-left: calc(${indent}ch + 6px)`},
        }).range(from),
      );
  }
  return Decoration.set(marks);
});

export function makeEditor({parent, complete, hover, changed}) {
  const states = new Map(); // by file; the one that is open lives in the view
  let file = "";
  const root = parent.attachShadow({mode: "open"});
  const view = new EditorView({parent: root, root, state: EditorState.create()});

  const completed = (context) => {
    if (!context.explicit && !context.matchBefore(/[\w./-]+$/)) return null;
    const found = complete(file, context.state.doc.toString(), context.pos);
    return found
      ? {
          from: found.from,
          options: found.options.map(({label, detail, info, apply}) => ({
            label,
            detail,
            info: info || undefined,
            apply,
          })),
          filter: false,
        }
      : null;
  };
  const described = (of, at) => {
    const found = hover(file, of.state.doc.toString(), at);
    return found
      ? {
          pos: found.from,
          end: found.to,
          above: true,
          create: () => ({
            dom: h(
              "div",
              {class: "cm-described"},
              h("b", {}, found.label),
              " ",
              h("small", {}, found.detail),
              found.info && h("p", {}, found.info),
            ),
          }),
        }
      : null;
  };

  const extensions = (name) => [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection(),
    EditorView.lineWrapping,
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    indentOnInput(),
    indentUnit.of("  "),
    EditorState.tabSize.of(2),
    bracketMatching(),
    closeBrackets(),
    yaml(),
    syntaxHighlighting(colours),
    look,
    autocompletion({override: [completed], icons: false}),
    hoverTooltip(described),
    hanging,
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
    EditorView.contentAttributes.of({
      "aria-label": `${name}, as text; Escape and then Tab leaves the editor`,
      spellcheck: "false",
      autocapitalize: "off",
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside)))
        changed(file, update.state.doc.toString());
    }),
  ];
  const stateOf = (name, text) => states.get(name) ?? EditorState.create({doc: text, extensions: extensions(name)});

  return {
    open(name, text) {
      if (file) states.set(file, view.state);
      view.setState(stateOf(name, text));
      file = name;
      this.change(name, text);
    },
    // change gives a file another text, by as small a change as there is: what the reader selected stays where it is,
    // and can be undone.
    change(name, text) {
      const open = name === file,
        state = open ? view.state : states.get(name);
      if (!state) return;
      const old = state.doc.toString();
      if (old === text) return;
      let from = 0,
        end = 0;
      const most = Math.min(old.length, text.length);
      while (from < most && old[from] === text[from]) from++;
      while (end < most - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
      const spec = {
        changes: {from, to: old.length - end, insert: text.slice(from, text.length - end)},
        annotations: fromOutside.of(true),
        scrollIntoView: true,
      };
      if (!open) return states.set(name, state.update(spec).state);
      view.dispatch({...spec, effects: EditorView.scrollIntoView(from, {y: "nearest", yMargin: 40})});
    },
    // forget is for another input, whose files may have the same names.
    forget() {
      states.clear();
      file = "";
    },
    // mark shows the problems of the open file at their lines.
    mark(problems) {
      const {doc} = view.state;
      view.dispatch(
        setDiagnostics(
          view.state,
          problems
            .filter((problem) => problem.file === file)
            .map(({line, message}) => {
              const at = doc.line(Math.max(1, Math.min(line || 1, doc.lines)));
              const from = at.from + (at.text.length - at.text.trimStart().length);
              return {from, to: Math.max(at.to, from), severity: "error", message};
            }),
        ),
      );
    },
    // reveal keeps what is written in view when the editor gets smaller.
    reveal() {
      if (view.hasFocus)
        view.dispatch({effects: EditorView.scrollIntoView(view.state.selection.main.head, {yMargin: 24})});
    },
    goTo(line) {
      const at = view.state.doc.line(Math.max(1, Math.min(line || 1, view.state.doc.lines)));
      view.dispatch({selection: {anchor: at.from}, effects: EditorView.scrollIntoView(at.from, {y: "center"})});
      view.focus();
    },
  };
}
