// How many questions of each group a model answers right: a chart over the groups, and a table.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const lines = [["the model", "accuracy", "#2f7ed8"], ["best possible", "optimum", "#3a9d5d"], ["chance", "chance", "#7f7f7f"]]
    .filter(([, key]) => data.groups.some((group) => group[key] !== undefined));
  const percent = (share) => share === undefined ? "–" : (100 * share).toFixed(2) + "\u00a0%";
  const numeric = data.groups.every(({group}) => group.trim() !== "" && isFinite(group));
  const at = ({group}, place) => numeric ? Number(group) : place;
  // Ticks at the groups, by their names, if these are no numbers; those left out that are too near to the one before.
  const short = (name) => name.length > 12 ? name.slice(0, 11) + "…" : name;
  const names = (least, most, pixels) => {
    const apart = Math.ceil(100 * (most - least) / pixels);
    return data.groups.map(({group}, place) => ({v: place, label: tapeformer.html(short(group))})).filter(({v}) => v % apart === 0);
  };
  const place = element("div", {className: "chart"}), reading = element("div", {className: "reading quiet"});
  const legend = tapeformer.legend(lines.map(([name, , colour]) => [name, colour]));
  // A curve over one group would be a point at the edge of an empty chart.
  document.body.append(element("h1", {}, data.title), ...(data.groups.length > 1 ? [place, legend, reading] : []),
    tapeformer.table([["group", "questions", "right", "per token", "per byte", "chance", "best possible"],
      ...data.groups.map((group) => [group.group, number(group.questions), percent(group.accuracy),
        percent(group.accuracy_per_token), percent(group.accuracy_per_byte), percent(group.chance), percent(group.optimum)])]));
  if (data.groups.length < 2) return;
  const rows = data.groups.map((group, i) => [at(group, i), ...lines.map(([, key]) => 100 * (group[key] ?? NaN))]);
  const graph = new Dygraph(place, rows.sort((a, b) => a[0] - b[0]), {
    labels: ["group", ...lines.map(([name]) => name)], colors: lines.map(([, , colour]) => colour),
    ...tapeformer.chart_style, drawPoints: true, pointSize: 3, strokeWidth: 1.8, xlabel: "group", ylabel: "right, %", valueRange: [0, 102],
    xRangePad: 8, axes: {x: {axisLabelWidth: 96, ticker: numeric ? tapeformer.ticker() : names}},
    highlightCallback: (event, x, points) => {
      reading.replaceChildren(`group ${numeric ? number(x) : data.groups[x].group}`, ...points.map((point) => `  ·  ${point.name} ${number(point.yval)} %`));
    },
    unhighlightCallback: () => reading.replaceChildren(),
  });
  addEventListener("resize", () => graph.resize());
})();
