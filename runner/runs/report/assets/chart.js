// Curves on a canvas: hover, zoom, logarithmic scale, smoothing.

// What all charts of a page have in common; `changed` redraws them.
class View {
  constructor() {
    Object.assign(this, {axis: 'step', log: false, smoothing: 0, zoom: null, hidden: new Set(), charts: []});
  }
  set(changes) {
    Object.assign(this, changes);
    for (const chart of this.charts) chart.draw();
  }
}

// The place of a step on another axis: the run's clock has some steps, the others are interpolated.
function at_clock(clock, axis, step) {
  const steps = clock.step, values = clock[axis];
  let high = steps.findIndex(other => other >= step);
  if (high < 0) high = steps.length - 1;
  if (high <= 0 || steps[high] === step) return values[Math.max(high, 0)];
  const share = (step - steps[high - 1]) / (steps[high] - steps[high - 1]);
  return values[high - 1] + share * (values[high] - values[high - 1]);
}

// Whole multiples of a round step, and that step.
function round_ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= raw);
  const values = [], first = Math.ceil(low / step - 1e-9);
  // Counted, because in a tiny part of a large axis, first + 1 may be rounded to first.
  for (let i = 0; i <= count + 1 && (first + i) * step <= high + 1e-9 * step; ++i) values.push(Number(((first + i) * step).toPrecision(12)));
  return {values, step};
}

function log_ticks(low, high) {
  const powers = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) powers.push(10 ** power);
  const inside = powers.filter(tick => tick >= low && tick <= high);
  if (inside.length >= 2) return {values: inside.filter((_, i) => i % Math.ceil(inside.length / 6) === 0), step: null};
  const {values, step} = round_ticks(low, high, 4);
  return {values: values.filter(tick => tick > 0), step};
}

// 20k, 1.5M, 0.002, 5e-8: short, and with as many digits as it takes to distinguish neighbours.
function tick_texts({values, step}) {
  const power = value => Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  const [from, unit, factor] = [[1e15, '', 0], [1e12, 'T', 1e12], [1e9, 'G', 1e9], [1e6, 'M', 1e6], [1e4, 'k', 1e3], [1e-3, '', 1]]
      .find(([least]) => values.some(value => Math.abs(value) >= least)) || [0, '', 0];
  return values.map(value => {
    if (value === 0) return '0';
    const digits = step ? Math.min(Math.max(power(value) - power(step) + 1, 1), 12) : 3;
    if (!factor || (!step && Math.abs(value) < 1e-3)) return Number(value.toPrecision(digits)).toExponential().replace('e+', 'e');
    return !step && Math.abs(value) < from ? String(value) : Number((value / factor).toPrecision(digits)) + unit;
  });
}

// Exponential moving average, corrected so that the beginning is not drawn towards zero.
function smoothed(values, weight) {
  let mean = 0, total = 0;
  return values.map(value => {
    if (!Number.isFinite(value)) return value;
    mean = mean * weight + value;
    total = total * weight + 1;
    return mean / total;
  });
}

const tick_font = '11px system-ui, sans-serif';
const least_drag = 6; // pixels; less is a click

class Chart {
  // A line: {run, label, colour, dash, clock, x, y}
  constructor(title, lines, view) {
    Object.assign(this, {title, lines, view, cursor: null, drag: null, seen: false});
    this.canvas = element('canvas', {tabindex: 0, role: 'img', 'aria-label': this.description()});
    this.tip = element('div', {class: 'tip', role: 'status', hidden: true});
    const keys = lines.length > 1 || lines[0].label !== title
        ? element('div', {class: 'keys'}, this.keys().map(([label, fill]) =>
              element('span', {}, element('span', {class: 'swatch', style: `background:${fill}`}), label)))
        : null;
    this.note = element('span', {class: 'quiet'});
    this.root = element('div', {class: 'chart', 'data-chart': title}, element('h3', {}, title, this.note), this.canvas, keys, this.tip);
    this.listen();
    view.charts.push(this);
  }

