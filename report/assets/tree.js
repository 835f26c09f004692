// Trees that a model has written. Pointing at a label, or choosing it, shows where the model looked when it opened and
// closed that bracket; pointing at a word shows it for the word.
"use strict";
(() => {
  const {data, element, shape} = tapeformer;
  const kLevel = 46, kGap = 14;  // pixels
  const ruler = element("canvas").getContext("2d");

  // The nodes of a tree from its parts, whether they fit or not: what is not closed ends with the text.
  function nodes_of(parts) {
    const root = {children: []}, open = [root];
    for (const part of parts) {
      const inner = open[open.length - 1], text = part[0];
      if (text.startsWith("(")) {
        const node = {text: text.slice(1), label: true, children: [], parts: [part]};
        inner.children.push(node);
        open.push(node);
      } else if (text.startsWith(")")) {
        if (open.length > 1) open.pop().parts.push(part);
      } else {
        inner.children.push({text, children: [], parts: [part]});
      }
    }
    return root.children;
  }

  // Half of the width of a node's text and of the gap beside it. The font is that of tree.css.
  function half(node) {
    ruler.font = (node.label ? "600 " : "") + "14px system-ui, sans-serif";
    return (ruler.measureText(node.text).width + kGap) / 2;
  }
  function shift(node, by) {
    node.x += by;
    for (const child of node.children) shift(child, by);
  }

  // Gives each node its place, above the middle of what is below it; returns the place after its text and its last word.
  function place(node, x, level) {
    node.y = 18 + level * kLevel;
    const begin = x;
    for (const child of node.children) x = place(child, x, level + 1);
    const [first, last] = [node.children[0], node.children[node.children.length - 1]];
    node.x = first ? (first.x + last.x) / 2 : begin + half(node);
    const cut = begin + half(node) - node.x;  // a text that is wider than all below it
    if (cut > 0) {
      shift(node, cut);
      x += cut;
    }
    return Math.max(x, node.x + half(node));
  }

  function draw(tree) {
    const panel = element("div", {className: "panel"}, "Point at a label or a word.");
    const lines = [], texts = [];
    let chosen = null, width = 0, height = 0;
    const looked = ([text, weights]) => element("p", {className: "looked"}, element("b", {}, text), " looked at: ",
      ...[...tree.words, "(end)"].flatMap((word, i) => {
        const span = element("span", {title: String(weights[i])}, word);
        span.style.background = `rgba(47,126,216,${weights[i]})`;
        return [span, " "];
      }));
    function add(node) {
      const text = shape("text", {x: node.x, y: node.y, class: node.label ? "label" : "word"}, node.text);
      const read = () => {
        if (chosen) chosen.classList.remove("chosen");
        (chosen = text).classList.add("chosen");
        panel.replaceChildren(...node.parts.map(looked));
      };
      text.addEventListener("mouseenter", read);
      text.addEventListener("click", read);
      texts.push(text);
      height = Math.max(height, node.y + 14);
      for (const child of node.children) {
        lines.push(shape("line", {x1: node.x, y1: node.y + 5, x2: child.x, y2: child.y - 14}));
        add(child);
      }
    }
    for (const node of nodes_of(tree.parts)) {
      width = place(node, width, 0);
      add(node);
    }
    return element("section", {}, element("h2", {}, tree.words.join(" ")),
      ...(tree.broken ? [element("p", {className: "broken"}, "No tree: " + tree.broken)] : []),
      element("div", {className: "wide"}, shape("svg", {width: width + kGap, height}, ...lines, ...texts)), panel);
  }

  document.body.append(element("h1", {}, data.title), ...data.trees.map(draw));
})();
