// One tone three ways: waveforms, and buttons that play them. Nothing sounds before a button is pressed.

const { colors, number } = kit;
const NAMES = ["原样", "RMSNorm", "LayerNorm"], INKS = [colors.grey, colors.blue, colors.vermilion];
const waves = data.waves.map(kit.thousandths);
let offset = data.offsets.indexOf(data.start), playing = null, context = null;
const wave = i => waves[3 * offset + i], level = i => data.levels[3 * offset + i];

function draw(pen, width, height) {
  const [left, right, shown] = [44, width - 10, 161], band = height / 3, scale = (band - 34) / 5;
  NAMES.forEach((name, i) => {
    const top = i * band, zero = top + 24 + 2.6 * scale, y = v => zero - v * scale, samples = wave(i);
    if (playing?.row === i) { pen.fillStyle = "#F1F6FA"; pen.fillRect(0, top + 2, width, band - 4); }
    kit.line(pen, [left, zero], [right, zero], colors.ink, 1);
    for (const tick of [-2, 0, 2]) kit.write(pen, number(tick), left - 8, y(tick), { align: "right", size: 12 });
    kit.write(pen, name, left, top + 12, { color: kit.shade(INKS[i], 0.8), size: 14 });
    if (!samples.length) { kit.write(pen, "函数还没有写，或在这里报错", left + 90, zero); return; }
    const { mean, rms } = level(i);
    kit.line(pen, [left, y(mean)], [right, y(mean)], colors.ink, 1.2, [5, 4]);
    kit.write(pen, `均值 ${number(mean, 3)}　RMS ${number(rms, 3)}`, right, top + 12, { align: "right" });
    pen.beginPath();
    for (let k = 0; k < shown; k++) {
      const x = left + (right - left) * k / (shown - 1);
      k ? pen.lineTo(x, y(samples[k])) : pen.moveTo(x, y(samples[k]));
    }
    Object.assign(pen, { strokeStyle: INKS[i], lineWidth: 2 });
    pen.stroke();
  });
}

function stop() {
  if (!playing) return;
  const { gain, source } = playing, now = context.currentTime;
  gain.gain.cancelScheduledValues(now);
  gain.gain.setTargetAtTime(0, now, 0.02);
  source.stop(now + 0.15);
  playing = null;
  show();
}

async function play(i) {
  const again = playing?.row === i;
  stop();
  if (again || !wave(i).length) return;
  context ??= new AudioContext();
  await context.resume();
  const buffer = context.createBuffer(1, wave(i).length, data.rate);
  buffer.copyToChannel(Float32Array.from(wave(i)), 0);
  const source = context.createBufferSource(), gain = context.createGain(), now = context.currentTime;
  Object.assign(source, { buffer, loop: true });
  gain.gain.setValueAtTime(0, now);
  gain.gain.linearRampToValueAtTime(0.2, now + 0.05);
  gain.gain.setValueAtTime(0.2, now + 1.3);
  gain.gain.linearRampToValueAtTime(0, now + 1.45);
  source.connect(gain).connect(context.destination);
  source.start(now);
  source.stop(now + 1.5);
  playing = { row: i, gain, source };
  source.onended = () => { if (playing?.source === source) { playing = null; show(); } };
  show();
  say(`正在播放：${NAMES[i]}，偏置 ${number(data.offsets[offset])}。`);
}

function show() {
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(playing?.row === i)));
  picture.redraw();
}

const picture = kit.canvas({ height: w => Math.max(300, Math.min(420, 0.56 * w)), draw });
const row = kit.row("播放");
const buttons = NAMES.map((name, i) => kit.button({ words: `▶ ${name}`, press: () => play(i), where: row }));
if (!window.AudioContext) for (const button of buttons) button.disabled = true;
kit.slider({
  label: "直流偏置", min: 0, max: data.offsets.length - 1, value: offset, text: i => number(data.offsets[i]),
  input(i) { stop(); offset = i; picture.redraw(); tell(); },
});
const say = kit.readout();
function tell() {
  const found = [1, 2].filter(i => level(i)).map(i => `${NAMES[i]} 以后均值 ${number(level(i).mean, 3)}`);
  say(`偏置 ${number(data.offsets[offset])}：${found.join("，")}。`);
}
tell();
show();
kit.note("按钮按下才会出声，约 1.5 秒，再按一次停止。三段用同样的放音增益。");
