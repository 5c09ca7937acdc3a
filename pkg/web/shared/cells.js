// A large map's nodes as cells of a canvas.

import {countPods, domainOf, signsOf, steps, uses} from "./data.js";
import {colour, h, point, say} from "./dom.js";
import {select, view} from "./view.js";
import {count, HOSTNAME, percent} from "./words.js";

const WITH_FIGURES = 28;

export const isFound = (node) => view.found?.node === node.name;

// cellsOf draws a group's nodes as cells of one canvas, which the arrow keys walk.
export function cellsOf(world, nodes, place) {
  const size =
    world.nodes.length > 2000 ? 9 : world.nodes.length > 400 ? 12 : world.nodes.length > 200 ? 16 : WITH_FIGURES;
  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "map of nodes",
    "data-focus": "cells " + place,
    "aria-label": `${count(nodes.length, "node")} as cells; the arrow keys walk, Enter fails a node`,
  });
  const holder = h("div", {class: "cells" + (nodes.some(isFound) ? " found" : "")}, canvas);
  const cells = {canvas, nodes, size, world, cursor: -1, columns: 1, width: 0};
  const words = (node) => {
    const arriving = world.arrivals.get(node.name)?.length ?? 0;
    return [
      node.name,
      count(countPods(world.pods.get(node.name) ?? []), "pod"),
      ...uses(node, world.requested).map((use) => `${use.of} ${percent(use.share)} (${use.words})`),
      ...signsOf(node).map(([, text]) => text),
      world.failed.has(node.name) && "failed",
      arriving > 0 && `${count(arriving, "pod")} ${arriving === 1 ? "comes" : "come"} back here`,
    ]
      .filter(Boolean)
      .join(", ");
  };
  const under = (event) => {
    const column = Math.floor(event.offsetX / size);
    return column < cells.columns ? nodes[Math.floor(event.offsetY / size) * cells.columns + column] : undefined;
  };
  const walk = (by) => {
    cells.cursor = Math.max(0, Math.min(nodes.length - 1, cells.cursor < 0 ? 0 : cells.cursor + by));
    drawCells(cells);
    const box = canvas.getBoundingClientRect();
    const text = words(nodes[cells.cursor]);
    point(
      text,
      box.left + (cells.cursor % cells.columns) * size,
      box.top + Math.floor(cells.cursor / cells.columns) * size,
    );
    say(text);
  };
  const on = {
    mousemove: (event) => {
      const node = under(event);
      point(node ? words(node) : "", event.clientX, event.clientY);
    },
    mouseleave: () => point(""),
    click: (event) => {
      const node = under(event);
      if (node) select(HOSTNAME, domainOf(node, HOSTNAME), event.shiftKey || event.ctrlKey || event.metaKey);
    },
    blur: () => {
      cells.cursor = -1;
      point("");
      drawCells(cells);
    },
    keydown: (event) => {
      const steps = {
        ArrowRight: 1,
        ArrowLeft: -1,
        ArrowDown: cells.columns,
        ArrowUp: -cells.columns,
        Home: -nodes.length,
        End: nodes.length,
      };
      if (event.key in steps) walk(steps[event.key]);
      else if ((event.key === "Enter" || event.key === " ") && cells.cursor >= 0)
        select(HOSTNAME, domainOf(nodes[cells.cursor], HOSTNAME), event.shiftKey);
      else return;
      event.preventDefault();
    },
  };
  for (const [name, listener] of Object.entries(on)) canvas.addEventListener(name, listener);
  drawn.set(holder, cells);
  widths.observe(holder);
  return holder;
}

// drawn are the canvases on the page; they are drawn once they have a width, and again when it changes.
const drawn = new Map();

export function forgetCells() {
  drawn.clear();
  widths.disconnect();
}

export function measureCells() {
  for (const [holder, cells] of drawn) cells.width = holder.getBoundingClientRect().width;
  redrawCells();
}

