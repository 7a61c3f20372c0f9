// The hand calculation, step by step: bars of LayerNorm and of RMSNorm, and one slider for the step.

const { colors, number } = kit;
const STEPS = ["输入 x", "减均值", "② 平方，③ 求均值", "④ 开方取倒，再相乘"];
const INKS = { LayerNorm: colors.orange, RMSNorm: colors.blue };
let step = 0, from = 0, t = 1, halt = () => {};

// At every step: bars, the scale they are drawn in, the level of the dashed line and the words below.
const stages = data.rows.map(row => [
  { bars: data.x, line: row.centred ? data.mean : null,
    words: row.centred ? `均值 μ = ${number(data.mean, 3)}` : "" },
  { bars: row.base, line: row.centred ? 0 : null, words: row.centred ? "x − μ" : "RMSNorm 不减均值" },
  { bars: row.squares, squares: true, line: row.mean,
    words: `${row.centred ? "方差" : "均方"} = ${number(row.mean, 3)}，`
      + `${row.centred ? "标准差" : "RMS"} = ${number(row.root, 3)}` },
  { bars: row.output ?? row.base.map(() => 0), line: null,
    words: row.output ? `${row.centred ? "(x − μ)" : "x"} ÷ ${number(row.root, 3)}`
      : `${row.centred ? "标准差" : "RMS"} = 0，无法相除` },
]);
const plain = stages.flat().filter(s => !s.squares).flatMap(s => s.bars);
const most = Math.max(0, ...plain), least = Math.min(0, ...plain);
const square = Math.max(1e-9, ...data.rows.flatMap(row => row.squares));

function panel(pen, left, top, width, height, i) {
  const row = data.rows[i], color = INKS[row.name], now = stages[i][step], old = stages[i][from];
  pen.fillStyle = kit.tint(color, 0.1);
  pen.beginPath(); pen.roundRect(left, top, width, height, 6); pen.fill();
  kit.write(pen, row.name, left + 12, top + 18, { color: kit.shade(color, 0.6), size: 15, halo: false });
  const high = top + 48, low = top + height - 48, unit = (low - high) / (most - least || 1);
  const zero = high + most * unit, up = Math.max(zero - high, 40) / square, n = data.x.length;
  const slot = (width - 44) / n, thick = Math.min(0.6 * slot, 46);
  const tall = (stage, k) => stage.bars[k] * (stage.squares ? up : unit);
  const ghost = step > 0 && !now.squares ? data.x : null;
  data.x.forEach((v, k) => {
    const x = left + 28 + (k + 0.5) * slot, tip = tall(old, k) + (tall(now, k) - tall(old, k)) * t;
    if (ghost) {
      pen.setLineDash([3, 3]); pen.strokeStyle = "#9A9A9A"; pen.lineWidth = 1;
      pen.strokeRect(x - thick / 2 - 3, Math.min(zero, zero - v * unit), thick + 6, Math.abs(v * unit));
      pen.setLineDash([]);
    }
    pen.fillStyle = kit.tint(color, step === 3 ? 0.9 : 0.45);
    pen.strokeStyle = kit.shade(color); pen.lineWidth = 1.2;
    const box = [x - thick / 2, Math.min(zero, zero - tip), thick, Math.abs(tip)];
    pen.fillRect(...box); pen.strokeRect(...box);
    if (now.squares) hatch(pen, box, kit.shade(color));
    if (v === 0) kit.mark(pen, "diamond", x, zero - tip, 5, colors.vermilion);
  });
  kit.line(pen, [left + 22, zero], [left + width - 14, zero], colors.grey, 1.2);
  kit.write(pen, "0", left + 14, zero, { align: "center", color: colors.grey, size: 12 });
  if (now.line !== null && t === 1) {
    const y = zero - now.line * (now.squares ? up : unit);
    kit.line(pen, [left + 22, y], [left + width - 14, y], colors.ink, 1.6, [6, 4]);
  }
  if (t === 1) data.x.forEach((v, k) => {
    const tip = tall(now, k);
    kit.write(pen, number(now.bars[k], 3), left + 28 + (k + 0.5) * slot, zero - tip + (tip < 0 ? 13 : -13),
      { align: "center", color: v === 0 ? kit.shade(colors.vermilion) : colors.ink });
  });
  kit.write(pen, now.words, left + width / 2, top + height - 18, { align: "center", size: 14 });
}

function hatch(pen, [x, y, w, h], color) {
  pen.save();
  pen.beginPath(); pen.rect(x, y, w, h); pen.clip();
  pen.strokeStyle = color; pen.lineWidth = 0.7;
  for (let d = -h; d < w; d += 7) { pen.beginPath(); pen.moveTo(x + d, y + h); pen.lineTo(x + d + h, y); pen.stroke(); }
  pen.restore();
}

function draw(pen, width, height) {
  const gap = 8, tall = (height - gap) / 2;
  data.rows.forEach((_, i) => panel(pen, 0, i * (tall + gap), width, tall, i));
}

const picture = kit.canvas({ height: () => 468, draw });
kit.slider({
  label: "第几步", min: 0, max: 3, value: 0, text: i => `${i + 1}　${STEPS[i]}`,
  input(i) {
    halt();
    [from, step, t] = [step, i, 0];
    halt = kit.animate(450, now => { t = now; picture.redraw(); });
    tell();
  },
});
const say = kit.readout();
const list = values => kit.vector(values, 3);
function tell() {
  say(data.rows.map((row, i) => {
    const stage = stages[i][step];
    return `${row.name}：${list(stage.bars)}${stage.words ? `，${stage.words}` : ""}。`;
  }).join(""));
}
tell();
kit.note("一格一格拖（或按 ← →）。虚线框是输入 x；平方的柱子带斜线，用另一把尺。◆ 跟着 x 里的 0 走。");
