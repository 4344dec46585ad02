"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const status = document.getElementById("status");
const greeting = status.textContent;
const HEIGHT = 18;
let chosen = new Set();
let kept = false;

// a pane makes elements for the lines in sight only: a stage may have a hundred thousand
class Pane {
  constructor(stage) {
    this.stage = stage;
    this.sources = [];
    for (const [first, count, marks] of stage.sources) {
      for (let line = first; line < first + count; line++) this.sources[line] = marks;
    }
    this.element = document.createElement("div");
    this.element.className = "pane";
    const head = document.createElement("h3");
    head.textContent = `${stage.title}: ${stage.lines.length} lines`;
    this.view = document.createElement("div");
    this.view.className = "lines";
    this.element.append(head, this.view);
    this.view.addEventListener("scroll", () => this.draw());
    this.view.addEventListener("mousemove", (event) => this.point(event, false));
    this.view.addEventListener("mouseleave", () => release());
    this.view.addEventListener("click", (event) => this.point(event, true));
  }
  draw() {
    const first = Math.max(0, Math.floor(this.view.scrollTop / HEIGHT) - 5);
    const last = Math.min(this.stage.lines.length, first + Math.ceil(this.view.clientHeight / HEIGHT) + 10);
    const rows = [];
    for (let line = first; line < last; line++) {
      const row = document.createElement("div");
      const marks = this.sources[line] || [];
      row.textContent = this.stage.lines[line];
      row.style.top = `${line * HEIGHT}px`;
      row.dataset.line = line;
      row.classList.toggle("known", marks.length > 0);
      row.classList.toggle("on", marks.some((mark) => chosen.has(mark)));
      rows.push(row);
    }
    const end = document.createElement("div");
    end.style.top = `${this.stage.lines.length * HEIGHT - 1}px`;
    end.style.height = "1px";
    this.view.replaceChildren(...rows, end);
  }
  point(event, keep) {
    const row = event.target.closest("[data-line]");
    const marks = row ? this.sources[Number(row.dataset.line)] : undefined;
    if (keep) choose(marks || [], Boolean(marks), this);
    else if (!kept) choose(marks || [], false, null);
  }
  reveal() {
    const line = this.stage.lines.findIndex((_, n) => (this.sources[n] || []).some((mark) => chosen.has(mark)));
    if (line >= 0) this.view.scrollTop = line * HEIGHT - this.view.clientHeight / 3;
  }
}

const panes = data.stages.map((stage) => new Pane(stage));
const groups = [...document.querySelectorAll(".group")];
const marksOf = new Map(groups.map((g) => [g, g.dataset.sources.split(" ").filter(Boolean).map(Number)]));

function choose(marks, keep, from) {
  const same = !keep && marks.length === chosen.size && marks.every((mark) => chosen.has(mark));
  kept = keep;
  if (same) return;
  chosen = new Set(marks);
  for (const pane of panes) {
    if (keep && pane !== from) pane.reveal();
    pane.draw();
  }
  for (const group of groups) group.classList.toggle("on", marksOf.get(group).some((mark) => chosen.has(mark)));
  const places = [...new Set(marks.map((mark) => data.places[mark]))];
  status.textContent = marks.length ? places.join(" · ") : greeting;
}
function release() {
  if (!kept) choose([], false, null);
}

document.querySelector(".panes").append(...panes.map((pane) => pane.element));
for (const pane of panes) pane.draw();
window.addEventListener("resize", () => panes.forEach((pane) => pane.draw()));
for (const group of groups) {
  group.addEventListener("mouseenter", () => kept || choose(marksOf.get(group), false, null));
  group.addEventListener("mouseleave", release);
}

const graph = document.getElementById("graph");
let box = graph.getAttribute("viewBox").split(" ").map(Number);
const size = () => graph.getBoundingClientRect();
const scale = () => Math.max(box[2] / size().width, box[3] / size().height);
const show = () => graph.setAttribute("viewBox", box.join(" "));
const whole = [...box];
function begin() {
  // what would be too small to read is shown from its top
  if (scale() > 1.6) box = [box[0] + box[2] / 2 - size().width * 0.6, box[1], size().width * 1.2, size().height * 1.2];
  show();
}
begin();
graph.addEventListener("dblclick", () => { box = [...whole]; show(); });
let held = null;
graph.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { left, top, width, height } = size();
  const s = scale();
  const x = box[0] + box[2] / 2 + (event.clientX - left - width / 2) * s;
  const y = box[1] + box[3] / 2 + (event.clientY - top - height / 2) * s;
  const by = Math.exp(event.deltaY * 0.0015);
  box = [x + (box[0] - x) * by, y + (box[1] - y) * by, box[2] * by, box[3] * by];
  show();
}, { passive: false });
graph.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY, event.target, 0]; });
window.addEventListener("pointermove", (event) => {
  if (!held) return;
  const s = scale();
  box = [box[0] - (event.clientX - held[0]) * s, box[1] - (event.clientY - held[1]) * s, box[2], box[3]];
  held = [event.clientX, event.clientY, held[2], held[3] + Math.hypot(event.movementX, event.movementY)];
  show();
});
window.addEventListener("pointerup", () => {
  if (held && held[3] < 4) {
    const group = held[2].closest(".group");
    choose(group ? marksOf.get(group) : [], Boolean(group), null);
  }
  held = null;
});
