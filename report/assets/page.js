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

  // A table of rows of texts or elements; the first row holds the heads.
  table([heads, ...rows]) {
    const cells = (row, name) => this.element("tr", {}, ...row.map((cell) => this.element(name, {}, cell)));
    return this.element("div", {className: "wide"},
      this.element("table", {}, cells(heads, "th"), ...rows.map((row) => cells(row, "td"))));
  },

  // A number as people read it: 4 digits, or whole thousands.
  number(value) {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) >= 10000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(4)));
  },

  // Words that a line never breaks.
  duration(seconds) {
    const s = Math.round(seconds);
    if (s < 60) return `${s}\u00a0s`;
    if (s < 3600) return `${Math.floor(s / 60)}\u00a0min\u00a0${s % 60}\u00a0s`;
    return `${Math.floor(s / 3600)}\u00a0h\u00a0${Math.floor(s % 3600 / 60)}\u00a0min`;
  },
};
