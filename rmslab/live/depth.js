// One line: RMS after each layer for the chosen gain and norm; the same gain under the other norms stays pale.
const { gains, norms, scales } = data;
const { colors } = kit;
const look = {
  无归一化: [colors.vermilion, "circle"], BatchNorm: [colors.green, "square"],
  LayerNorm: [colors.orange, "triangle"], RMSNorm: [colors.blue, "diamond"],
};
const low = -16, high = 12, depth = scales[0][0].length;
let gain = gains.indexOf(1), norm = 0;

const sup = n => String(n).replace("-", "⁻").replace(/\d/g, d => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
const tell = value => {
  if (value >= 0.01 && value < 1000) return kit.number(value, value < 10 ? 2 : 0);
  const power = Math.floor(Math.log10(value));
  return value > 0 ? `${kit.number(value / 10 ** power, 1)}×10${sup(power)}` : "0";
};
const labels = gains.map(g => ({ 0.58: "（PyTorch 默认）", 1.41: "（√2）" })[g] ?? "");

const picture = kit.canvas({
  height: width => Math.min(380, Math.max(260, width * 0.46)),
  draw(pen, width, height) {
    const [x0, x1, y0, y1] = [52, width - 16, height - 34, 14];
    const x = layer => x0 + (layer - 0.5) / depth * (x1 - x0);
    const y = value => y0 - (Math.log10(Math.max(value, 1e-15)) - low) / (high - low) * (y0 - y1);
    for (let power = -16; power <= 12; power += 4) {
      kit.line(pen, [x0, y(10 ** power)], [x1, y(10 ** power)], power ? colors.pale : colors.grey, 1);
      kit.write(pen, power ? `10${sup(power)}` : "1", x0 - 8, y(10 ** power), { align: "right", size: 12, color: colors.grey });
    }
    for (const layer of [1, 10, 20, 30])
      kit.write(pen, `${layer}`, x(layer), y0 + 12, { align: "center", size: 12, color: colors.grey });
    kit.write(pen, "第几层", (x0 + x1) / 2, y0 + 25, { align: "center", size: 12, color: colors.grey });
    const order = norms.map((_, i) => i).filter(i => i !== norm).concat(norm);
    for (const i of order) {
      const [color, shape] = look[norms[i]], chosen = i === norm, values = scales[i][gain];
      pen.strokeStyle = chosen ? color : kit.tint(color, 0.3);
      pen.lineWidth = chosen ? 2.5 : 1.5;
      pen.beginPath();
      values.forEach((value, k) => (k ? pen.lineTo(x(k + 1), y(value)) : pen.moveTo(x(1), y(value))));
      pen.stroke();
      if (chosen) values.forEach((value, k) => { if (k % 3 === 2) kit.mark(pen, shape, x(k + 1), y(value), 5, color); });
    }
    const words = `${norms[norm]}：${tell(scales[norm][gain][depth - 1])}`, wide = pen.measureText(words).width;
    const below = scales[norm][gain].filter((_, k) => x(k + 1) > x1 - wide - 8).map(y);
    const above = Math.min(...below) - 18;
    kit.write(pen, words, x1, above > y1 ? above : Math.max(...below) + 20,
      { align: "right", color: kit.shade(look[norms[norm]][0]) });
  },
});
const say = kit.readout();
const update = () => {
  const values = scales[norm][gain], ratio = values[depth - 1] / values[0];
  const trend = ratio > 100 ? "越深越大" : ratio < 0.01 ? "越深越小" : "深浅差不多";
  say(`g = ${gains[gain]}，${norms[norm]}：第 1 层的 RMS 是 ${tell(values[0])}，第 ${depth} 层是 ${tell(values[depth - 1])}，${trend}。`);
  picture.redraw();
};
kit.slider({
  label: "初始增益 g", min: 0, max: gains.length - 1, value: gain,
  text: i => `${gains[i]}${labels[i]}`, input: i => { gain = i; update(); },
});
kit.choices({
  label: "归一化", choices: norms.map((name, i) => [name, i]), value: norm, pick: i => { norm = i; update(); },
});
kit.note("粗线是选中的一种，淡线是同一个 g 下的其他三种。所有的点都由你的 layer_scales 量出。");
update();
