// What every live picture may use. The body of a function of `root`, the <figure>; picture.py wraps it.
// Nothing here leaves the figure: no global name, no request, no listener outside it.

const ink = "#222222", grey = "#6B6B6B", pale = "#E3E3E3";
const colors = {
  ink, grey, pale, black: "#000000", orange: "#E69F00", sky: "#56B4E9", green: "#009E73",
  yellow: "#F0E442", blue: "#0072B2", vermilion: "#D55E00", purple: "#CC79A7",
};
const FONT = '"Noto Sans SC","PingFang SC","Microsoft YaHei","WenQuanYi Micro Hei",system-ui,sans-serif';
const CSS = `
.rms-stage{color-scheme:light;font:14px/1.6 ${FONT};color:${ink};max-width:100%}
.rms-stage canvas{display:block;width:100%;outline-offset:-2px;border-radius:4px}
.rms-stage :focus-visible{outline:2px solid ${colors.blue}}
.rms-stage .rms-row{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px;margin-top:8px}
.rms-stage .rms-row>span:first-child{flex:0 0 7em}
.rms-stage input[type=range]{flex:1 1 100px;min-width:80px;max-width:420px;margin:0;accent-color:${colors.blue}}
.rms-stage output{min-width:5em;font-variant-numeric:tabular-nums}
.rms-stage button{font:inherit;line-height:1.4;padding:4px 12px;margin:0;color:${ink};background:#fff;
border:1px solid #8A8A8A;border-radius:4px;cursor:pointer}
.rms-stage button:hover{background:#F0F4F8}
.rms-stage button[aria-pressed=true]{background:#DCEAF4;border-color:${colors.blue};
box-shadow:inset 0 -3px 0 ${colors.blue}}
.rms-stage button:disabled{opacity:.5;cursor:default}
.rms-stage .rms-say{margin:8px 0 0;min-height:1.6em}
.rms-stage .rms-key{color:${grey};font-size:13px;margin:6px 0 0}
.rms-stage table.rms-table{border-collapse:collapse;margin:8px 0 0;font-size:14px;color:${ink};
font-variant-numeric:tabular-nums;border:0}
.rms-stage table.rms-table :is(th,td){border:0;border-bottom:1px solid ${pale};background:none;color:${ink};
padding:2px 14px 2px 0;text-align:left;white-space:nowrap}
.rms-stage table.rms-table tr{background:none!important}
.rms-stage .rms-scroll{overflow-x:auto}
`;

