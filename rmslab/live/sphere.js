// Sphere, hyperplane and one vector. Heights are along the all-ones direction, so "add a constant" is up and
// down. Results are what Python's functions gave for every stop of both sliders; here they are only drawn.

const { colors, number, vector } = kit;
const LOOK = {
  x: { color: colors.ink, shape: "diamond" }, projection: { color: "#B87F00", shape: "triangle" },
  rms: { color: colors.blue, shape: "circle" }, layer: { color: colors.vermilion, shape: "square" },
};
const grids = new Map(data.presets.map(p => [p.name, kit.thousandths(p.results)]));
const state = {
  preset: data.presets.find(p => p.name === data.start), shift: 0, scale: 1,
  azimuth: data.azimuth, elevation: data.elevation,
};

// --- numbers ---

function look() {
  const { preset } = state, d = preset.base.length, { shifts, scales } = data;
  const place = shifts.indexOf(state.shift) * scales.length + scales.indexOf(state.scale);
  const part = i => {
    const start = (place * 3 + i) * d, grid = grids.get(preset.name);
    const values = Array.from(grid.subarray(start, start + d));
    return values.some(Number.isNaN) ? null : values;
  };
  const x = preset.base.map(v => state.scale * (v + state.shift));
  return { x, projection: part(0), rms: part(1), layer: part(2) };
}
const mean = v => v.reduce((a, b) => a + b, 0) / v.length;
const length = v => Math.hypot(...v);
const apart = (a, b) => length(a.map((v, i) => v - b[i]));

// which of the reader's results are what they are meant to be, so that words say only what is so
function right({ x, projection, rms, layer }) {
  const foot = x.map(v => v - mean(x));
  const onSphere = v => v.map(a => length(v) > 1e-9 ? a * Math.sqrt(v.length) / length(v) : 0);
  const near = (a, b) => Boolean(a) && apart(a, b) < 0.01;
  return { projection: near(projection, foot), rms: near(rms, onSphere(x)), layer: near(layer, onSphere(foot)) };
}

// --- drawing ---

