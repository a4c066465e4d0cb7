// The page of one or several runs.

const dashes = [[], [6, 4], [2, 3], [9, 3, 2, 3]];

const phases = ['train', 'eval', 'perf'];

// "train/loss" and "eval/loss" belong to the chart "loss", "eval/recall/cat" to "recall": the lines differ in the part of the run
// and in the class. Other names have their own chart; those of three or more parts share one if all but the last are equal: "norms/conv1/weight".
function chart_of(name) {
  const parts = name.split('/');
  if (parts.length > 1 && phases.includes(parts[0])) return {chart: parts[1], kind: [parts[0], ...parts.slice(2)].join(' ')};
  if (parts.length > 2) return {chart: parts.slice(0, -1).join('/'), kind: parts[parts.length - 1]};
  return {chart: name, kind: name};
}

// The order of the charts: the loss, what evaluations measure, then how the training went.
function chart_rank(chart, kinds) {
  const first = ['loss', 'accuracy'].indexOf(chart);
  if (first >= 0) return first;
  if (kinds.some(kind => kind.startsWith('eval'))) return 10;
  const later = ['lr', 'examples_per_second', 'steps_per_second', 'grad_norm'].indexOf(chart);
  return later >= 0 ? 20 + later : 30;
}

function run_labels(runs) {
  const count = {};
  for (const run of runs) count[run.name] = (count[run.name] || 0) + 1;
  const folder = run => run.folder.split('/').filter(Boolean).pop();
  const only_name = Object.keys(count).length === 1;
  return runs.map(run => count[run.name] === 1 ? run.name : only_name ? folder(run) : `${run.name} ${folder(run)}`);
}

function charts_of(runs, labels, view) {
  const charts = new Map();
  runs.forEach((run, index) => {
    for (const series of run.series) {
      const {chart, kind} = chart_of(series.name);
      if (!charts.has(chart)) charts.set(chart, {kinds: [], lines: []});
      const group = charts.get(chart);
      if (!group.kinds.includes(kind)) group.kinds.push(kind);
      const place = group.kinds.indexOf(kind), several = runs.length > 1;
      group.lines.push({run: index, kind, place, label: several ? `${labels[index]} ${kind}` : kind, clock: run.clock, x: series.x, y: series.y.map(Number)});
    }
  });
  // Colours distinguish runs; in a chart of one run, its lines.
  for (const {lines} of charts.values()) {
    const of_runs = lines.some(line => line.run !== lines[0].run) || (runs.length > 1 && lines.length === 1);
    for (const line of lines) Object.assign(line, {colour: colour(of_runs ? line.run : line.place), dash: of_runs ? dashes[line.place % dashes.length] : []});
  }
  return [...charts].sort(([a, one], [b, other]) => chart_rank(a, one.kinds) - chart_rank(b, other.kinds))
      .map(([name, group]) => new Chart(name, group.lines, view));
}

function curve_controls(charts, view) {
  const search = element('input', {type: 'search', placeholder: 'filter', 'aria-label': 'Show only curves with this in their name',
    oninput: event => {
      const wanted = event.target.value.toLowerCase();
      for (const chart of charts) {
        const names = [chart.title, ...chart.lines.map(line => line.kind)].join(' ').toLowerCase();
        chart.root.hidden = !names.includes(wanted);
      }
    }});
  const slider = element('input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: 0, 'aria-label': 'Smoothing',
    oninput: event => view.set({smoothing: Number(event.target.value)})});
  const axis = element('select', {'aria-label': 'Horizontal axis', onchange: event => view.set({axis: event.target.value, zoom: null})},
      ['step', 'epoch', 'time'].map(name => element('option', {value: name}, name)));
  return element('div', {class: 'controls'}, search,
      element('label', {}, 'x-axis', axis),
      element('label', {}, element('input', {type: 'checkbox', onchange: event => view.set({log: event.target.checked})}), 'log scale'),
      element('label', {}, 'smoothing', slider),
      element('button', {class: 'plain', onclick: () => view.set({zoom: null})}, 'reset zoom'),
      element('span', {class: 'quiet'}, 'drag over a curve to zoom'));
}

function legend(labels, view) {
  if (labels.length < 2) return null;
  return element('div', {class: 'legend', role: 'group', 'aria-label': 'Runs that are shown'}, labels.map((label, index) =>
    element('label', {}, element('input', {type: 'checkbox', checked: true, onchange: event => {
      if (event.target.checked) view.hidden.delete(index);
      else view.hidden.add(index);
      view.set({});
    }}), element('span', {class: 'swatch', style: `background:${colour(index)}`}), label)));
}

