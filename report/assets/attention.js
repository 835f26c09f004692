// Shows the attention of every head: all heads small, one large, as a matrix and as lines between tokens.
"use strict";
(() => {
  const {data, element, number, shape} = tapeformer;
  const blue = "47,126,216";

  // Adds to the heads of a stack the mean of each layer's heads and, if the queries are the keys, the rollout (Abnar &
  // Zuidema 2020): the product over the layers so far of (mean + identity)/2.
  function prepare(map) {
    const square = map.name !== "cross";
    let rollout = null;
    for (const layer of map.layers) {
      const count = layer.heads.length;
      layer.mean = {label: "mean", weights: map.queries.map((_, i) => map.keys.map((_, j) =>
        layer.heads.reduce((sum, head) => sum + head.weights[i][j], 0) / count))};
      layer.heads.forEach((head, index) => { head.label = "head " + index; });
      if (!square) continue;
      const step = layer.mean.weights.map((row, i) => row.map((w, j) => (w + (i === j ? 1 : 0)) / 2));
      rollout = rollout === null ? step : step.map((row) => rollout[0].map((_, j) =>
        row.reduce((sum, w, k) => sum + (w ? w * rollout[k][j] : 0), 0)));
      layer.rollout = {label: "rollout", weights: rollout};
    }
  }
  data.maps.forEach(prepare);
  const titles = {self: "self-attention", encoder: "encoder", decoder: "decoder", cross: "target to source"};
  const last = data.maps[data.maps.length - 1];
  const state = {map: last, layer: last.layers.length - 1, column: 0, query: null};
  const columns = (layer) => [...layer.heads, layer.mean, ...(layer.rollout ? [layer.rollout] : [])];
  const chosen = () => columns(state.map.layers[state.layer])[state.column];

  function thumbnail(weights) {
    const rows = weights.length, width = weights[0].length, scale = Math.max(1, Math.floor(84 / Math.max(rows, width)));
    const canvas = element("canvas", {width: width * scale, height: rows * scale});
    const context = canvas.getContext("2d");
    weights.forEach((row, i) => row.forEach((weight, j) => {
      context.fillStyle = `rgba(${blue},${weight})`;
      context.fillRect(j * scale, i * scale, scale, scale);
    }));
    canvas.style.width = Math.min(84, width * scale) + "px";
    return canvas;
  }

  function grid() {
    const layers = state.map.layers;
    const head = element("tr", {}, element("th"), ...columns(layers[0]).map((one) => element("th", {}, one.label)));
    const rows = layers.map((layer, number) => element("tr", {}, element("th", {}, "layer " + number),
      ...columns(layer).map((one, column) => {
        const button = element("button", {type: "button", title: `layer ${number}, ${one.label}`}, thumbnail(one.weights));
        button.setAttribute("aria-pressed", number === state.layer && column === state.column);
        button.addEventListener("click", () => choose(number, column));
        return element("td", {}, button);
      })));
    return element("div", {className: "wide"}, element("table", {className: "grid"}, head, ...rows));
  }

  const reading = element("p", {className: "reading"});
  function read(i, j) {
    reading.textContent = `“${state.map.queries[i]}” looks at “${state.map.keys[j]}” with ${chosen().weights[i][j]}`;
  }

  // The pixels of a token, and of the longest token with a margin. The font is the widest of attention.css.
  const ruler = element("canvas").getContext("2d");
  ruler.font = "bold 13px system-ui, sans-serif";
  const wide = (text) => ruler.measureText(text).width;
  const widest = (texts) => 12 + Math.max(...texts.map(wide));

  // Draws the weights as a matrix, with a bar for the norm of what the head adds to the residual stream at each query.
  function matrix() {
    const {queries, keys} = state.map, {weights, output} = chosen();
    const cell = Math.max(9, Math.min(26, 620 / keys.length));
    const left = widest(queries), top = widest(keys), bars = output ? 90 : 0;
    // The names of the last keys lean out of the matrix.
    const right = Math.max(bars, ...keys.map((key, j) => (j + .7 - keys.length) * cell + wide(key) / 2));
    const font = `font-size: ${Math.min(13, cell)}px`;
    const svg = shape("svg", {width: left + keys.length * cell + right + 6, height: top + queries.length * cell + 6, role: "img"});
    keys.forEach((key, j) => svg.append(shape("text",
      {transform: `translate(${left + (j + .7) * cell} ${top - 5}) rotate(-60)`, style: font}, key)));
    const most = output ? Math.max(...output, 1e-12) : 1;
    queries.forEach((query, i) => {
      const y = top + i * cell;
      svg.append(shape("text", {x: left - 5, y: y + cell * .7, "text-anchor": "end", style: font}, query));
      keys.forEach((key, j) => {
        const box = shape("rect", {x: left + j * cell, y, width: cell, height: cell,
          fill: `rgba(${blue},${weights[i][j]})`, stroke: "rgba(128,128,128,.18)"});
        box.addEventListener("mouseenter", () => { read(i, j); look(i); });
        svg.append(box);
      });
      if (!output) return;
      const bar = shape("rect", {class: "bar", x: left + keys.length * cell + 8, y: y + cell * .2,
        width: (bars - 12) * output[i] / most, height: cell * .6});
      bar.append(shape("title", {}, `norm of what the head adds at “${query}”: ${output[i]}`));
      svg.append(bar);
    });
    return svg;
  }

  // Draws a line from each query to each key, as strong as its weight; if a query is chosen, only its lines.
  const lines = element("div");
  function look(query) {
    state.query = query;
    const {queries, keys} = state.map, {weights} = chosen(), step = 20, left = widest(queries);
    const svg = shape("svg", {width: left + 125 + widest(keys), height: step * Math.max(queries.length, keys.length) + 6, role: "img"});
    const y = (place) => (place + .7) * step;
    weights.forEach((row, i) => row.forEach((weight, j) => {
      if (weight < .02 || (query !== null && query !== i)) return;
      svg.append(shape("line", {x1: left, y1: y(i) - 5, x2: left + 120, y2: y(j) - 5, stroke: `rgba(${blue},${weight})`, "stroke-width": 2}));
    }));
    queries.forEach((token, i) => {
      const text = shape("text", {x: left - 5, y: y(i), "text-anchor": "end", tabindex: 0, class: i === query ? "chosen" : ""}, token);
      text.addEventListener("mouseenter", () => { if (state.query !== i) look(i); });
      text.addEventListener("focus", () => { if (state.query !== i) look(i); });
      svg.append(text);
    });
    keys.forEach((token, j) => svg.append(shape("text", {x: left + 125, y: y(j)}, token)));
    svg.addEventListener("mouseleave", () => look(null));
    lines.replaceChildren(svg);
  }

  // A table of what every layer would predict at every position: the likeliest token, stronger for a higher probability.
  function lens() {
    if (!state.map.lens) return [];
    const said = element("p", {className: "reading"}, "Point at a token.");
    const tell = (layer, i, {likeliest, nats}) => {
      said.textContent = `${layer}, at “${state.map.queries[i]}”: ` +
        likeliest.map(([token, p]) => `“${token}” ${number(p)}`).join(", ") +
        (nats === null ? "" : `; the right token costs ${number(nats)} nats`);
    };
    const mean = (cells) => {
      const known = cells.filter(({nats}) => nats !== null);
      return known.length ? number(known.reduce((sum, {nats}) => sum + nats, 0) / known.length) : "–";
    };
    const rows = state.map.lens.map((cells, index) => {
      const layer = index === 0 ? "embedding" : "layer " + (index - 1);
      return element("tr", {}, element("th", {}, layer), ...cells.map((cell, i) => {
        const [token, p] = cell.likeliest[0];
        const td = element("td", {tabIndex: 0}, token);
        td.style.background = `rgba(${blue},${(.85 * p).toFixed(3)})`;
        for (const event of ["mouseenter", "focus"]) td.addEventListener(event, () => tell(layer, i, cell));
        return td;
      }), element("td", {className: "quiet"}, mean(cells)));
    });
    const heads = element("tr", {}, element("th"), ...state.map.queries.map((query) => element("th", {}, query)),
      element("th", {className: "quiet"}, "mean nats"));
    return [element("h2", {}, "What each layer would predict"), element("p", {className: "quiet"},
      "The final norm and the head, applied to the residual stream after each layer (logit lens). " +
      "The last layer is the model's own prediction."), said,
      element("div", {className: "wide"}, element("table", {className: "lens"}, heads, ...rows))];
  }

  // A table of the heads, ranked by how much the loss rises without each.
  function ranking() {
    if (!state.map.heads) return [];
    const rows = state.map.heads.map((head) => [head.head, ...["loss_rise", "previous", "same_token", "induction",
      "induction_random", "first", "distance"].map((key) => number(head[key]))]);
    return [element("h2", {}, "Heads, by how much the loss rises without each"), element("p", {className: "quiet"},
      "How much the loss of this text rises without the head, in nats per token; the mean weights for the previous token, " +
      "the same token before, the place after it (also in repeated random tokens) and the first token; and how far the " +
      "head looks, in tokens."),
      tapeformer.table([["head", "loss rises", "previous", "same", "induction", "on random", "first", "distance"], ...rows])];
  }

  // A curve of the loss of a text file by the number of tokens before a token in its window.
  function positions() {
    const parts = (state.map.by_position ?? []).filter((part) => part.loss !== null);
    if (parts.length === 0) return [];
    const step = 72, top = 30, bottom = 200, most = Math.max(...parts.map((part) => part.loss), 1e-12);
    const x = (i) => (i + .5) * step, y = (loss) => bottom - (bottom - top) * loss / most;
    const svg = shape("svg", {width: step * parts.length, height: bottom + 30, role: "img"});
    svg.append(shape("line", {x1: 0, y1: bottom, x2: step * parts.length, y2: bottom, class: "axis"}),
      shape("polyline", {points: parts.map((part, i) => `${x(i)},${y(part.loss)}`).join(" "), class: "curve"}));
    parts.forEach(({first, last, tokens, loss, accuracy}, i) => {
      const dot = shape("circle", {cx: x(i), cy: y(loss), r: 4, class: "dot"});
      dot.append(shape("title", {}, `${number(tokens)} tokens, ${number(100 * accuracy)} % of them right`));
      svg.append(dot, shape("text", {x: x(i), y: y(loss) - 9, "text-anchor": "middle"}, number(loss)),
        shape("text", {x: x(i), y: bottom + 18, "text-anchor": "middle"}, first === last ? first : `${first}–${last}`));
    });
    return [element("h2", {}, "Loss by place in the window"), element("p", {className: "quiet"},
      "Of a text file, in nats per token, by the number of tokens before a token in its window."),
      element("div", {className: "wide"}, svg)];
  }

  const place = element("div");
  function draw() {
    const one = chosen();
    reading.textContent = "Point at a square or a token. Arrow keys go to the next head or layer.";
    place.replaceChildren(grid(), element("h2", {}, `Layer ${state.layer}, ${one.label}`), reading,
      element("div", {className: "both"}, matrix(), lines), ...ranking(), ...lens(), ...positions());
    look(null);
  }
  function choose(layer, column) {
    state.layer = Math.max(0, Math.min(state.map.layers.length - 1, layer));
    state.column = Math.max(0, Math.min(columns(state.map.layers[state.layer]).length - 1, column));
    draw();
  }
  addEventListener("keydown", (event) => {
    const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!move || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    choose(state.layer + move[0], state.column + move[1]);
  });

  document.body.append(element("h1", {}, data.title));
  if (data.maps.length > 1) {
    const select = element("select", {}, ...data.maps.map((map, i) => element("option", {value: i, selected: map === state.map}, titles[map.name])));
    select.addEventListener("change", () => { state.map = data.maps[select.value]; choose(0, 0); });
    document.body.append(element("div", {className: "controls"}, element("label", {}, "attention of", select)));
  }
  document.body.append(element("p", {className: "quiet"},
    "A row of a matrix is a query, a column a key; a row sums to 1." + (last.layers[0].heads[0].output
      ? " Green bars: the norm of what a head adds to the residual stream." : "")), place);
  draw();
})();