function draw(pen, width, height) {
  const { preset, azimuth, elevation } = state, found = look();
  const radius = Math.sqrt(preset.base.length);
  const [ca, sa, ce, se] = [Math.cos(azimuth), Math.sin(azimuth), Math.cos(elevation), Math.sin(elevation)];
  // room for the ball, its axis and this vector, as high as it stands before any slider is moved
  const middle = [width / 2, 0.57 * height], reach = Math.max(1.72, Math.abs(mean(preset.base)) + 0.3);
  const R = Math.min((middle[1] - 12) / reach, 0.48 * width / 1.75), unit = R / radius;
  // (a, b, h) in units of the vector → x and y on the page, and depth towards the reader
  const at = ([a, b, h], by = unit) => {
    const near = -a * sa + b * ca;
    return [middle[0] + by * (a * ca + b * sa), middle[1] - by * (h * ce - near * se), near * ce + h * se];
  };
  const into = v => preset.frame.map(axis => axis.reduce((sum, f, i) => sum + f * v[i], 0));
  const circle = (r, from, to, h = 0) => {
    pen.beginPath();
    for (let i = 0; i <= 48; i++) {
      const angle = from + (to - from) * i / 48 + azimuth;
      const [x, y] = at([r * Math.cos(angle), r * Math.sin(angle), h], R);
      i ? pen.lineTo(x, y) : pen.moveTo(x, y);
    }
  };
  const stroke = (color, wide, dash = []) => {
    pen.setLineDash(dash); pen.strokeStyle = color; pen.lineWidth = wide; pen.stroke(); pen.setLineDash([]);
  };
  const fill = color => { pen.fillStyle = color; pen.fill(); };
  const plane = 1.72;

  // the plane, the ball in it, and the half of the plane that lies before the ball's lower half
  circle(plane, 0, 2 * Math.PI); fill("#FCF1DA"); stroke("#E3BC6A", 1.2);
  const ball = pen.createRadialGradient(
    middle[0] - 0.35 * R, middle[1] - 0.4 * R, 0.1 * R, middle[0], middle[1], R);
  ball.addColorStop(0, "rgba(255,255,255,.97)");
  ball.addColorStop(0.75, "rgba(222,236,247,.9)");
  ball.addColorStop(1, "rgba(184,211,233,.93)");
  pen.beginPath(); pen.arc(...middle, R, 0, 2 * Math.PI); fill(ball); stroke("#8FB4D1", 1.2);
  pen.beginPath();
  for (const [r, from, to] of [[plane, 0, Math.PI], [1, Math.PI, 0]])
    for (let i = 0; i <= 32; i++) {
      const angle = from + (to - from) * i / 32 + azimuth;
      const [x, y] = at([r * Math.cos(angle), r * Math.sin(angle), 0], R);
      pen.lineTo(x, y);
    }
  pen.closePath(); fill("rgba(252,241,218,.94)");
  circle(plane, 0, Math.PI); stroke("#E3BC6A", 1.2);

  // parallels and meridians on the near side
  const net = (point, to) => {
    pen.beginPath();
    let open = false;
    for (let i = 0; i <= 40; i++) {
      const [x, y, depth] = at(point(i / 40 * to), R);
      if (depth > 0) { open ? pen.lineTo(x, y) : pen.moveTo(x, y); open = true; } else open = false;
    }
    stroke("rgba(90,130,165,.28)", 1);
  };
  for (const h of [0.5, -0.5, 0.866])
    net(t => [Math.sqrt(1 - h * h) * Math.cos(t), Math.sqrt(1 - h * h) * Math.sin(t), h], 2 * Math.PI);
  for (let k = 0; k < 6; k++) {
    const m = k * Math.PI / 6;
    net(t => [Math.cos(t) * Math.cos(m), Math.cos(t) * Math.sin(m), Math.sin(t)], 2 * Math.PI);
  }
  circle(1, Math.PI, 2 * Math.PI); stroke(colors.blue, 1.4, [3, 4]);
  circle(1, 0, Math.PI); stroke(colors.blue, 2.4);

  // the all-ones axis: dashed inside the ball
  const [top, north, south, bottom] = [1.62, 1, -1, -1.3].map(h => at([0, 0, h], R));
  kit.line(pen, south, bottom, colors.grey, 1.5);
  kit.line(pen, south, north, colors.grey, 1.2, [2, 5]);
  kit.arrow(pen, north, top, colors.grey, 1.5, 8);
  for (const pole of [north, south]) { pen.beginPath(); pen.arc(pole[0], pole[1], 2.5, 0, 7); fill(colors.grey); }

  // the vector and what becomes of it
  const origin = at([0, 0, 0]), points = {};
  for (const [name, value] of Object.entries(found)) if (value) points[name] = at(into(value));
  const clip = (from, to) => {  // as far as the page reaches
    let t = 1;
    const edge = 12;
    for (const [i, low, high] of [[0, edge, width - edge], [1, edge, height - edge]]) {
      const step = to[i] - from[i];
      if (to[i] > high) t = Math.min(t, (high - from[i]) / step);
      if (to[i] < low) t = Math.min(t, (low - from[i]) / step);
    }
    return t < 1 ? { far: true, point: from.map((v, i) => i < 2 ? v + t * (to[i] - v) : to[i]) } : { point: to };
  };
  const shown = Object.fromEntries(Object.entries(points).map(([name, to]) => [name, clip(origin, to)]));
  const { x, projection, rms, layer } = shown;
  if (projection) {
    if (!x.far && apart(found.x, found.projection) > 0.02) {
      kit.line(pen, x.point, projection.point, colors.grey, 1.5, [5, 4]);
      if (right(found).projection) corner(pen, origin, projection.point, x.point);
    }
    kit.arrow(pen, origin, projection.point, LOOK.projection.color, 2.2);
  }
  if (layer && projection) kit.line(pen, projection.point, layer.point, LOOK.layer.color, 1.2, [2, 3]);
  if (rms) kit.line(pen, x.point, rms.point, LOOK.rms.color, 1.2, [2, 3]);
  kit.arrow(pen, origin, x.point, LOOK.x.color, 2.4, 10);
  pen.beginPath(); pen.arc(origin[0], origin[1], 3, 0, 7); fill(colors.ink);
  const names = labels(found);
  for (const name of ["x", "projection", "layer", "rms"]) {
    if (!shown[name]) continue;
    const { point, far } = shown[name];
    const behind = point[2] < -0.02 && Math.hypot(point[0] - middle[0], point[1] - middle[1]) < R * 0.995;
    if (name !== "x" || !far) kit.mark(pen, LOOK[name].shape, point[0], point[1],
      name === "rms" || name === "layer" ? 7.5 : 6, LOOK[name].color, behind && name !== "projection");
  }
  const size = width < 520 ? 12 : 13;
  const left = x.point[0] >= middle[0] ? -1 : 1;
  kit.write(pen, "全 1 方向", top[0] + 10 * left, top[1] + 8,
    { color: colors.grey, size, align: left < 0 ? "right" : "left" });
  const [rimX, rimY] = at([plane * Math.cos(azimuth + 2.5), plane * Math.sin(azimuth + 2.5), 0], R);
  kit.write(pen, "超平面 Σx = 0", Math.max(8, rimX - 20), Math.min(height - 10, rimY + 20),
    { color: "#8A5F00", size });
  kit.write(pen, `球面半径 √${preset.base.length} = ${number(radius, 3)}`, width - 8, 16,
    { color: "#3F6E94", align: "right", size });
  const words = [[width - 150, 4, width, 28], [top[0] - 75, top[1] - 4, top[0] + 75, top[1] + 18],
    [rimX - 24, rimY + 8, rimX + 90, rimY + 32]];
  place(pen, shown, names, origin, width, height, words);
}