function curves(runs, labels) {
  const view = new View(), charts = charts_of(runs, labels, view);
  if (!charts.length) return section('Curves', element('p', {class: 'quiet'}, 'Nothing was measured.'));
  queueMicrotask(() => watch_charts(view)); // once they are in the page
  return section('Curves', curve_controls(charts, view), legend(labels, view), element('div', {class: 'grid'}, charts.map(chart => chart.root)));
}

function heading(data) {
  const run = data.runs[0];
  if (data.runs.length > 1) return [element('h1', {}, data.title)];
  return [element('h1', {}, data.title), element('p', {},
      element('span', {class: `status ${run.status}`}, run.status), ' ', run.message ? run.message + ' · ' : '',
      `${counted(run.steps, 'step')} · ${counted(run.epochs, 'epoch')} · ${duration_text(run.seconds)}`,
      element('br'), element('span', {class: 'quiet'}, `${run.folder} · started ${when(run)}`))];
}

function when(run) {
  return run.started ? new Date(run.started * 1000).toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'}) : '';
}

function alerts(runs, labels) {
  const several = runs.length > 1;
  const made = runs.flatMap((run, i) => run.stand_in
      ? [element('div', {class: 'alert', role: 'alert'}, 'Not the real data. ', several ? labels[i] + ': ' : '', run.stand_in)] : []);
  const warnings = runs.flatMap((run, i) => run.warnings.filter(text => !run.stand_in || !run.stand_in.includes(text))
      .map(text => element('div', {class: 'warning'}, several ? labels[i] + ': ' : '', text)));
  if (warnings.length <= 3) return [...made, ...warnings];
  return [...made, element('details', {}, element('summary', {}, `${warnings.length} warnings`), warnings)];
}

function results(runs, labels) {
  const names = [...new Set(runs.flatMap(run => Object.keys(run.last)))].filter(name => name.split('/').length < 3);
  return section('Results', runs.length > 1 ? results_of_many(runs, labels, names) : results_of_one(runs[0], names));
}

// Status, steps and duration are in the heading.
function results_of_one({best, best_values, last}, names) {
  const metrics = best && !names.includes(best.metric) ? [best.metric, ...names] : names;
  if (!metrics.length) return element('p', {class: 'quiet'}, 'Nothing was evaluated.');
  const bests = best ? {...best_values, [best.metric]: [best.value, best.step]} : best_values;
  const any_best = metrics.some(metric => bests[metric]);
  const of_best = metric => !any_best ? [] : bests[metric] ? [Number(bests[metric][0]), bests[metric][1]] : ['', ''];
  return table(['metric', 'last', ...(any_best ? ['best', 'at step'] : [])], metrics.map(metric => ({cells: [
    metric, last[metric] === undefined ? '' : Number(last[metric]), ...of_best(metric)]})));
}

function results_of_many(runs, labels, names) {
  const any_best = runs.some(run => run.best);
  const rows = runs.map((run, i) => ({cells: [
    labels[i], element('span', {class: `status ${run.status}`, title: run.message}, run.status), run.steps,
    {value: run.seconds, text: duration_text(run.seconds)}, {value: run.started, text: when(run)},
    ...(any_best ? [run.best ? run.best.metric : '', run.best ? Number(run.best.value) : '', run.best ? run.best.step : ''] : []),
    ...names.map(name => run.last[name] === undefined ? '' : Number(run.last[name]))]}));
  const best = any_best ? ['best metric', 'best value', 'at step'] : [];
  return table(['run', 'status', 'steps', 'duration', 'started', ...best, ...names], rows, {sortable: true});
}

function where_time_went(runs, labels) {
  const timed = runs.map((run, i) => ({run, label: labels[i]})).filter(({run}) => run.time && Object.values(run.time).some(value => value > 0));
  if (!timed.length) return null;
  const kinds = [...new Set(timed.flatMap(({run}) => Object.keys(run.time).filter(kind => run.time[kind] > 0)))];
  const total = run => Object.values(run.time).reduce((sum, value) => sum + value, 0);
  const bar = run => element('div', {class: 'bar', 'aria-hidden': 'true'}, kinds.map((kind, k) => element('span',
      {style: `width:${100 * (run.time[kind] || 0) / total(run)}%;background:${colour(k)}`, title: kind})));
  const key = k => element('span', {class: 'key'}, element('span', {class: 'swatch', style: `background:${colour(k)}`}), kinds[k]);
  const spent = (run, kind) => ({value: run.time[kind] || 0, text: duration_text(run.time[kind] || 0)});
  const share = (run, kind) => ({value: run.time[kind] || 0, text: percent((run.time[kind] || 0) / total(run))});
  if (runs.length === 1) {
    const {run} = timed[0];
    return section('Where the time went', bar(run), table(['', 'time', 'share'], kinds.map((kind, k) => ({cells: [key(k), spent(run, kind), share(run, kind)]}))));
  }
  const rows = timed.map(({run, label}) => ({cells: [label, ...kinds.map(kind => ({value: run.time[kind] || 0,
    text: `${duration_text(run.time[kind] || 0)} (${percent((run.time[kind] || 0) / total(run))})`}))]}));
  return section('Where the time went', element('div', {class: 'share'}, timed.slice(0, 12).map(({run, label}) => [
    element('span', {}, label), bar(run), element('span', {class: 'number'}, duration_text(total(run)))])),
      element('div', {class: 'keys'}, kinds.map((kind, k) => key(k))), table(['run', ...kinds], rows));
}