const stage = element("div", { className: "rms-stage" });
const image = root.querySelector("img");

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && !name.startsWith("aria")) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// JupyterLab takes keys for itself unless this stands on the very element that has the focus.
function keepKeys(made) {
  made.setAttribute("data-lm-suppress-shortcuts", "true");
  return made;
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// frame(t) for t from 0 to 1 during `ms`; at once frame(1) where the reader wants no motion.
// Returns a function that stops it.
function animate(ms, frame) {
  let id = 0, start = null;
  if (still() || ms <= 0) { frame(1); return () => {}; }
  const tick = now => {
    start ??= now;
    const t = Math.min(1, (now - start) / ms);
    frame(t);
    if (t < 1 && root.isConnected) id = requestAnimationFrame(tick);
  };
  id = requestAnimationFrame(tick);
  return () => cancelAnimationFrame(id);
}

// A sharp canvas as wide as the figure. draw(pen, width, height) in CSS pixels; height(width) → pixels.
// redraw() asks for one more drawing; many calls before the next frame make one.
function canvas({ height, draw, label = image.alt }) {
  const made = element("canvas", { role: "img", "aria-label": label });
  const pen = made.getContext("2d");
  let waiting = false, width = 0;
  const paint = () => {
    waiting = false;
    width = made.clientWidth || root.clientWidth || 640;
    const tall = Math.round(height(width)), ratio = Math.max(1, window.devicePixelRatio || 1);
    const [w, h] = [Math.round(width * ratio), Math.round(tall * ratio)];
    if (made.width !== w || made.height !== h) {
      made.width = w; made.height = h;
      made.style.height = `${tall}px`;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, tall);
    Object.assign(pen, { font: `13px ${FONT}`, textAlign: "left", textBaseline: "middle", globalAlpha: 1 });
    Object.assign(pen, { fillStyle: ink, strokeStyle: ink, lineWidth: 1.5, lineCap: "round", lineJoin: "round" });
    pen.setLineDash([]);
    draw(pen, width, tall);
    made.frames = (made.frames || 0) + 1;
  };
  const redraw = () => {
    if (!waiting) { waiting = true; requestAnimationFrame(paint); }
  };
  new ResizeObserver(() => { if (made.clientWidth !== width) redraw(); }).observe(made);
  stage.append(made);
  redraw();
  return { element: made, redraw };
}

// Drag with any pointer, or arrow keys, on a canvas: move(dx, dy) in pixels.
function draggable(made, move, keyStep = 12) {
  made.tabIndex = 0;
  keepKeys(made);
  made.style.touchAction = "pan-y";
  made.style.cursor = "grab";
  let last = null;
  made.addEventListener("pointerdown", event => {
    last = [event.clientX, event.clientY];
    made.setPointerCapture(event.pointerId);
    made.style.cursor = "grabbing";
  });
  made.addEventListener("pointermove", event => {
    if (!last) return;
    move(event.clientX - last[0], event.clientY - last[1]);
    last = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
    made.addEventListener(end, () => { last = null; made.style.cursor = "grab"; });
  const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  made.addEventListener("keydown", event => {
    const way = keys[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(way[0] * keyStep, way[1] * keyStep);
  });
}

function row(label, ...children) {
  const made = element("div", { className: "rms-row" }, element("span", {}, label), ...children);
  stage.append(made);
  return made;
}

// A labelled native slider. text(value) is shown beside it and read aloud; input(value) on every move.
// Returns { input, set(value) }; set does not call input.
function slider({ label, min, max, step = 1, value, text = String, input }) {
  const made = keepKeys(element("input", { type: "range", "aria-label": label }));
  Object.assign(made, { min, max, step });
  const output = element("output", { "aria-hidden": "true" });
  const tell = () => {
    output.textContent = text(Number(made.value));
    made.setAttribute("aria-valuetext", output.textContent);
  };
  const set = to => { made.value = to; tell(); };
  made.addEventListener("input", () => { tell(); input(Number(made.value)); });
  row(label, made, output);
  set(value);
  return { input: made, set };
}

// A row of buttons of which one is pressed. choices: [[words, value], …]; pick(value) on a press.
// Returns { buttons, set(value) }; set(anything else) releases all; set does not call pick.
function choices({ label, choices: all, value, pick }) {
  const group = row(label);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const set = to => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(all[i][1] === to)));
  const buttons = all.map(([words, one]) => {
    const made = keepKeys(element("button", { type: "button" }, words));
    made.addEventListener("click", () => { set(one); pick(one); });
    group.append(made);
    return made;
  });
  set(value);
  return { buttons, set };
}

// A plain button in a row of its own, or in `where`.
function button({ label, words, press, where }) {
  const made = keepKeys(element("button", { type: "button" }, words));
  made.addEventListener("click", () => press(made));
  if (where) where.append(made);
  else row(label ?? "", made);
  return made;
}

// A sentence below the picture that is read aloud when it changes. Returns a function of the new sentence.
function readout() {
  const made = element("p", { className: "rms-say", "aria-live": "polite" });
  stage.append(made);
  return words => { if (made.textContent !== words) made.textContent = words; };
}

// A small table. Returns a function of the new rows of text.
function table(header) {
  const body = element("tbody");
  const head = element("tr", {}, ...header.map(words => element("th", { scope: "col" }, words)));
  const made = element("table", { className: "rms-table" }, element("thead", {}, head), body);
  stage.append(element("div", { className: "rms-scroll" }, made));
  return rows => body.replaceChildren(...rows.map(([first, ...rest]) => element(
    "tr", {}, element("th", { scope: "row" }, first), ...rest.map(cell => element("td", {}, cell)))));
}

function note(words) {
  stage.append(element("p", { className: "rms-key" }, words));
}

// A number for people: at most `digits` decimals, no trailing zeros, a true minus sign.
function number(value, digits = 2) {
  const text = (Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value).toFixed(digits);
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", "−");
}
const vector = (values, digits = 2) => `[${values.map(v => number(v, digits)).join(", ")}]`;

// What picture.thousandths packed; NaN where there was no number.
function thousandths(packed) {
  const view = new DataView(Uint8Array.from(atob(packed), c => c.charCodeAt(0)).buffer);
  return Float64Array.from({ length: view.byteLength / 2 }, (_, i) => {
    const value = view.getInt16(2 * i, true);
    return value === -32768 ? NaN : value / 1000;
  });
}

// Marks with which the same thing is known without its colour.
function mark(pen, shape, x, y, size, color, hollow = false) {
  pen.save();
  pen.beginPath();
  if (shape === "circle") pen.arc(x, y, size, 0, 2 * Math.PI);
  if (shape === "square") pen.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
  if (shape === "triangle") {
    pen.moveTo(x, y - size * 1.15); pen.lineTo(x + size * 1.1, y + size * 0.8);
    pen.lineTo(x - size * 1.1, y + size * 0.8); pen.closePath();
  }
  if (shape === "diamond") {
    pen.moveTo(x, y - size * 1.3); pen.lineTo(x + size * 1.1, y);
    pen.lineTo(x, y + size * 1.3); pen.lineTo(x - size * 1.1, y); pen.closePath();
  }
  pen.fillStyle = hollow ? "#fff" : color;
  pen.strokeStyle = hollow ? color : "#fff";
  pen.lineWidth = 2;
  pen.fill();
  pen.stroke();
  pen.restore();
}

function line(pen, from, to, color = ink, width = 1.5, dash = []) {
  pen.save();
  pen.setLineDash(dash);
  pen.strokeStyle = color;
  pen.lineWidth = width;
  pen.beginPath();
  pen.moveTo(...from);
  pen.lineTo(...to);
  pen.stroke();
  pen.restore();
}

function arrow(pen, from, to, color = ink, width = 2, head = 9) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  if (length < 1) return;
  const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length], size = Math.min(head, length);
  line(pen, from, [to[0] - ux * size * 0.8, to[1] - uy * size * 0.8], color, width);
  pen.save();
  pen.fillStyle = color;
  pen.beginPath();
  pen.moveTo(...to);
  pen.lineTo(to[0] - ux * size - uy * size * 0.45, to[1] - uy * size + ux * size * 0.45);
  pen.lineTo(to[0] - ux * size + uy * size * 0.45, to[1] - uy * size - ux * size * 0.45);
  pen.fill();
  pen.restore();
}

