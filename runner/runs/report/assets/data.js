// The page about a dataset, before training: problems first.

function show_data(data) {
  const list = (texts, kind) => texts.map(text => element('div', {class: kind}, text));
  const parts = [element('h1', {}, `Data of ${data.run}`), element('p', {class: 'quiet'}, `dataset ${data.title} · ${data.recipe}`)];
  if (data.stand_in) parts.push(element('div', {class: 'alert', role: 'alert'}, 'Not the real data. ', data.stand_in));
  parts.push(section('Problems', data.problems.length ? list(data.problems, 'warning') : element('p', {}, 'None found.'),
      data.notes.map(text => element('p', {class: 'quiet'}, text))));
  parts.push(section('Sets', table(['set', ...data.sets.map(set => set.name)], set_rows(data.sets))));
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
    parts.push(section('Lengths', element('p', {}, `From ${data.lengths.min} to ${data.lengths.max} tokens, median ${data.lengths.median}.`),
        share_bars(data.lengths.buckets, value => number_text(value))));
  }
  if (data.columns.length) {
    parts.push(section('Columns', table(['column', 'mean', 'std', 'min', 'max', 'distinct', 'missing', 'validation mean', 'most frequent'], data.columns.map(column =>
      ({cells: [column.name, column.mean ?? '', column.std ?? '', column.min ?? '', column.max ?? '', column.distinct ?? (column.distinct_at_least ? 'at least ' + column.distinct_at_least : ''),
        {value: column.missing, text: column.missing ? percent(column.missing) : ''}, column.validation_mean ?? '',
        (column.values || []).slice(0, 5).map(([value, count]) => `${value} ${number_text(count)}`).join(', ')]})), {sortable: true})));
  }
  if (data.duplicates.length) {
    const some = data.duplicate_count > data.duplicates.length;
    parts.push(section('Examples in both sets', some ? element('p', {class: 'quiet'}, `The first ${data.duplicates.length} of ${number_text(data.duplicate_count)}.`) : null, table(['training example', 'validation example', 'label'], data.duplicates.map(cells => ({cells})))));
  }
  if (data.broken.length) parts.push(section('Broken examples', list(data.broken, 'warning')));
  document.getElementById('page').replaceChildren(...parts, element('p', {class: 'quiet'}, `Written by runner ${data.version}.`));
}

function set_rows(sets) {
  const row = (name, of) => ({cells: [name, ...sets.map(of)]});
  return [row('examples', set => set.examples), row('examined', set => set.examined), row('input', set => set.input),
    row('target', set => set.target), row('input mean', set => set.mean ?? ''), row('input std', set => set.std ?? '')];
}

function class_balance(data) {
  const total = set => data.classes.reduce((sum, row) => sum + (row[set] || 0), 0) || 1;
  const rows = data.classes.map(row => ({cells: [row.name, ...data.sets.flatMap(({name}) => [row[name] || 0, {value: (row[name] || 0) / total(name), text: percent((row[name] || 0) / total(name))}])]}));
  const few = data.classes.length <= 30;
  return section('Classes', few ? share_bars(data.classes.map(row => [row.name, row.training || 0]), value => number_text(value)) : null,
      element('details', {open: !few}, element('summary', {}, 'as a table'), table(['class', ...data.sets.flatMap(({name}) => [name, 'share'])], rows, {sortable: true})));
}
