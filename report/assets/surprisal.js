// A text whose tokens are coloured by their surprisal. Pointing at a token, or the arrow keys, show its numbers.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const kMostBits = 12;  // the strongest colour
  const bits = (nats) => nats / Math.LN2;
  const panel = element("div", {className: "panel"});
  const spans = [];
  let chosen = -1;

  function read(place) {
    if (chosen >= 0) spans[chosen].element.classList.remove("chosen");
    chosen = place;
    const {element: span, token: [text, nats, rank, likeliest]} = spans[place];
    span.classList.add("chosen");
    if (nats === undefined) {
      panel.replaceChildren(`“${text}” has nothing before it, and is not scored.`);
      return;
    }
    const rows = (likeliest || []).map(([other, probability]) => {
      const bar = element("span", {className: "bar"});
      bar.style.width = 10 * probability + "rem";
      return element("tr", {}, element("td", {}, other), element("td", {}, String(probability)), element("td", {}, bar));
    });
    panel.replaceChildren(element("strong", {}, `“${text}”`),
      `  ${number(nats)} nats, ${number(bits(nats))} bits, probability ${number(Math.exp(-nats))}, rank ${rank}`,
      element("table", {}, ...rows));
  }

  function paragraph(text) {
    const paragraph = element("p", {className: "text"});
    for (const token of text.tokens) {
      const span = element("span", {}, token[0].replaceAll("␣", " ").replaceAll("⇥", "\t").replaceAll("↵", "↵\n"));
      const place = spans.push({element: span, token}) - 1;
      if (token[1] !== undefined) {
        span.style.background = `rgba(217,83,79,${(.85 * Math.min(1, bits(token[1]) / kMostBits)).toFixed(3)})`;
      }
      span.addEventListener("mouseenter", () => read(place));
      paragraph.append(span);
    }
    return text.source ? element("div", {}, element("p", {className: "quiet"}, text.source), paragraph) : paragraph;
  }

  const texts = data.texts.map(paragraph);
  const scored = spans.filter(({token}) => token[1] !== undefined);
  const mean = scored.reduce((sum, {token}) => sum + token[1], 0) / scored.length;
  panel.textContent = "Point at a token, or use the arrow keys.";
  document.body.append(element("h1", {}, data.title),
    element("p", {}, `${number(scored.length)} tokens, ${number(mean)} nats each, perplexity ${number(Math.exp(mean))}. `,
      element("span", {className: "quiet legend"}, "0 bits ", element("span", {className: "scale"}), ` ${kMostBits} bits or more`)),
    ...texts, panel);
  addEventListener("keydown", (event) => {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!move || spans.length === 0) return;
    event.preventDefault();
    read(Math.max(0, Math.min(spans.length - 1, chosen + move)));
    spans[chosen].element.scrollIntoView({block: "nearest"});
  });
})();
