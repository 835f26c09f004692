// Vectors as a map of two dimensions, the cosines of all pairs, and the vectors of positions.
"use strict";
(() => {
  const {data, element, number, shape, heatMap} = tapeformer;
  const labels = data.labels, count = labels.length;
  const short = (text) => text.length > 28 ? text.slice(0, 27) + "…" : text;
  const cosine = (i, j) => data.cosines[Math.max(i, j)][Math.min(i, j)];
  const share = (value) => Math.round(100 * value) + " %";

  // The map: the wheel zooms at the pointer, dragging moves the map, and a point or the arrow keys choose a text.
  const width = 640, height = 480, margin = 40;
  const extent = (axis) => {
    const values = data.places.map((place) => place[axis]);
    const low = Math.min(...values), high = Math.max(...values);
    return {low, range: high - low || 1};
  };
  const xs = extent(0), ys = extent(1);
  const home = data.places.map(([x, y]) => [margin + (x - xs.low) / xs.range * (width - 2 * margin),
    height - margin - (y - ys.low) / ys.range * (height - 2 * margin)]);
  const view = {scale: 1, x: 0, y: 0};
  const svg = shape("svg", {class: "map", viewBox: `0 0 ${width} ${height}`, width, role: "img", tabindex: 0});
  const points = home.map((_, i) => {
    const point = shape("g", {}, shape("line", {}),
      shape("circle", {r: 4}), shape("text", {}, short(labels[i])), shape("title", {}, labels[i]));
    point.addEventListener("mouseenter", () => choose(i));
    svg.append(point);
    return point;
  });
  // A label is shown beside its point or, where other labels and points leave room, some lines above or below, joined to
  // its point by a line. If there is no room, it is hidden; zooming makes room.
  const kGap = 7, kLine = 15, kMostLines = 10;
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  function* boxesNear([x, y], wide) {
    for (let i = 0; i <= 2 * kMostLines; ++i) {
      const lines = i % 2 ? -(i + 1) / 2 : i / 2, out = lines ? 2 * kGap : kGap, top = y + (lines - .5) * kLine;
      for (const side of x > .75 * width ? [-1, 1] : [1, -1]) {
        const left = side > 0 ? x + out : x - out - wide;
        yield {left, right: left + wide, top, bottom: top + kLine, side, out, lines};
      }
    }
  }
  function setLabel(point, {side, out, lines}) {
    const text = point.querySelector("text"), line = point.querySelector("line");
    text.setAttribute("x", side * out);
    text.setAttribute("y", lines * kLine + 4);
    text.setAttribute("text-anchor", side > 0 ? "start" : "end");
    line.setAttribute("x2", lines ? side * (out - 2) : 0);
    line.setAttribute("y2", lines * kLine);
  }
  function place() {
    const places = home.map(([x, y]) => [x * view.scale + view.x, y * view.scale + view.y]);
    points.forEach((point, i) =>
      point.setAttribute("transform", `translate(${places[i][0].toFixed(2)} ${places[i][1].toFixed(2)})`));
    const widths = points.map((point) => point.querySelector("text").getComputedTextLength());
    const taken = places.map(([x, y]) => ({left: x - 6, right: x + 6, top: y - 6, bottom: y + 6}));
    const isFree = (box) => box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height &&
      taken.every((other) => apart(box, other));
    points.forEach((point, i) => {
      const found = [...boxesNear(places[i], widths[i])].find(isFree);
      point.classList.toggle("crowded", !found);
      if (!found) return;
      taken.push(found);
      setLabel(point, found);
    });
  }
  const inMap = (event) => {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x, y] = inMap(event), before = view.scale;
    view.scale = Math.max(1, Math.min(50, before * (event.deltaY < 0 ? 1.25 : .8)));
    view.x = x - (x - view.x) * view.scale / before;
    view.y = y - (y - view.y) * view.scale / before;
    place();
  }, {passive: false});
  svg.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1) return;
    const scale = width / svg.getBoundingClientRect().width;  // a narrow window shows the map smaller
    view.x += event.movementX * scale, view.y += event.movementY * scale;
    place();
  });
  svg.addEventListener("dblclick", () => { Object.assign(view, {scale: 1, x: 0, y: 0}); place(); });

  const nearest = element("div");
  let chosen = -1;
  function choose(i) {
    if (chosen >= 0) points[chosen].classList.remove("chosen");
    chosen = i;
    points[i].classList.add("chosen");
    svg.append(points[i]);  // above the others
    const others = labels.map((_, j) => j).filter((j) => j !== i && cosine(i, j) !== null)
      .sort((a, b) => cosine(i, b) - cosine(i, a)).slice(0, 10);
    nearest.replaceChildren(element("p", {}, "Nearest to “", element("strong", {}, labels[i]), "” by cosine"),
      tapeformer.table([["", "cosine"], ...others.map((j) => [short(labels[j]), number(cosine(i, j))])]));
  }
  svg.addEventListener("keydown", (event) => {
    const move = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!move) return;
    event.preventDefault();
    choose((chosen + move + count) % count);
  });

  const withLabels = element("input", {type: "checkbox", checked: true});
  withLabels.addEventListener("change", () => svg.classList.toggle("bare", !withLabels.checked));
  const pair = element("p", {className: "reading"}, "Point at a square.");
  const squares = heatMap(count, count, 1, cosine, (i, j) => {
    pair.textContent = `“${labels[i]}” and “${labels[j]}”: ${cosine(i, j) ?? "no direction"}`;
  }, labels);
  document.body.append(element("h1", {}, data.title),
    element("div", {className: "controls"},
      element("label", {}, withLabels, "labels"),
      element("span", {className: "quiet"}, "The wheel zooms, dragging moves, a double click goes back; the arrow keys go from text to text.")),
    element("div", {className: "both"},
      element("div", {}, element("h2", {}, "Map"), svg,
        element("p", {className: "quiet"},
          `The two directions of the largest variance: ${share(data.shares[0])} and ${share(data.shares[1])} of it.`)),
      nearest),
    element("h2", {}, "Cosines"),
    element("p", {className: "quiet"}, "Blue: alike; red: opposite; without colour: at right angles. In the order of the texts."),
    squares, pair);
  place();
  if (count > 0) choose(0);

  if (data.positions) {
    const {length, dim, values} = data.positions, rows = values.length, columns = values[0].length;
    const most = values.reduce((so_far, row) => Math.max(so_far, ...row.map(Math.abs)), 1e-12);
    const reading = element("p", {className: "reading"}, "Point at a square.");
    const part = (shown, all) => shown < all ? `the first ${shown} of ${all}` : `${all}`;
    document.body.append(element("h2", {}, "Positions"),
      element("p", {className: "quiet"}, `What the model adds to a token's vector: a row for each position (${part(rows, length)}), ` +
        `a column for each dimension (${part(columns, dim)}). Blue: up to ${number(most)}; red: down to ${number(-most)}.`),
      heatMap(rows, columns, most, (i, j) => values[i][j], (i, j) => {
        reading.textContent = `position ${i}, dimension ${j}: ${number(values[i][j])}`;
      }), reading);
  }
})();