// the right angle where the vector's foot stands
function corner(pen, origin, foot, top) {
  const a = [origin[0] - foot[0], origin[1] - foot[1]], b = [top[0] - foot[0], top[1] - foot[1]];
  const [la, lb] = [Math.hypot(...a), Math.hypot(...b)];
  if (la < 16 || lb < 16) return;
  const [p, q] = [a.map(v => v / la * 9), b.map(v => v / lb * 9)];
  pen.beginPath();
  pen.moveTo(foot[0] + p[0], foot[1] + p[1]);
  pen.lineTo(foot[0] + p[0] + q[0], foot[1] + p[1] + q[1]);
  pen.lineTo(foot[0] + q[0], foot[1] + q[1]);
  pen.strokeStyle = colors.grey; pen.lineWidth = 1.2; pen.stroke();
}

function labels(found) {
  const names = { x: "x", projection: "投影", rms: "RMSNorm", layer: "LayerNorm" };
  const { x, projection, rms, layer } = found;
  if (rms && layer && apart(rms, layer) < 0.02) { names.rms = "RMSNorm = LayerNorm"; names.layer = ""; }
  if (layer && length(layer) < 0.01) names.layer = "LayerNorm = 0";
  if (projection && length(projection) < 0.01) names.projection = "";
  else if (projection && apart(x, projection) < 0.02) { names.projection = ""; names.x = "x = 投影"; }
  if (rms && apart(x, rms) < 0.02) { names.rms = `x = ${names.rms}`; names.x = ""; }
  return names;
}

// Words beside their points, away from the middle, none upon another.
function place(pen, shown, names, middle, width, height, taken) {
  const avoid = (a, b) => {
    const steps = Math.ceil(Math.hypot(b[0] - a[0], b[1] - a[1]) / 6);
    for (let i = 0; i <= steps; i++) {
      const [px, py] = [0, 1].map(k => a[k] + (b[k] - a[k]) * i / steps);
      taken.push([px - 2, py - 2, px + 2, py + 2]);
    }
  };
  avoid(middle, shown.x.point);
  if (shown.projection) { avoid(middle, shown.projection.point); avoid(shown.x.point, shown.projection.point); }
  const free = box => taken.every(o => box[0] > o[2] || box[2] < o[0] || box[1] > o[3] || box[3] < o[1])
    && box[0] > 2 && box[2] < width - 2 && box[1] > 2 && box[3] < height - 2;
  for (const name of ["rms", "layer", "x", "projection"]) {
    if (!shown[name]) continue;
    const [px, py] = shown[name].point;
    taken.push([px - 8, py - 8, px + 8, py + 8]);
  }
  for (const name of ["rms", "layer", "x", "projection"]) {
    if (!shown[name] || !names[name]) continue;
    const words = shown[name].far ? `${names[name]}（在更远处）` : names[name];
    pen.font = pen.font.replace(/^\d+px/, "14px");
    const wide = pen.measureText(words).width, [px, py] = shown[name].point;
    const right = px >= middle[0] - 2;
    const tries = [];
    for (const side of right ? [1, -1] : [-1, 1])
      for (const up of [0, -12, 12, -22, 22]) tries.push([side, up]);
    tries.push(...[24, -24, 38, -38, 52, -52, 70, -70].map(up => [0, up]));
    const spot = tries.map(([side, up]) => {
      const left = side > 0 ? px + 13 : side < 0 ? px - 13 - wide : px - wide / 2;
      return [left, py + up - 9, left + wide, py + up + 9];
    });
    const box = spot.find(free) ?? spot[0];
    taken.push(box);
    kit.write(pen, words, box[0], (box[1] + box[3]) / 2,
      { color: name === "x" ? colors.ink : kit.shade(LOOK[name].color, 0.75), size: 14 });
  }
}

