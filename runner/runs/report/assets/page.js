// What all pages are made of.

function read_data() {
  return JSON.parse(document.getElementById('data').textContent);
}

// element('p', {class: 'quiet'}, 'text', child ..): text is never read as HTML.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (key === 'style') made.style.cssText = value; // the page's security policy allows this
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return made;
}

function section(title, ...children) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, '-');
  return element('section', {'aria-labelledby': id}, element('h2', {id}, title), ...children);
}

function counted(count, noun) {
  return `${number_text(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function number_text(value, digits = 5) {
  const number = Number(value);
  if (value === null || value === undefined || value === '') return '';
  if (!Number.isFinite(number)) return String(value);
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return number.toLocaleString('en-US');
  const size = Math.abs(number);
  if (size >= 1e-4 && size < 1e6) return String(Number(number.toPrecision(digits)));
  return number.toExponential(Math.max(0, digits - 3));
}

function duration_text(seconds) {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 10) return seconds.toFixed(1) + ' s';
  const whole = Math.round(seconds), pad = part => String(part).padStart(2, '0');
  if (whole < 60) return whole + ' s';
  if (whole < 3600) return Math.floor(whole / 60) + ' min ' + pad(whole % 60) + ' s';
  if (whole < 86400) return Math.floor(whole / 3600) + ' h ' + pad(Math.floor(whole % 3600 / 60)) + ' min';
  return Math.floor(whole / 86400) + ' d ' + Math.floor(whole % 86400 / 3600) + ' h';
}

function percent(share) {
  return (100 * share).toFixed(share < 0.1 ? 1 : 0) + ' %';
}

const palette = ['#2f7ed8', '#e4572e', '#2ca05a', '#a55fd0', '#c98a00', '#17a2b8', '#d6478f', '#7a8b1f', '#8c6d5a', '#6c7a9c'];
function colour(index) {
  return index < palette.length ? palette[index] : `hsl(${Math.round(index * 137.508) % 360} 60% 52%)`;
}

// Rows of cells; a cell is a text, a number, an element or {value, text}. A click on a column's name sorts by it.
function table(columns, rows, options = {}) {
  const body = element('tbody');
  const cell = (value, first) => {
    const held = value !== null && typeof value === 'object' && !(value instanceof Node) ? value : {value};
    const numeric = typeof held.value === 'number';
    const shown = held.text !== undefined ? held.text : numeric ? number_text(held.value) : held.value;
    return element(first ? 'th' : 'td', {class: numeric ? 'number' : undefined, scope: first ? 'row' : undefined},
        shown instanceof Node ? shown : String(shown ?? ''));
  };
  const plain = value => value !== null && typeof value === 'object' && !(value instanceof Node) ? value.value : value;
  const fill = () => body.replaceChildren(...rows.map(row =>
    element('tr', {class: row.differs ? 'differs' : undefined}, row.cells.map((value, i) => cell(value, i === 0)))));
  let sorted = -1, up = true;
  const sort = column => {
    up = sorted === column ? !up : true;
    sorted = column;
    const key = row => { const value = plain(row.cells[column]); return value instanceof Node ? value.textContent : value ?? ''; };
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y), 'en', {numeric: true});
      return up ? order : -order;
    });
    fill();
  };
  const numeric = i => rows.some(row => typeof plain(row.cells[i]) === 'number');
  const head = columns.map((name, i) => element('th', {scope: 'col', class: numeric(i) ? 'number' : undefined},
      options.sortable ? element('button', {title: 'Sort by ' + name, onclick: () => sort(i)}, name) : name));
  fill();
  const header = columns.length ? element('thead', {}, element('tr', {}, head)) : null;
  return element('div', {class: 'scroll', tabindex: 0}, element('table', {}, header, body));
}

// Named amounts as bars on one scale; a bar is full at `largest`, by default the largest of the amounts.
function share_bars(entries, text, largest = Math.max(...entries.map(([, value]) => value), 1e-12)) {
  return element('div', {class: 'share'}, entries.flatMap(([name, value], i) => [
    element('span', {}, name),
    element('div', {class: 'bar'}, element('span', {style: `width:${100 * value / largest}%;background:${colour(0)}`})),
    element('span', {class: 'number'}, text(value, i))]));
}
