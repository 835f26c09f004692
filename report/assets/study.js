// What a study found: its verdict, its curves over each other, its measures against x, and its table.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const colours = ["#2f7ed8", "#d9534f", "#3a9d5d", "#b07aa1", "#c98a1b", "#17a2b8", "#8c6d5a", "#7f7f7f", "#5c6bc0", "#c2185b"];
  const colour = (index) => colours[index % colours.length], dashed = (index) => index >= colours.length;
  const graphs = [];

  // The ticks of an axis: numbers at the points, those left out that are too near to the one before.
  const ticks_at = (xs, place) => (least, most, pixels) => {
    const ticks = [];
    let last = -Infinity;
    for (const x of xs) {
      const at = pixels * (place(x) - place(least)) / (place(most) - place(least));
      if (at - last < 48) continue;
      ticks.push({v: x});
      last = at;
    }
    return tapeformer.label_ticks(ticks);
  };

  // How an axis over these numbers looks, with a little room at both ends: logarithmic if `wide` and they grow by
  // factors, and with ticks at the numbers if they are few.
  function x_axis(xs, wide) {
    const least = xs[0], most = xs[xs.length - 1], log = wide && least > 0 && most >= 16 * least;
    const place = log ? Math.log : (x) => x, unplace = log ? Math.exp : (x) => x;
    const room = .01 * (place(most) - place(least));
    const ticker = xs.length <= 12 ? ticks_at(xs, place) : tapeformer.ticker();
    return {axis: {logscale: log, axisLabelWidth: 68, ticker}, dateWindow: [unplace(place(least) - room), unplace(place(most) + room)]};
  }

  // Draws lines [{name, points: [[x, [least, mean, most]], …]}] into one chart with a band from the least to the most.
  // A chart of one x alone would show nothing, and is left out.
  function chart(title, x_label, lines, wide) {
    const rows = new Map();
    lines.forEach((line, column) => line.points.forEach(([x, values]) => {
      if (!rows.has(x)) rows.set(x, new Array(lines.length).fill(null));
      rows.get(x)[column] = values;
    }));
    if (rows.size < 2) return;
    const xs = [...rows.keys()].sort((a, b) => a - b), {axis, dateWindow} = x_axis(xs, wide);
    const place = element("div", {className: "chart"}), reading = element("div", {className: "reading quiet"});
    const legend = tapeformer.legend(lines.map((line, index) => [line.name, colour(index), dashed(index)]));
    document.body.append(element("section", {}, element("h2", {}, title), place, legend, reading));
    const names = lines.map((line, index) => line.name + " ".repeat(index));  // that differ
    graphs.push(new Dygraph(place, xs.map((x) => [x, ...rows.get(x)]), {
      labels: ["x", ...names], dateWindow,
      series: Object.fromEntries(names.map((name, index) => [name, {strokePattern: dashed(index) ? [6, 3] : null}])), colors: lines.map((_, index) => colour(index)),
      customBars: true, connectSeparatedPoints: true, drawPoints: rows.size < 40, pointSize: 2.5, strokeWidth: 1.8, fillAlpha: .15,
      ...tapeformer.chart_style, xlabel: tapeformer.html(x_label), axes: {y: {axisLabelWidth: 64, ticker: tapeformer.ticker()}, x: axis},
      highlightCallback: (event, x, points) => {
        reading.replaceChildren(`${x_label} ${number(x)}`);
        for (const point of points) reading.append(`  ·  ${point.name.trim()} ${number(point.yval)}`);
      },
      unhighlightCallback: () => reading.replaceChildren(),
    }));
  }

  function verdict() {
    const word = data.shown === null ? "" : data.shown ? "Shown. " : "Not shown. ";
    return [element("p", {}, element("b", {}, "Claim: "), data.claim),
      ...(word || data.finding ? [element("p", {}, element("b", {}, word), data.finding)] : []),
      element("ul", {className: "checks"}, ...data.checks.map((check) => element("li", {}, (check.holds ? "✓ " : "✗ ") + check.text)))];
  }

  const cell = (values, digits) => {
    if (values.mean === null) return "–";
    const spread = (values.most - values.least) / 2;
    return values.mean.toFixed(digits) + (spread > 0 ? "\u00a0±\u00a0" + spread.toFixed(digits) : "");
  };
  function table() {
    return tapeformer.table([["variant", ...data.measures.map((measure) => measure.name), "time", ""],
      ...data.variants.map((variant) => [variant.name,
        ...data.measures.map((measure) => cell(variant.values[measure.name], measure.digits)),
        tapeformer.duration(variant.seconds), variant.failures[0] ?? ""])]);
  }

  const words = (options) => options.map((option) => option.startsWith("--") ? "\n" + option : " " + option).join("").trim();
  function options() {
    const all = [["all", words(data.options)], ...data.variants.map((variant) => [variant.name, words(variant.options)])];
    return element("details", {}, element("summary", {}, "Options of tapeformer train"),
      ...all.map(([name, text]) => element("div", {}, element("h2", {}, name), element("pre", {}, text))));
  }

  const seeds = data.seeds.length === 1 ? "one seed" : `mean ± half the range of ${data.seeds.length} seeds`;
  document.body.append(element("h1", {}, data.title), ...verdict(), table(), element("p", {className: "quiet"}, seeds));
  // The points of a line from pairs of x and values, without what was not measured.
  const points = (pairs) => pairs.filter(([, values]) => values.mean !== null)
    .map(([x, values]) => [x, [values.least, values.mean, values.most]]);
  const on_lines = data.variants.filter((variant) => variant.x !== null);
  const [alone, placed] = [data.measures.filter(({line}) => line === undefined), data.measures.filter(({line}) => line !== undefined)];
  for (const measure of on_lines.length > 0 ? alone : []) {
    const names = [...new Set(on_lines.map((variant) => variant.line))];
    chart(measure.name, data.x_label, names.map((name) => ({name: name || measure.name, points: points(
      on_lines.filter((variant) => variant.line === name).map((variant) => [variant.x, variant.values[measure.name]]))})), true);
  }
  for (const line of new Set(placed.map((measure) => measure.line))) {
    chart(line, data.x_label, data.variants.map((variant) => ({name: variant.name, points: points(
      placed.filter((measure) => measure.line === line).map((measure) => [measure.x, variant.values[measure.name]]))})), true);
  }
  chart(["Validation loss", data.units.join("; ")].filter(Boolean).join(", "), "optimizer steps", data.variants.map((variant) => ({name: variant.name,
    points: variant.curve.step.map((step, i) => [step, [variant.curve.least[i], variant.curve.mean[i], variant.curve.most[i]]])
      .filter(([, values]) => values[1] !== null)})));
  document.body.append(options());
  addEventListener("resize", () => graphs.forEach((graph) => graph.resize()));
})();
