// A worked example: its parts, one below another.
"use strict";
(() => {
  const {data, element, number, heatMap} = tapeformer;
  const colours = ["#2f7ed8", "#d9534f", "#3a9d5d", "#b07aa1", "#c98a1b", "#17a2b8"];
  const kMostColumns = 16;  // of a matrix that is shown as numbers

  // A number with four digits; very small ones as "5.391e-6".
  const digits = (value) => typeof value !== "number" ? String(value ?? "–")
    : value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(3) : number(value);
  const cell = (value) => Number.isInteger(value) ? value.toLocaleString("en") : digits(value);

  const named = (part, ...children) => element("div", {className: "values tensor"},
    element("div", {className: "name"}, part.name, element("span", {className: "shape"}, part.shape.length ? `  (${part.shape.join(", ")})` : "")),
    ...children);

  // The numbers of a tensor of at most two axes; a matrix with many columns is cut.
  function numbers(part) {
    if (part.shape.length === 0) return element("div", {}, digits(part.values));
    const rows = part.shape.length === 1 ? [part.values] : part.values;
    const columns = rows[0].length, shown = Math.min(columns, kMostColumns);
    const rest = columns > shown ? ["…"] : [];
    const heads = part.columns ? [part.rows ? "" : null, ...part.columns.slice(0, shown), ...rest].filter((head) => head !== null) : null;
    const body = rows.map((row, i) => [...(part.rows ? [part.rows[i]] : []), ...row.slice(0, shown).map(digits), ...rest]);
    if (heads) return tapeformer.table([heads, ...body]);
    return element("div", {className: "wide"}, element("table", {},
      ...body.map((row) => element("tr", {}, ...row.map((text, i) => element(part.rows && i === 0 ? "th" : "td", {}, text))))));
  }

  // Squares whose strongest colour is that of the largest absolute value.
  function squares(part) {
    const most = part.values.flat().reduce((so_far, value) => Math.max(so_far, Math.abs(value)), 1e-12);
    const reading = element("p", {className: "reading quiet"}, "Point at a square.");
    const name = (names, i) => names ? `${names[i]} (${i})` : i;
    return [heatMap(part.shape[0], part.shape[1], most, (i, j) => part.values[i][j], (i, j) => {
      reading.textContent = `${name(part.rows, i)}, ${name(part.columns, j)}: ${digits(part.values[i][j])}`;
    }, part.rows, Math.min(560, 28 * Math.max(...part.shape))), reading];
  }

  function curves(part) {
    const names = Object.keys(part.curves), place = element("div", {className: "chart"});
    const reading = element("div", {className: "reading quiet"}, part.x_name);
    const legend = tapeformer.legend(names.map((name, i) => [name, colours[i % colours.length]]));
    document.body.append(element("div", {className: "values curves"}, element("div", {className: "name"}, part.name),
      legend, place, reading));
    const graph = new Dygraph(place, part.x.map((x, i) => [x, ...names.map((name) => part.curves[name][i])]), {
      labels: ["x", ...names], colors: colours, ...tapeformer.chart_style, strokeWidth: 1.5,
      axes: {y: {axisLabelWidth: 64, ticker: tapeformer.ticker()}, x: {axisLabelWidth: 68, ticker: tapeformer.ticker()}}, animatedZooms: false,
      highlightCallback: (event, x, points) => {
        reading.textContent = `${part.x_name} ${number(x)}` + points.map((point) => `  ·  ${point.name} ${digits(point.yval)}`).join("");
      },
    });
    addEventListener("resize", () => graph.resize());
  }

  // The nodes below a parent, as lists in lists.
  function branches(part, parent) {
    const below = part.nodes.map((node, i) => [node, i]).filter(([node]) => node.parent === parent);
    if (below.length === 0) return [];
    return [element("ul", {className: "tree"}, ...below.map(([node, i]) => element("li", {className: node.note},
      element("strong", {}, node.text), ...Object.entries(node.numbers).map(([name, value]) => ` ${name} ${digits(value)}`),
      ` ${node.note}`, ...branches(part, i))))];
  }

  const show = {
    heading: (part) => [element("h2", {}, part.text)],
    paragraph: (part) => [element("p", {}, part.text)],
    formula: (part) => [element("p", {className: "formula"}, part.text)],
    values: (part) => [named(part, ...(part.shape.length === 2 && part.shape[1] > kMostColumns && part.heat_map ? [] : [numbers(part)]),
      ...(part.heat_map ? squares(part) : []))],
    table: (part) => [element("div", {className: "values"}, element("div", {className: "name"}, part.name),
      tapeformer.table([part.columns, ...part.rows.map((row) => row.map(cell))]))],
    curves: (part) => { curves(part); return []; },
    tree: (part) => [element("div", {className: "values wide"}, element("div", {className: "name"}, part.name), ...branches(part, -1))],
  };
  document.body.append(element("h1", {}, data.title));
  for (const part of data.parts) document.body.append(...show[part.kind](part));
})();