  // If several runs are overlaid, the page's legend names them; these keys only name the kinds of lines.
  keys() {
    const of_runs = new Set(this.lines.map(line => line.run)).size > 1;
    const kinds = new Map(this.lines.map(line => [line.kind, of_runs ? 'currentColor' : line.colour]));
    return of_runs && kinds.size < 2 ? [] : [...kinds].map(([kind, fill], i) => [kind + (of_runs && i > 0 ? ' (dashed)' : ''), fill]);
  }

  description() {
    const ends = this.lines.slice(0, 8).map(line => `${line.label}: from ${number_text(line.y[0])} to ${number_text(line.y[line.y.length - 1])}`);
    return `Curve of ${this.title}. ${ends.join('; ')}. Arrow keys read values.`;
  }

  listen() {
    const canvas = this.canvas, place = event => event.clientX - canvas.getBoundingClientRect().left;
    canvas.addEventListener('pointermove', event => {
      this.dragged_to = place(event);
      this.hover(place(event), event.clientY - canvas.getBoundingClientRect().top);
    });
    canvas.addEventListener('pointerleave', () => { this.drag = null; this.leave(); });
    canvas.addEventListener('pointerdown', event => { this.drag = this.dragged_to = place(event); });
    canvas.addEventListener('pointerup', event => {
      const from = this.drag, to = place(event);
      this.drag = null;
      if (from !== null && Math.abs(to - from) > least_drag) this.view.set({zoom: [this.value_at(Math.min(from, to)), this.value_at(Math.max(from, to))]});
    });
    canvas.addEventListener('dblclick', () => this.view.set({zoom: null}));
    canvas.addEventListener('keydown', event => {
      if (event.key === 'Escape') return this.view.set({zoom: null});
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      event.preventDefault();
      this.step_cursor(event.key === 'ArrowRight' ? 1 : -1);
    });
    canvas.addEventListener('blur', () => this.leave());
  }

  shown_lines() { return this.lines.filter(line => !this.view.hidden.has(line.run)); }
  xs(line) {
    const axis = this.view.axis;
    if (axis === 'step') return line.x;
    line.axes ??= {};
    return line.axes[axis] ??= line.x.map(step => at_clock(line.clock, axis, step));
  }

  measure() {
    const lines = this.shown_lines(), finite = [];
    let x0 = Infinity, x1 = -Infinity;
    for (const line of lines) {
      const xs = this.xs(line);
      x0 = Math.min(x0, xs[0]);
      x1 = Math.max(x1, xs[xs.length - 1]);
    }
    if (this.view.zoom) [x0, x1] = this.view.zoom;
    let y0 = Infinity, y1 = -Infinity, positive = Infinity, unseen = 0;
    const take = y => {
      y0 = Math.min(y0, y);
      y1 = Math.max(y1, y);
      if (y > 0) positive = Math.min(positive, y);
      else ++unseen;
    };
    for (const line of lines) {
      const xs = this.xs(line);
      let inside = false;
      line.y.forEach((y, i) => {
        if (!Number.isFinite(y) || xs[i] < x0 || xs[i] > x1) return;
        inside = true;
        take(y);
      });
      if (!inside) this.crossing(line, x0, x1).forEach(take);
    }
    this.log = this.view.log && positive < Infinity;
    if (this.log) y0 = positive;
    this.note.textContent = !this.view.log || !unseen ? '' : this.log ? ` (${number_text(unseen)} not above 0: not shown)` : ' (linear: nothing is above 0)';
    if (!(y1 >= y0)) [y0, y1] = [0, 1];
    const flat = y1 - y0 <= 1e-9 * Math.abs(y1); // what differs is rounding
    const room = Math.abs(y0) / 10 || 1;
    if (flat) [y0, y1] = this.log ? [y0 / 2, y1 * 2] : [y0 - room, y1 + room];
    if (!(x1 > x0)) [x0, x1] = [x0 - 0.5, x0 + 0.5];
    if (!Number.isFinite(x0)) [x0, x1] = [0, 1];
    const box = this.canvas.getBoundingClientRect();
    this.ticks = this.log ? log_ticks(y0, y1) : round_ticks(y0, y1, 6);
    this.labels = tick_texts(this.ticks);
    const pen = this.canvas.getContext('2d');
    pen.font = tick_font;
    const widest = Math.max(26, ...this.labels.map(label => pen.measureText(label).width));
    this.area = {left: Math.ceil(widest) + 10, top: 8, right: box.width - 8, bottom: box.height - 22, x0, x1, y0, y1};
  }

