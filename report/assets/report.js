// The curves of runs. Every chart has the same x axis: a drag zooms all of them, a double click shows all again.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const colours = ["#2f7ed8", "#d9534f", "#3a9d5d", "#b07aa1", "#c98a1b", "#17a2b8", "#8c6d5a", "#7f7f7f"];
  const colour = (run) => colours[run % colours.length];
  // Dashes for the runs that have a colour again.
  const dashes = (run) => run < colours.length ? null : [6, 2 + 2 * Math.floor(run / colours.length)];
  const axes = {
    steps: {key: "step", label: "optimizer steps"},
    tokens: {key: "tokens", label: "tokens read"},
    time: {key: "elapsed_s", label: "seconds of training"},
  };
  const state = {axis: "steps", log: false, smoothing: 1, hidden: new Set(), hidden_layers: new Set(), zoom: null};

  // A chart shows for each run a column of "train" or "eval": the first of these keys that the run has.
  const series = (title, parts, small = true) => ({title, parts, small});
  const train = (...keys) => ({from: "train", keys, label: "training"});
  const evaluation = (...keys) => ({from: "eval", keys, label: "validation"});
  const units = [...new Set(data.runs.map((run) => run.unit).filter(Boolean))];
  const charts = [
    series(["Loss", units.join("; ")].filter(Boolean).join(", "), [train("unsmoothed_loss", "loss"), evaluation("eval_loss")], false),
    series("Learning rate", [train("lr")]),
    series("Norm of the gradient", [train("grad_norm")]),
    series("Tokens a second", [train("tokens_per_s")]),
  ];
  // A chart for the training loss of each of several tasks.
  for (const key of new Set(data.runs.flatMap((run) => Object.keys(run.train)))) {
    if (key.startsWith("loss of ")) charts.push(series("Training: " + key, [train(key)]));
  }
  // A chart for every other metric of the evaluations.
  const measured = new Set(data.runs.flatMap((run) => Object.keys(run.eval)));
  for (const key of measured) {
    if (!key.startsWith("eval_") || key === "eval_loss" || key === "eval_tokens") continue;
    charts.push(series("Validation: " + key.slice(5).replaceAll("_", " "), [evaluation(key)]));
  }

  // A line for each layer, in a colour of its own; the layers of a second run are dashed.
  const layers = [...new Set(data.runs.flatMap((run) => Object.keys(run.watch)).filter((key) => key.startsWith("grad "))
    .map((key) => key.slice(5)))];
  const layer_colour = (index) => layers.length <= colours.length ? colours[index] : `hsl(${index * 300 / layers.length}, 65%, 45%)`;
  const watched = (kind) => layers.filter((layer) => data.runs.some((run) => kind + " " + layer in run.watch))
    .map((layer) => ({from: "watch", keys: [kind + " " + layer], label: layer, colour: layer_colour(layers.indexOf(layer))}));
  for (const [kind, title] of [["grad", "Norm of each layer's gradient"], ["weight", "Norm of each layer's weights"],
    ["activation", "Root mean square of each layer's output"]]) {
    const parts = watched(kind);
    if (parts.length > 0) charts.push({...series(title, parts), layers: true});
  }

  // Replaces each value by the mean of itself and up to width − 1 values before it.
  function smoothed(values, width) {
    if (width <= 1) return values;
    return values.map((value, i) => {
      if (value === null) return null;
      const near = values.slice(Math.max(0, i - width + 1), i + 1).filter((v) => v !== null);
      return near.reduce((a, b) => a + b, 0) / near.length;
    });
  }

  // Returns the rows [x, series…] that dygraphs reads, and descriptions of the series.
  function table(chart) {
    const lines = [];
    data.runs.forEach((run, index) => {
      for (const part of chart.parts) {
        const key = part.keys.find((name) => name in run[part.from]);
        const x = run[part.from][axes[state.axis].key];
        if (!key || !x) continue;
        const smooths = part.from === "train" && key.includes("loss");
        const values = smooths ? smoothed(run.train[key], state.smoothing) : run[part.from][key];
        const label = [data.runs.length > 1 ? run.name + " #" + (index + 1) : "", chart.parts.length > 1 ? part.label : ""];
        lines.push({run: index, evaluation: part.from === "eval", layer: chart.layers ? part.label : null, x, values,
          colour: part.colour ?? colour(index),
                    label: label.filter(Boolean).join(", ") || chart.title});
      }
    });
    const rows = new Map();
    lines.forEach((line, column) => line.x.forEach((x, i) => {
      if (x === null || line.values[i] === null) return;
      if (!rows.has(x)) rows.set(x, new Array(lines.length).fill(null));
      rows.get(x)[column] = line.values[i];
    }));
    return {lines, rows: [...rows].sort((a, b) => a[0] - b[0]).map(([x, values]) => [x, ...values])};
  }

  const shown = (line) => !state.hidden.has(line.run) && !state.hidden_layers.has(line.layer);
  function style(line) {
    if (line.evaluation) return {drawPoints: true, pointSize: 2.5, strokeWidth: 2.2, strokePattern: dashes(line.run)};
    if (line.layer === null) return {strokeWidth: 1.1, strokePattern: dashes(line.run)};
    return {strokeWidth: 1.4, drawPoints: line.x.length < 40, pointSize: 2, strokePattern: line.run ? [6, 2 + 2 * line.run] : null};
  }

  // The layers by colour, each with a switch.
  function legend(parts) {
    return element("div", {className: "legend"}, ...parts.map((part) => {
      const toggle = element("input", {type: "checkbox", checked: !state.hidden_layers.has(part.label)});
      toggle.addEventListener("change", () => {
        toggle.checked ? state.hidden_layers.delete(part.label) : state.hidden_layers.add(part.label);
        draw_all();
      });
      return element("label", {}, toggle, tapeformer.swatch(part.colour), part.label);
    }));
  }

  // The x axis of all charts: from the least x of any to the most, with room for the points at both ends.
  function whole() {
    const xs = data.runs.flatMap((run) => [run.train, run.eval, run.watch]).flatMap((lines) => lines[axes[state.axis].key] ?? [])
      .filter((x) => x !== null);
    const [least, most] = xs.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
    const room = .01 * (most - least) || 1;
    return [least - room, most + room];
  }

  const drawn = [];
  function zoom_all(range, source) {
    state.zoom = range;
    for (const graph of drawn) {
      if (graph !== source || range === null) graph.updateOptions({dateWindow: range ?? whole()});
    }
  }

  function draw(chart, into) {
    const {lines, rows} = table(chart);
    if (rows.length === 0) return;
    const place = element("div", {className: chart.small ? "chart small" : "chart"});
    const reading = element("div", {className: "reading quiet"});
    into.append(element("section", {}, element("h2", {}, chart.title), place, reading,
      ...(chart.layers ? [legend(chart.parts)] : [])));
    const show = (x, points) => {
      reading.replaceChildren(`${axes[state.axis].label} ${number(x)}`);
      for (const point of points) reading.append(`  ·  ${point.name} ${number(point.yval)}`);
    };
    const hint = () => reading.replaceChildren(chart.parts.length > 1 && !chart.layers ? "thin: training, with points: validation" : "");
    hint();
    const graph = new Dygraph(place, rows, {
      labels: ["x", ...lines.map((line) => line.label)],
      colors: lines.map((line) => line.colour),
      visibility: lines.map(shown),
      series: Object.fromEntries(lines.map((line) => [line.label, style(line)])),
      ...tapeformer.chart_style, connectSeparatedPoints: true, logscale: state.log && chart.parts[0].keys.some((key) => key.includes("loss")),
      axes: {y: {axisLabelWidth: 64, ticker: tapeformer.ticker()}, x: {axisLabelWidth: 68, ticker: tapeformer.ticker()}},
      dateWindow: state.zoom ?? whole(), xlabel: axes[state.axis].label, animatedZooms: false,
      highlightCallback: (event, x, points) => show(x, points), unhighlightCallback: hint,
      zoomCallback: (from, to) => zoom_all(graph.isZoomed("x") ? [from, to] : null, graph),
    });
    drawn.push(graph);
  }

  const place = element("div");
  function draw_all() {
    for (const graph of drawn.splice(0)) graph.destroy();
    place.replaceChildren();
    for (const chart of charts) draw(chart, place);
  }

  // The keys of a config.toml with their values, without the comments behind them: {"model.dim": "128"}.
  function settings(toml) {
    const values = {};
    let section = "";
    for (const line of toml.split("\n")) {
      const head = /^\[(.+)\]$/.exec(line.trim());
      const entry = /^([\w.]+)\s*=\s*((?:"(?:[^"\\]|\\.)*"|[^"#])*)/.exec(line);
      if (head) section = head[1] + ".";
      else if (entry) values[section + entry[1]] = entry[2].trim();
    }
    return values;
  }

  const last = (values) => (values && values.length ? values[values.length - 1] : null);
  function summary() {
    // Columns that some run has; their values are those of its best evaluation, by the loss or by the metric that chooses
    // its best checkpoint. Evaluations of other validation data than the present one, and of weights that were lost when
    // the run was killed, do not count.
    const metrics = [...new Set(data.runs.map((run) => run.metric))].filter((metric) => metric !== "loss");
    const beside = [...metrics.map((metric) => ["eval_" + metric, metric.replaceAll("_", " ") + ", best"]),
      ["eval_perplexity", "perplexity"], ["eval_bits_per_byte", "bits per byte"]].filter(([key]) => measured.has(key));
    const rows = [["", "run", "steps", "tokens", "time", "training loss, last", "validation loss" + (metrics.length ? "" : ", best"),
      ...beside.map(([, title]) => title), "at step"]];
    data.runs.forEach((run, index) => {
      const values = (run.eval["eval_" + run.metric] || []).map((value, i) => [value, i])
        .filter(([value, i]) => value !== null && run.eval.step[i] > run.terms_since && run.eval.step[i] <= (run.kept_until ?? Infinity));
      const better = (a, b) => (run.smaller_is_better ? a < b : a > b);
      const best = values.length ? values.reduce((a, b) => (better(b[0], a[0]) ? b : a)) : [null, -1];
      const at_best = (key) => number(run.eval[key]?.[best[1]] ?? null);
      const toggle = element("input", {type: "checkbox", checked: true, title: "show the curves of this run"});
      toggle.setAttribute("aria-label", "show " + run.name);
      toggle.addEventListener("change", () => {
        toggle.checked ? state.hidden.delete(index) : state.hidden.add(index);
        draw_all();
      });
      const swatch = tapeformer.swatch(colour(index), dashes(index));
      const time = Math.max(run.last.elapsed_s ?? 0, last(run.eval.elapsed_s) ?? 0);
      rows.push([element("label", {}, toggle, swatch), run.name + (data.runs.length > 1 ? " #" + (index + 1) : ""),
        number(run.last.step ?? null), number(run.last.tokens ?? null), tapeformer.duration(time),
        number(run.last.unsmoothed_loss ?? run.last.loss ?? null), at_best("eval_loss"),
        ...beside.map(([key]) => at_best(key)), at_best("step")]);
    });
    return tapeformer.table(rows);
  }

  function configurations() {
    const all = data.runs.map((run) => settings(run.config));
    const keys = [...new Set(all.flatMap((one) => Object.keys(one)))];
    const different = keys.filter((key) => all.some((one) => one[key] !== all[0][key]));
    const made = [];
    if (data.runs.length > 1) {
      made.push(element("h2", {}, "What differs"), different.length === 0 ? element("p", {}, "Nothing: the configurations are equal.")
        : tapeformer.table([["", ...data.runs.map((run, i) => run.name + " #" + (i + 1))],
          ...different.map((key) => [key, ...all.map((one) => one[key] ?? "–")])]));
    }
    for (const run of data.runs) {
      made.push(element("details", {}, element("summary", {}, "Configuration of " + run.name), element("pre", {}, run.config)));
    }
    return made;
  }

  // The samples of text that the models wrote during training.
  function samples() {
    const made = [];
    data.runs.forEach((run, index) => {
      if (run.samples.length === 0) return;
      const visible = (value) => (value.trim() === "" ? value.replaceAll(" ", "␣").replaceAll("\n", "↵") : value);
      const text = (value) => element("span", {className: "sample", dir: "auto"}, visible(value ?? ""));
      const all = run.samples.flatMap((line) => line.samples.map((sample) => [line.step, sample]));
      const translated = all.some(([, sample]) => "reference" in sample);
      const heads = translated ? ["step", "source", "translation", "reference"] : ["step", "prompt", "continuation"];
      const name = data.runs.length > 1 ? " of " + run.name + " #" + (index + 1) : "";
      made.push(element("h2", {}, "Samples" + name), tapeformer.table([heads, ...all.map(([step, sample]) => [number(step),
        text(sample.input), text(sample.output), ...(translated ? [text(sample.reference)] : [])])]));
    });
    return made;
  }

  // The machines and versions that the runs were trained with, a column for each machine.
  function machines() {
    const all = data.runs.flatMap((run, index) => run.machines.map((machine) => [run, index, machine]));
    if (all.length === 0) return [];
    const keys = [...new Set(all.flatMap(([, , machine]) => Object.keys(machine)))].filter((key) => key !== "step");
    const head = ([run, index, machine]) => [data.runs.length > 1 ? run.name + " #" + (index + 1) : "",
      machine.step > 0 ? "from step " + number(machine.step) : ""].filter(Boolean).join(", ");
    return [element("h2", {}, "Machine and version"), tapeformer.table([["", ...all.map(head)],
      ...keys.map((key) => [key.replaceAll("_", " "), ...all.map(([, , machine]) => element("span", {className: "sample"},
        String(machine[key] ?? "–")))])])];
  }

  function controls() {
    const choose = element("select");
    for (const [name, axis] of Object.entries(axes)) choose.append(element("option", {value: name}, axis.label));
    choose.addEventListener("change", () => { state.axis = choose.value; state.zoom = null; draw_all(); });
    const log = element("input", {type: "checkbox"});
    log.addEventListener("change", () => { state.log = log.checked; draw_all(); });
    const smooth = element("input", {type: "number", min: 1, max: 1000, value: 1});
    smooth.addEventListener("change", () => { state.smoothing = Math.max(1, Number(smooth.value) || 1); draw_all(); });
    const reset = element("button", {type: "button"}, "Show all");
    reset.addEventListener("click", () => { state.zoom = null; draw_all(); });
    return element("div", {className: "controls"}, element("label", {}, "over", choose), element("label", {}, log, "logarithmic loss"),
      element("label", {}, "training loss: mean of", smooth, "points"), reset,
      element("span", {className: "quiet"}, "drag to zoom, double click to show all"));
  }

  document.body.append(element("h1", {}, data.runs.map((run) => run.name).join(", ")), summary(), controls(), place, ...samples(),
    ...machines(), ...configurations());
  if (data.per_point > 1) {
    place.before(element("p", {className: "quiet"}, `Each point of the training curves is the mean of ${data.per_point} lines of metrics.jsonl, at the mean of their steps.`));
  }
  draw_all();
  const resize = () => drawn.forEach((graph) => graph.resize());
  addEventListener("resize", resize);
  // On paper the charts are as wide as the page, and the configurations are open.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; part.dataset.printed = ""; });
    document.body.classList.add("printing");
    resize();
  });
  addEventListener("afterprint", () => {
    document.querySelectorAll("details[data-printed]").forEach((part) => { part.open = false; delete part.dataset.printed; });
    document.body.classList.remove("printing");
    resize();
  });
})();
