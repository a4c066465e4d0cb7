// What a sweep found: which settings were tried, which matter, which did best.

function sweep_sections(data) {
  const {sweep} = data, done = sweep.trials.filter(trial => trial.value !== null);
  const best = sweep.trials.find(trial => trial.number === sweep.best);
  const keys = sweep.parameters;
  const parts = [];
  if (best) {
    parts.push(section('Best trial', element('p', {}, `Trial ${best.number}: ${sweep.metric} ${number_text(best.value)}`),
        element('pre', {tabindex: 0}, keys.map(key => `${key}=${best.settings[key]}`).join('\n'))));
  }
  const failed = sweep.trials.filter(trial => trial.outcome === 'failed');
  if (failed.length) {
    parts.push(section('Failed trials', failed.map(trial => element('div', {class: 'warning'}, `Trial ${trial.number}: ${trial.message}`))));
  }
  if (done.length > 1) parts.push(section('Parallel coordinates', element('p', {class: 'quiet'},
      `One line per trial; the stronger a line, the better its ${sweep.metric}. The best is red.`), parallel_coordinates(sweep, done)));
  if (sweep.importance.length) {
    const known = sweep.importance.filter(([, share]) => share !== null), unknown = sweep.importance.filter(([, share]) => share === null);
    parts.push(section('Importance', element('p', {class: 'quiet'}, 'How much of the variation of the result each setting explains on its own.'),
        known.length ? share_bars(known, value => percent(value), 1) : null,
        unknown.length ? element('p', {class: 'quiet'}, `Too few trials to tell: ${unknown.map(([key]) => key).join(', ')}.`) : null));
  }
  parts.push(section('Trials', table(['trial', 'outcome', sweep.metric, ...keys, 'steps', 'duration'], best_first(sweep).map(trial => ({
    differs: trial === best, cells: [
      trial.number, element('span', {class: `status ${trial.outcome}`, title: trial.message}, trial.outcome), trial.value === null ? '' : trial.value,
      ...keys.map(key => as_number(trial.settings[key])), trial.steps, {value: trial.seconds, text: duration_text(trial.seconds)}]})), {sortable: true})));
  return parts;
}

function best_first(sweep) {
  const rank = trial => trial.value === null || trial.outcome === 'failed' ? Infinity : sweep.highest ? -trial.value : trial.value;
  return [...sweep.trials].sort((a, b) => rank(a) === rank(b) ? a.number - b.number : rank(a) - rank(b));
}

function as_number(text) {
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

// The axis of one setting: words in alphabetical order, numbers on a linear scale, or a logarithmic one if they span decades.
function axis_of(values) {
  const numbers = values.map(as_number);
  if (numbers.some(value => typeof value !== 'number')) {
    const words = [...new Set(values)].sort();
    return {place: value => words.length < 2 ? 0.5 : words.indexOf(value) / (words.length - 1), ends: words.length < 6 ? words : [words[0], words[words.length - 1]]};
  }
  const low = Math.min(...numbers), high = Math.max(...numbers), log = low > 0 && high / low > 30;
  const scaled = value => log ? Math.log(value) : value;
  const span = scaled(high) - scaled(low);
  return {log, place: value => span === 0 ? 0.5 : (scaled(Number(value)) - scaled(low)) / span,
    ends: span === 0 ? [number_text(low)] : [number_text(low, 3), number_text(high, 3)]};
}

function parallel_coordinates(sweep, trials) {
  const space = 'http://www.w3.org/2000/svg', width = 960, height = 340, top = 40, bottom = 300;
  const draw = (name, attributes, text) => {
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const columns = [...sweep.parameters.map(key => ({name: key, of: trial => trial.settings[key]})), {name: sweep.metric, of: trial => trial.value}];
  const axes = columns.map(column => axis_of(trials.map(column.of)));
  const x = i => 70 + i * (width - 140) / Math.max(1, columns.length - 1), y = share => bottom - share * (bottom - top);
  const ranked = [...trials].sort((a, b) => sweep.highest ? a.value - b.value : b.value - a.value);
  const picture = draw('svg', {viewBox: `0 0 ${width} ${height}`, class: 'parallel', role: 'img', 'aria-label': 'Parallel coordinates of all trials'});
  ranked.forEach((trial, rank) => {
    const points = columns.map((column, i) => `${x(i)},${y(axes[i].place(column.of(trial)))}`).join(' ');
    const share = ranked.length < 2 ? 1 : rank / (ranked.length - 1), is_best = trial.number === sweep.best;
    const line = draw('polyline', {points, fill: 'none', stroke: is_best ? '#e4572e' : 'var(--accent)', 'stroke-width': is_best ? 3 : 1.5, 'stroke-opacity': is_best ? 1 : 0.12 + 0.6 * share});
    line.append(draw('title', {}, `trial ${trial.number}: ${number_text(trial.value)}`));
    picture.append(line);
  });
  columns.forEach((column, i) => {
    const anchor = i === 0 ? 'start' : i === columns.length - 1 ? 'end' : 'middle';
    const label = (text, at, weight = 400) => picture.append(draw('text',
        {x: x(i), y: at, 'text-anchor': anchor, fill: 'currentColor', 'font-size': 13, 'font-weight': weight}, text));
    picture.append(draw('line', {x1: x(i), x2: x(i), y1: top, y2: bottom, stroke: 'var(--quiet)'}));
    label(column.name + (axes[i].log ? ' (log)' : ''), 16, 600);
    axes[i].ends.forEach((end, k, all) => label(end, y(all.length < 2 ? 0.5 : k / (all.length - 1)) + (k === 0 ? 18 : -4)));
  });
  return element('div', {class: 'scroll', tabindex: 0}, picture);
}