  // The values at both ends of a range without points, if a line passes through it.
  crossing(line, x0, x1) {
    const xs = this.xs(line), next = xs.findIndex(x => x > x1);
    if (next < 1 || xs[next - 1] >= x0) return [];
    const at = x => line.y[next - 1] + (line.y[next] - line.y[next - 1]) * (x - xs[next - 1]) / (xs[next] - xs[next - 1]);
    return [at(x0), at(x1)].filter(Number.isFinite);
  }

  px(x) { const a = this.area; return a.left + (x - a.x0) / (a.x1 - a.x0) * (a.right - a.left); }
  py(y) {
    const a = this.area;
    const share = this.log ? Math.log(y / a.y0) / Math.log(a.y1 / a.y0) : (y - a.y0) / (a.y1 - a.y0);
    return a.bottom - share * (a.bottom - a.top);
  }
  value_at(px) { const a = this.area; return a.x0 + (px - a.left) / (a.right - a.left) * (a.x1 - a.x0); }

  draw() {
    if (!this.seen) return; // not scrolled to yet
    this.measure();
    const box = this.canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    const pen = this.canvas.getContext('2d'), a = this.area;
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    this.axes(pen, style.getPropertyValue('--line'), style.getPropertyValue('--quiet'));
    pen.save();
    pen.beginPath();
    pen.rect(a.left, a.top - 4, a.right - a.left, a.bottom - a.top + 8);
    pen.clip();
    for (const line of this.shown_lines()) this.stroke(pen, line);
    pen.restore();
    if (this.drag !== null && Math.abs(this.dragged_to - this.drag) > least_drag) {
      pen.fillStyle = style.getPropertyValue('--accent');
      pen.globalAlpha = 0.15;
      pen.fillRect(Math.min(this.drag, this.dragged_to), a.top, Math.abs(this.dragged_to - this.drag), a.bottom - a.top);
      pen.globalAlpha = 1;
    }
    if (this.cursor !== null) {
      pen.strokeStyle = style.getPropertyValue('--quiet');
      pen.beginPath();
      pen.moveTo(this.px(this.cursor), a.top);
      pen.lineTo(this.px(this.cursor), a.bottom);
      pen.stroke();
    }
  }

  axes(pen, grid, text) {
    const a = this.area;
    pen.font = tick_font;
    pen.lineWidth = 1;
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    this.ticks.values.forEach((tick, i) => {
      const y = Math.round(this.py(tick)) + 0.5;
      pen.strokeStyle = grid;
      pen.beginPath();
      pen.moveTo(a.left, y);
      pen.lineTo(a.right, y);
      pen.stroke();
      pen.fillStyle = text;
      pen.fillText(this.labels[i], a.left - 6, y);
    });
    pen.textAlign = 'center';
    pen.textBaseline = 'alphabetic';
    const across = round_ticks(a.x0, a.x1, Math.max(2, Math.floor((a.right - a.left) / 60)));
    const labels = this.view.axis === 'time' ? across.values.map(tick => this.axis_text(tick)) : tick_texts(across);
    across.values.forEach((tick, i) => {
      pen.fillText(labels[i], Math.min(this.px(tick), a.right + 6 - pen.measureText(labels[i]).width / 2), a.bottom + 16);
    });
  }

  axis_text(value) { return this.view.axis === 'time' ? duration_text(value).replace(/ 00 (s|min)$/, '') : number_text(value, 6); }

  stroke(pen, line) {
    const raw = line.y, smooth = this.view.smoothing > 0 ? smoothed(raw, this.view.smoothing) : null;
    pen.strokeStyle = pen.fillStyle = line.colour;
    pen.setLineDash(line.dash || []);
    const path = (values, width, alpha) => {
      const xs = this.xs(line);
      pen.lineWidth = width;
      pen.globalAlpha = alpha;
      pen.beginPath();
      let down = false;
      values.forEach((y, i) => {
        const drawable = Number.isFinite(y) && (!this.log || y > 0);
        if (drawable) {
          if (down) pen.lineTo(this.px(xs[i]), this.py(y));
          else pen.moveTo(this.px(xs[i]), this.py(y));
        }
        down = drawable;
      });
      pen.stroke();
      if (values.length > 40) return;
      values.forEach((y, i) => {
        if (Number.isFinite(y) && (!this.log || y > 0)) pen.fillRect(this.px(xs[i]) - 2, this.py(y) - 2, 4, 4);
      });
    };
    path(raw, smooth ? 1 : 1.6, smooth ? 0.3 : 1);
    if (smooth) path(smooth, 1.8, 1);
    pen.globalAlpha = 1;
    this.mark_odd(pen, line);
  }