function matrix(held) {
  const largest = held.counts.map(row => row.reduce((sum, count) => sum + count, 0) || 1);
  return element('div', {class: 'scroll', tabindex: 0}, element('table', {class: 'matrix'},
      element('caption', {class: 'quiet'}, 'rows: true class; columns: predicted class'),
      element('thead', {}, element('tr', {}, element('td'), held.names.map(name => element('th', {scope: 'col'}, name)))),
      element('tbody', {}, held.counts.map((row, i) => element('tr', {}, element('th', {scope: 'row'}, held.names[i]),
          row.map((count, j) => element('td', {class: [i === j ? 'right' : '', count ? '' : 'none'].join(' '), style: `background:rgba(var(--heat), ${(0.85 * count / largest[i]).toFixed(3)})`,
            title: `${held.names[i]} taken for ${held.names[j]}: ${count} of ${largest[i]}`}, number_text(count))))))));
}

function predictions(held) {
  return element('div', {class: 'samples'}, held.samples.map(sample => element('figure', {class: sample.wrong ? 'wrong' : undefined},
      sample.image ? element('img', {src: sample.image, alt: `an example of ${sample.truth}`}) : null,
      element('figcaption', {}, `true: ${sample.truth}`, element('br'), element('span', {class: 'verdict'}, `predicted: ${sample.prediction}`),
          sample.probability === undefined ? '' : ` (${percent(sample.probability)})`))));
}

function texts(runs, labels) {
  const made = runs.flatMap((run, i) => {
    const title = tag => runs.length > 1 ? `${labels[i]}: ${tag}` : tag;
    const shown = run.predictions ? [element('h3', {}, title('sample predictions')), predictions(run.predictions)] : [];
    for (const {tag, text, matrix: held} of run.texts) {
      if (held) shown.push(element('h3', {}, title(tag)), matrix(held));
      else if (tag !== 'sample_predictions' || !run.predictions) {
        shown.push(element('details', {open: runs.length === 1}, element('summary', {}, title(tag)), element('pre', {tabindex: 0}, text)));
      }
    }
    return shown;
  });
  return made.length ? section('Predictions and notes', made) : null;
}

// The settings of one run, a table for each section of the recipe.
function settings_of_one({settings}) {
  const sections = new Map();
  for (const [key, value] of Object.entries(settings)) {
    const name = key.split('.')[0];
    if (key !== name || value !== '[]') sections.set(name, [...(sections.get(name) || []), {cells: [key, value]}]);
  }
  return section('Configuration', element('div', {class: 'cards'}, [...sections.values()].map(rows => element('div', {class: 'card'}, table([], rows)))));
}

// One row per key, one column per run; rows that differ are marked.
function difference_table(title, runs, labels, part) {
  const keys = [...new Set(runs.flatMap(run => Object.keys(run[part] || {})))];
  if (!keys.length) return null;
  const text = value => value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const rows = keys.map(key => {
    const cells = runs.map(run => text((run[part] || {})[key]));
    return {cells: [key, ...cells], differs: cells.some(cell => cell !== cells[0])};
  });
  const differing = rows.filter(row => row.differs), host = element('div');
  const fill = only => host.replaceChildren(only && !differing.length ? element('p', {class: 'quiet'}, 'No differences.')
      : table(runs.length > 1 ? ['', ...labels] : [], only ? differing : rows));
  fill(runs.length > 1);
  const choice = runs.length > 1 ? element('p', {}, element('label', {}, element('input', {type: 'checkbox', checked: true,
    onchange: event => fill(event.target.checked)}), ` only what differs (${differing.length} of ${rows.length})`)) : null;
  return section(title, choice, host);
}

function show_report(data) {
  const {runs} = data, labels = run_labels(runs);
  document.getElementById('page').replaceChildren(...[
    ...heading(data), ...alerts(runs, labels), data.sweep ? sweep_sections(data) : results(runs, labels), curves(runs, labels),
    where_time_went(runs, labels), texts(runs, labels),
    runs.length > 1 ? difference_table('Configuration', runs, labels, 'settings') : settings_of_one(runs[0]),
    difference_table('Environment', runs, labels, 'versions'), difference_table('Files', runs, labels, 'files'),
    element('p', {class: 'quiet'}, `Written by runner ${data.version}.`)].flat().filter(Boolean));
}