// --- words and controls ---

function tell() {
  const found = look(), { x, projection, rms, layer } = found, cosine = mean(x) * Math.sqrt(x.length) / length(x);
  const rows = [["◆ x", x], ["▲ 投影", projection], ["● RMSNorm", rms], ["■ LayerNorm", layer]];
  rowsOf(rows.map(([name, v]) => v
    ? [name, vector(v, 3), number(mean(v), 3), number(length(v), 3)]
    : [name, "（函数还没有写，或在这里报错）", "", ""]));
  const angle = length(x) ? Math.acos(Math.max(-1, Math.min(1, cosine))) * 180 / Math.PI : 0;
  const known = x.length === 3 || data.angles ? `，与全 1 方向夹角 ${number(angle, 3)}°` : "";
  const parts = [length(x) ? `x 的均值是 ${number(mean(x), 3)}${known}。` : "x 是零向量，没有方向。"];
  const as = right(found);
  if (as.projection && as.rms && as.layer) {
    if (!length(x)) parts.push("两种输出都是 0。");
    else if (length(layer) < 0.01)
      parts.push(`x 就在全 1 方向上：RMSNorm 落在${mean(x) > 0 ? "上" : "下"}极点，LayerNorm 落到原点。`);
    else if (apart(rms, layer) < 0.02) parts.push("x 已经在超平面上，两种结果重合。");
    else parts.push("RMSNorm 留在 x 的方向上；LayerNorm 先垂直落到超平面，再到大圆上。");
  } else {
    const off = [["投影", "projection"], ["RMSNorm", "rms"], ["LayerNorm", "layer"]]
      .filter(([, part]) => found[part] && !as[part]).map(([name]) => name);
    if (off.length) parts.push(`你的函数给出的${off.join("、")}还不在该在的地方：先通过上面的检查。`);
  }
  say(parts.join(""));
}

const picture = kit.canvas({ height: w => Math.max(340, Math.min(480, 0.62 * w)), draw });
picture.element.setAttribute("aria-label", `${kit.alt}用方向键转动。`);
kit.draggable(picture.element, (dx, dy) => {
  state.azimuth += dx * 0.01;
  state.elevation = Math.max(0.03, Math.min(1.45, state.elevation + dy * 0.01));
  picture.redraw();
});
const changed = () => { picture.redraw(); tell(); };
const pick = name => {
  Object.assign(state, { preset: data.presets.find(p => p.name === name), shift: 0, scale: 1 });
  shift.set(0); scale.set(1);
  for (const group of groups) group.set(name);
  changed();
};
const all = d => data.presets.filter(p => p.base.length === d).map(p => [p.name, p.name]);
const groups = [
  kit.choices({ label: "三维的 x", choices: all(3), value: data.start, pick }),
  kit.choices({ label: "四维的 token", choices: all(4), value: data.start, pick }),
];
const range = (stops, label, text, input) => kit.slider({
  label, text, input, min: stops[0], max: stops[stops.length - 1], step: stops[1] - stops[0],
  value: stops.includes(1) && label.includes("乘") ? 1 : 0,
});
const shift = range(data.shifts, "加常数 c", v => `c = ${number(v)}`, v => { state.shift = v; changed(); });
const scale = range(data.scales, "整体乘 a", v => `a = ${number(v)}`, v => { state.scale = v; changed(); });
const rowsOf = kit.table(["", "分量", "均值", "长度"]);
const say = kit.readout();
kit.note("拖动图，或选中图以后按方向键，可以转动。空心的记号在球的背面。四维的 token 画在一个三维切面里：它经过全 1 "
  + "方向和这个 token，切面里的长度和角度都是真的。");
tell();