  // Values that are not finite are marked at the top, so that they do not look like a gap.
  mark_odd(pen, line) {
    const xs = this.xs(line);
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--bad');
    line.y.forEach((y, i) => { if (!Number.isFinite(y)) pen.fillRect(this.px(xs[i]) - 1, this.area.top - 4, 2, 8); });
  }

  // The measured point of a line that is nearest to a place on the axis.
  nearest(line, x) {
    const xs = this.xs(line);
    let low = 0, high = xs.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (xs[middle] < x) low = middle;
      else high = middle;
    }
    return Math.abs(xs[low] - x) <= Math.abs(xs[high] - x) ? low : high;
  }

  hover(px, py) {
    if (!this.area) return;
    const x = this.value_at(px), reach = 24;
    const found = this.shown_lines().map(line => {
      const i = this.nearest(line, x), at = this.xs(line)[i];
      return {line, i, at, away: Math.abs(this.px(at) - px), off: Math.abs(this.py(line.y[i]) - py)};
    });
    const close = Math.min(...found.map(each => each.away));
    const listed = found.filter(each => each.away <= Math.max(close, reach) + 0.5);
    if (!listed.length) return;
    listed.sort((a, b) => (Number.isFinite(a.off) ? a.off : 1e9) - (Number.isFinite(b.off) ? b.off : 1e9));
    this.show(listed);
  }

  step_cursor(direction) {
    const line = this.shown_lines()[0];
    if (!line || !this.area) return;
    const xs = this.xs(line);
    let i = this.cursor === null ? (direction > 0 ? 0 : xs.length - 1) : this.nearest(line, this.cursor) + direction;
    i = Math.max(0, Math.min(xs.length - 1, i));
    this.show(this.shown_lines().map(each => { const at = this.nearest(each, xs[i]); return {line: each, i: at, at: this.xs(each)[at]}; }));
  }

  show(points) {
    const most = 10, first = points[0];
    this.cursor = first.at;
    this.draw();
    const axis = this.view.axis === 'time' ? 'after' : this.view.axis;
    this.tip.replaceChildren(
        element('div', {class: 'quiet'}, `${axis} ${this.axis_text(first.at)}`),
        ...points.slice(0, most).map((point, rank) => element('div',
            {class: rank === 0 && points.length > 1 ? 'nearest' : undefined, 'data-line': point.line.label, 'data-step': point.line.x[point.i],
             'data-value': point.line.y[point.i]},
            element('span', {class: 'swatch', style: `background:${point.line.colour}`}), point.line.label,
            element('b', {}, number_text(point.line.y[point.i], 6)))),
        points.length > most ? element('div', {class: 'quiet'}, `and ${points.length - most} more`) : '');
    this.tip.hidden = false;
    const right = this.px(first.at) > this.canvas.clientWidth / 2;
    this.tip.style.top = '34px';
    this.tip.style.left = right ? '' : `${this.px(first.at) + 22}px`;
    this.tip.style.right = right ? `${this.canvas.clientWidth - this.px(first.at) + 22}px` : '';
  }

  leave() {
    this.cursor = null;
    this.tip.hidden = true;
    this.draw();
  }
}

// Draws charts when they come into view, and again when their size or the colour scheme changes.
function watch_charts(view) {
  const by_canvas = new Map(view.charts.map(chart => [chart.canvas, chart]));
  const sight = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const chart = by_canvas.get(entry.target);
      chart.seen = true;
      chart.draw();
    }
  }, {rootMargin: '300px'});
  for (const canvas of by_canvas.keys()) sight.observe(canvas);
  const all = () => view.set({});
  window.addEventListener('resize', all);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
}
