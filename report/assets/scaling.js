// Scaling laws: a chart of each with its points, its band and what it predicts, and a table of the trainings.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const axes = {N: "N, parameters without embeddings and heads", D: "D, tokens of training", C: "C = 6ND, operations of training"};
  const colours = ["#2f7ed8", "#1b1f24", "#d9534f"];
  if (matchMedia("(prefers-color-scheme: dark)").matches) colours[1] = "#e4e8ec";
  // A number that is too large for JSON is null.
  const short = (value) => value === null ? "∞" : Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? tapeformer.exponential(value, 3) : number(value);
  const interval = (value) => `${short(value.value)} [${short(value.low)}, ${short(value.high)}]`;
  const percent = (share) => (share > 0 ? "+" : "") + (100 * share).toFixed(2) + " %";

  function formula(law) {
    const terms = law.of.map((of, k) => ` + (${short(law.terms[k].scale.value)} / ${of})^${short(law.terms[k].exponent.value)}`);
    return `${law.law} = ${short(law.irreducible.value)}${terms.join("")}`;
  }

  function facts(law) {
    const rows = [["", ""], ["irreducible loss", law.fitted ? interval(law.irreducible) : short(law.irreducible.value) + ", given"]];
    law.of.forEach((of, k) => rows.push([law.of.length > 1 ? "exponent of " + of : "exponent", interval(law.terms[k].exponent)],
      [of + "_c", interval(law.terms[k].scale)]));
    rows.push(["residual", (100 * law.residual).toPrecision(2) + " % of the loss, " + law.points + " points"]);
    if (law.prediction) rows.push(["predicted at " + law.of.map((of, k) => `${of} = ${short(law.prediction.x[k])}`).join(", "),
      interval({value: law.prediction.loss, low: law.prediction.low, high: law.prediction.high})]);
    return tapeformer.table(rows);
  }

  // The chart has logarithms on both axes. A series is [name, points], a point [x, low, loss, high]. What is 0 or infinite
  // is drawn at the edge.
  function chart(law) {
    const place = element("div", {className: "chart"}), reading = element("div", {className: "reading quiet"});
    const drawable = [law.curve.low, law.curve.loss, law.curve.high].flat().filter((loss) => loss > 0);
    const least = Math.min(...drawable), most = Math.max(...drawable);
    const inside = (loss) => loss === null ? most : Math.max(loss, least);
    const series = [["law, with 90 % of the bootstrap", law.curve.x.map((x, i) => [x, ...["low", "loss", "high"].map((key) => inside(law.curve[key][i]))])],
      ["trained", law.places.map(([x, loss]) => [x, loss, loss, loss])]];
    if (data.sweep && law.law === "L(N)") {
      const loss = data.sweep.measured;
      series.push(["the largest, trained after the prediction", [[data.sweep.largest, loss, loss, loss]]]);
    }
    const rows = new Map();
    series.forEach(([, points], column) => points.forEach(([x, ...values]) => {
      if (!rows.has(x)) rows.set(x, new Array(series.length).fill(null));
      rows.get(x)[column] = values.map(Math.log10);
    }));
    const legend = tapeformer.legend(series.map(([name], i) => [name, colours[i]]));
    document.body.append(element("section", {}, element("h2", {}, formula(law)), facts(law), legend, place, reading));
    const power = (value) => short(10 ** value), ticks = tapeformer.ticker((place) => 10 ** place);
    const dots = {drawPoints: true, strokeWidth: 0, pointSize: 4};
    const graph = new Dygraph(place, [...rows].sort((a, b) => a[0] - b[0]).map(([x, values]) => [Math.log10(x), ...values]), {
      labels: ["x", ...series.map(([name]) => name)], colors: colours, customBars: true, connectSeparatedPoints: true, strokeWidth: 1.8,
      fillAlpha: .2, ...tapeformer.chart_style, xlabel: axes[law.of[0]], series: Object.fromEntries(series.slice(1).map(([name]) => [name, dots])),
      axes: {y: {axisLabelWidth: 64, ticker: ticks}, x: {axisLabelWidth: 68, ticker: ticks, pixelsPerLabel: 80}},
      highlightCallback: (event, x, points) => {
        reading.replaceChildren(`${law.of[0]} ${power(x)}` + points.map((point) => `  ·  ${point.name} ${power(point.yval)}`).join(""));
      },
      unhighlightCallback: () => reading.replaceChildren(),
    });
    addEventListener("resize", () => graph.resize());
  }

  document.body.append(element("h1", {}, "Scaling laws"),
    element("p", {}, `Losses are ${data.unit}. N counts parameters without embeddings and heads. In brackets, and in bands: 90 % of the bootstrap.`));
  if (data.sweep) {
    const {sweep} = data;
    document.body.append(element("p", {}, element("b", {}, `The largest model, N = ${sweep.largest.toLocaleString("en")}: `),
      `predicted ${interval(sweep.predicted)} at ${sweep.written}, before it was trained; measured ${short(sweep.measured)} (${percent(sweep.error)}). ` +
      `Each training read ${sweep.tokens.toLocaleString("en")} tokens; all together took ${tapeformer.duration(sweep.seconds)}.`));
  }
  for (const law of data.laws) {
    if (law.curve) chart(law);
    else document.body.append(element("section", {}, element("h2", {}, formula(law)), facts(law)));
  }
  document.body.append(element("h2", {}, "Trainings"), tapeformer.table([["N", "D", "C", "loss", "training"],
    ...data.runs.map((run) => [...["N", "D", "C"].map((key) => run[key] === null ? "–" : short(run[key])), run.loss.toFixed(4), run.name])]));
  for (const law of data.skipped) document.body.append(element("p", {className: "quiet"}, `${law.law} is not fitted: ${law.why}`));
})();
