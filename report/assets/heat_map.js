// Matrices as coloured squares.
"use strict";
(() => {
  const {element} = tapeformer;

  // The colour of a value: blue above 0, red below, and strongest at ±most.
  const color = (value, most) => value === null ? "transparent"
    : `rgba(${value >= 0 ? "47,126,216" : "217,83,79"},${Math.min(1, Math.abs(value) / most)})`;

  // Draws a matrix as coloured squares, up to `size` pixels wide and high, with the names of its rows if there is room. Calls
  // read(row, column) for the square under the pointer.
  tapeformer.heatMap = (rows, columns, most, at, read, names, size = 560) => {
    const scale = Math.max(1, Math.floor(size / Math.max(rows, columns)));
    const canvas = element("canvas", {width: columns * scale, height: rows * scale});
    const context = canvas.getContext("2d");
    for (let i = 0; i < rows; ++i) {
      for (let j = 0; j < columns; ++j) {
        context.fillStyle = color(at(i, j), most);
        context.fillRect(j * scale, i * scale, scale, scale);
      }
    }
    canvas.addEventListener("mousemove", (event) => {
      const box = canvas.getBoundingClientRect();
      const i = Math.floor((event.clientY - box.top) / box.height * rows);
      const j = Math.floor((event.clientX - box.left) / box.width * columns);
      if (i >= 0 && i < rows && j >= 0 && j < columns) read(i, j);
    });
    const beside = element("div", {className: "names"});
    if (names && scale >= 9) {
      beside.append(...names.map((name) => element("div", {style: `height: ${scale}px; line-height: ${scale}px; ` +
        `font-size: ${Math.min(13, scale)}px`}, name.length > 28 ? name.slice(0, 27) + "…" : name)));
    }
    return element("div", {className: "wide squares"}, beside, canvas);
  };
})();