const widths = new ResizeObserver((entries) => {
  for (const {target, contentRect} of entries) {
    const cells = drawn.get(target);
    if (!cells) continue;
    if (!target.isConnected) {
      widths.unobserve(target);
      drawn.delete(target);
    } else if (contentRect.width > 0 && contentRect.width !== cells.width) {
      cells.width = contentRect.width;
      drawCells(cells);
    }
  }
});

function drawCells({canvas, nodes, size, world, cursor, width}, inks = inksNow()) {
  const cells = drawn.get(canvas.parentElement);
  if (!width || !cells) return;
  cells.columns = Math.max(1, Math.floor(width / size));
  const rows = Math.ceil(nodes.length / cells.columns),
    scale = devicePixelRatio || 1;
  canvas.width = cells.columns * size * scale;
  canvas.height = rows * size * scale;
  canvas.style.width = cells.columns * size + "px";
  canvas.style.height = rows * size + "px";
  const paper = canvas.getContext("2d");
  paper.scale(scale, scale);
  const inner = size - 1.5;
  nodes.forEach((node, i) => {
    const x = (i % cells.columns) * size,
      y = Math.floor(i / cells.columns) * size;
    const failed = world.failed.has(node.name),
      heat = world.heat(node);
    paper.globalAlpha = 1;
    paper.fillStyle = inks.empty;
    paper.fillRect(x, y, inner, inner);
    if (heat > 0) {
      paper.globalAlpha = 0.25 + 0.75 * heat;
      paper.fillStyle = failed ? inks.bad : inks.strong;
      paper.fillRect(x, y, inner, inner);
      paper.globalAlpha = 1;
    }
    if (size >= WITH_FIGURES) {
      paper.fillStyle = heat > 0.5 && !failed ? inks.paper : inks.ink;
      paper.font = "11px sans-serif";
      paper.textAlign = "center";
      paper.fillText(world.figure(node), x + inner / 2, y + 12);
      uses(node, world.requested).forEach((use, row) => {
        const at = y + inner - 9 + 4.5 * row;
        paper.globalAlpha = 0.35;
        paper.fillRect(x + 3, at, inner - 6, 3);
        paper.globalAlpha = 1;
        paper.fillRect(x + 3, at, (inner - 6) * Math.min(1, use.share), 3);
      });
    }
    if (failed) hatch(paper, x, y, inner, inks);
    else if (node.taints || node.unschedulable || node.notReady) {
      paper.fillStyle = inks.warn;
      paper.beginPath();
      paper.moveTo(x + inner, y);
      paper.lineTo(x + inner, y + Math.min(inner * 0.6, 8));
      paper.lineTo(x + inner - Math.min(inner * 0.6, 8), y);
      paper.fill();
    }
    if (world.arrivals.has(node.name)) {
      paper.strokeStyle = inks.good;
      paper.lineWidth = 2;
      paper.strokeRect(x + 1, y + 1, inner - 2, inner - 2);
    }
    if (i === cursor || isFound(node)) {
      paper.strokeStyle = inks.ink;
      paper.lineWidth = 3;
      paper.strokeRect(x + 1, y + 1, inner - 2, inner - 2);
    }
  });
}

const inksNow = () => ({
  empty: colour("--cell"),
  strong: colour("--accent"),
  bad: colour("--bad"),
  warn: colour("--warn"),
  good: colour("--good"),
  ink: colour("--ink"),
  paper: colour("--surface"),
});

function hatch(paper, x, y, size, inks) {
  paper.save();
  paper.beginPath();
  paper.rect(x, y, size, size);
  paper.clip();
  paper.strokeStyle = inks.bad;
  paper.lineWidth = 1;
  paper.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  paper.strokeStyle = inks.paper;
  paper.lineWidth = 1.5;
  paper.beginPath();
  for (let at = -size; at < size; at += 4) {
    paper.moveTo(x + at, y + size);
    paper.lineTo(x + at + size, y);
  }
  paper.stroke();
  paper.restore();
}

export function redrawCells() {
  const inks = inksNow();
  for (const cells of drawn.values()) drawCells(cells, inks);
}
