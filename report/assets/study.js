// What a study found: its verdict, its curves over each other, its measures against x, and its table.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const colours = ["#2f7ed8", "#d9534f", "#3a9d5d", "#b07aa1", "#c98a1b", "#17a2b8", "#8c6d5a", "#7f7f7f", "#5c6bc0", "#c2185b"];
  const colour = (index) => colours[index % colours.length];
  const graphs = [];

  // Draws lines [{name, points: [[x, [least, mean, most]], …]}] into one chart with a band from the least to the most.
  function chart(title, x_label, lines) {
    const rows = new Map();
    lines.forEach((line, column) => line.points.forEach(([x, values]) => {
      if (!rows.has(x)) rows.set(x, new Array(lines.length).fill(null));
      rows.get(x)[column] = values;
    }));
    if (rows.size === 0) return;
    const place = element("div", {className: "chart"}), reading = element("div", {className: "reading quiet"});
    const legend = element("div", {className: "legend"}, ...lines.map((line, index) => {
      const swatch = element("span", {className: "swatch"});
      swatch.style.background = colour(index);
      return element("label", {}, swatch, line.name);
    }));
    document.body.append(element("section", {}, element("h2", {}, title), place, legend, reading));
    graphs.push(new Dygraph(place, [...rows].sort((a, b) => a[0] - b[0]).map(([x, values]) => [x, ...values]), {
      labels: ["x", ...lines.map((line, index) => line.name + " ".repeat(index))], colors: lines.map((_, index) => colour(index)),
      customBars: true, connectSeparatedPoints: true, drawPoints: rows.size < 40, pointSize: 2.5, strokeWidth: 1.8, fillAlpha: .15,
      legend: "never", xlabel: x_label, gridLineColor: "rgba(128,128,128,.25)", axisLineColor: "rgba(128,128,128,.6)",
      axisLabelFontSize: 12, axes: {y: {axisLabelWidth: 64, axisLabelFormatter: number}, x: {axisLabelFormatter: number}},
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
      element("ul", {}, ...data.checks.map((check) => element("li", {}, (check.holds ? "✓ " : "✗ ") + check.text)))];
  }

  const cell = (values, digits) => {
    if (values.mean === null) return "–";
    const spread = (values.most - values.least) / 2;
    return values.mean.toFixed(digits) + (spread > 0 ? " ± " + spread.toFixed(digits) : "");
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
  const on_lines = data.variants.filter((variant) => variant.x !== null);
  for (const measure of on_lines.length > 0 ? data.measures : []) {
    const names = [...new Set(on_lines.map((variant) => variant.line))];
    chart(measure.name, data.x_label, names.map((name) => ({name: name || measure.name,
      points: on_lines.filter((variant) => variant.line === name).map((variant) => [variant.x, variant.values[measure.name]])
        .filter(([, values]) => values.mean !== null).map(([x, values]) => [x, [values.least, values.mean, values.most]])})));
  }
  chart("Validation loss, nats", "optimizer steps", data.variants.map((variant) => ({name: variant.name,
    points: variant.curve.step.map((step, i) => [step, [variant.curve.least[i], variant.curve.mean[i], variant.curve.most[i]]])
      .filter(([, values]) => values[1] !== null)})));
  document.body.append(options());
  addEventListener("resize", () => graphs.forEach((graph) => graph.resize()));
})();
