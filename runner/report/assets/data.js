// The page about a dataset, before training: problems first.

function show_data(data) {
  const list = (texts, kind) => texts.map(text => element('div', {class: kind}, text));
  const parts = [element('h1', {}, data.title), element('p', {class: 'quiet'}, data.recipe)];
  if (data.stand_in) parts.push(element('div', {class: 'alert', role: 'alert'}, 'Not the real data. ', data.stand_in));
  parts.push(section('Problems', data.problems.length ? list(data.problems, 'warning') : element('p', {}, 'None found.'),
      data.notes.map(text => element('p', {class: 'quiet'}, text))));
  parts.push(section('Parts', table(['part', ...data.parts.map(part => part.name)], part_rows(data.parts))));
  if (data.classes.length) parts.push(class_balance(data));
  if (data.samples.length) {
    parts.push(section('What the model sees', element('p', {class: 'quiet'}, 'Training examples after the transforms, as they come in the first epoch.'),
        element('div', {class: 'samples'}, data.samples.map(sample => element('figure', {}, element('img', {src: sample.image, alt: sample.label}),
            element('figcaption', {}, sample.label))))));
  }
  if (data.texts.length) {
    parts.push(section('What the model sees', data.texts.map(({text, label}) => [label ? element('h3', {}, label) : null, element('pre', {tabindex: 0}, text)])));
  }
  if (data.lengths) {
    parts.push(section('Lengths', element('p', {}, `From ${data.lengths.least} to ${data.lengths.most} tokens, median ${data.lengths.median}.`),
        share_bars(data.lengths.buckets, value => number_text(value))));
  }
  if (data.columns.length) {
    parts.push(section('Columns', table(['column', 'mean', 'deviation', 'least', 'most', 'distinct', 'gaps', 'eval mean'], data.columns.map(column =>
      ({cells: [column.name, column.mean, column.deviation, column.least, column.most, column.distinct,
        {value: column.gaps, text: column.gaps ? percent(column.gaps) : ''}, column.eval_mean ?? '']})), {sortable: true})));
  }
  if (data.duplicates.length) {
    parts.push(section('Examples in both parts', table(['training example', 'evaluation example', 'label'], data.duplicates.map(cells => ({cells})))));
  }
  if (data.broken.length) parts.push(section('Broken examples', list(data.broken, 'warning')));
  document.getElementById('page').replaceChildren(...parts, element('p', {class: 'quiet'}, `Written by runner ${data.version}.`));
}

function part_rows(parts) {
  const row = (name, of) => ({cells: [name, ...parts.map(of)]});
  return [row('examples', part => part.examples), row('examined', part => part.examined), row('input', part => part.input),
    row('target', part => part.target), row('mean of the input', part => part.mean ?? ''), row('deviation', part => part.deviation ?? '')];
}

function class_balance(data) {
  const total = part => data.classes.reduce((sum, row) => sum + (row[part] || 0), 0) || 1;
  const rows = data.classes.map(row => ({cells: [row.name, ...data.parts.flatMap(({name}) => [row[name] || 0, {value: (row[name] || 0) / total(name), text: percent((row[name] || 0) / total(name))}])]}));
  const few = data.classes.length <= 30;
  return section('Classes', few ? share_bars(data.classes.map(row => [row.name, row.train || 0]), value => number_text(value)) : null,
      element('details', {open: !few}, element('summary', {}, 'as a table'), table(['class', ...data.parts.flatMap(({name}) => [name, 'share'])], rows, {sortable: true})));
}
