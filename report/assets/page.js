// All pages share this: their data, and functions that make elements. Texts become text nodes, never HTML.
"use strict";
const tapeformer = {
  data: JSON.parse(document.getElementById("data").textContent),

  // element("td", {className: "quiet"}, "text", child, …)
  element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  },

  // The same in an SVG image: shape("circle", {r: 4}, child, …)
  shape(name, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  },

  // What all charts have in common.
  chart_style: {gridLineColor: "rgba(128,128,128,.25)", axisLineColor: "rgba(128,128,128,.6)", axisLabelFontSize: 12, legend: "never"},

  // The colour of a curve, before its name.
  swatch(colour, dashed) {
    const made = this.element("span", {className: dashed ? "swatch dashed" : "swatch"});
    made.style.background = colour;
    return made;
  },

  // The names of curves with their colours: [[name, colour, whether it is dashed], …]
  legend(curves) {
    return this.element("div", {className: "legend"}, ...curves.map(([name, ...look]) => this.element("label", {}, this.swatch(...look), name)));
  },

  // A text for dygraphs, which reads the labels of axes and ticks as HTML.
  html(text) {
    return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  },

  // A table of rows of texts or elements; the first row holds the heads.
  table([heads, ...rows]) {
    const cells = (row, name) => this.element("tr", {}, ...row.map((cell) => this.element(name, {}, cell)));
    return this.element("div", {className: "wide"},
      this.element("table", {}, cells(heads, "th"), ...rows.map((row) => cells(row, "td"))));
  },

  // A number as people read it: 4 digits, or whole thousands; "1.5e130" where those would fill the line.
  number(value) {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) >= 1e15) return tapeformer.exponential(value, 3);
    if (Math.abs(value) >= 10000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(4)));
  },

  exponential(value, digits) {
    return value.toExponential(digits).replace(/\.?0*e\+?/, "e");
  },

  // The label of a tick whose nearest neighbour is `step` away: at least 4 digits, and as many as tell the two apart; in
  // the shorter form, since an axis cuts long labels.
  tick(value, step) {
    const size = Math.abs(value);
    if (size === 0 || (isFinite(step) && size <= 1e-6 * step)) return "0";  // what multiples of a fraction leave
    const power = Math.floor(Math.log10(size)), places = Math.max(3 - power, Math.ceil(-Math.log10(step) - 1e-9));
    const short = this.exponential(value, Math.min(15, Math.max(0, power + places)));
    if (places > 20) return short;
    const plain = value.toLocaleString("en", {useGrouping: size >= 10000, maximumFractionDigits: Math.max(0, places)});
    return plain.length <= 9 || plain.length <= short.length ? plain : short;
  },

  // Gives ticks of dygraphs their labels, but not those that a logarithmic axis leaves without. `real` makes the number
  // of a place on the axis.
  label_ticks(ticks, real = (place) => place) {
    const values = ticks.map(({v}) => real(v));
    ticks.forEach((tick, i) => {
      const near = [values[i - 1], values[i + 1]].filter((other) => other !== undefined);
      if (tick.label !== "") tick.label = this.tick(values[i], Math.min(...near.map((other) => Math.abs(other - values[i]))));
    });
    return ticks;
  },

  // The ticks of an axis of a chart.
  ticker(real) {
    return (...range) => this.label_ticks(Dygraph.numericTicks(...range), real);
  },

  // Words that a line never breaks.
  duration(seconds) {
    const s = Math.round(seconds);
    if (s < 60) return `${s}\u00a0s`;
    if (s < 3600) return `${Math.floor(s / 60)}\u00a0min\u00a0${s % 60}\u00a0s`;
    return `${Math.floor(s / 3600)}\u00a0h\u00a0${Math.floor(s % 3600 / 60)}\u00a0min`;
  },
};