// Words on a white halo, so that they stay legible on lines.
function write(pen, words, x, y, { color = ink, align = "left", base = "middle", size = 13, halo = true } = {}) {
  pen.save();
  pen.font = `${size}px ${FONT}`;
  pen.textAlign = align;
  pen.textBaseline = base;
  if (halo) {
    pen.strokeStyle = "rgba(255,255,255,.9)";
    pen.lineWidth = 4;
    pen.strokeText(words, x, y);
  }
  pen.fillStyle = color;
  pen.fillText(words, x, y);
  pen.restore();
}

// The colour mixed with white (share of colour), or with black for words.
const parts = color => [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16));
const tint = (color, share = 0.2) => `rgb(${parts(color).map(p => Math.round(255 - (255 - p) * share))})`;
const shade = (color, share = 0.66) => `rgb(${parts(color).map(p => Math.round(p * share))})`;

// Put the live stage in the image's place; where that fails, the image stays.
function start(run, data) {
  try {
    stage.append(element("style", {}, CSS));
    image.parentElement.after(stage);
    image.style.display = "none";
    run(root, data, kit);
    root.dataset.live = "true";
  } catch (error) {
    stage.remove();
    image.style.display = "";
    throw error;
  }
}

const kit = {
  colors, alt: image.alt, stage, element, still, animate, canvas, draggable, row, slider, choices, button,
  readout, table, note, number, vector, thousandths, mark, line, arrow, write, tint, shade, start,
};
return kit;
