// Images with captions. For each word the image is shown again, the darker the less the model looked there.
"use strict";
(() => {
  const {data, element, number} = tapeformer;
  const kImage = 160, kWord = 96;  // pixels on the screen
  const kShade = .8;               // how dark a cell without weight is

  // The image, enlarged; with weights (rows of cells) shaded by them.
  function picture(caption, size, weights) {
    const {width, height, rgb} = caption;
    const canvas = element("canvas", {width, height});
    canvas.style.width = size + "px";
    canvas.style.height = size * height / width + "px";
    const context = canvas.getContext("2d"), pixels = context.createImageData(width, height);
    const most = weights ? Math.max(...weights.flat()) : 1;
    for (let i = 0; i < width * height; ++i) {
      let light = 1;
      if (weights) {
        const row = Math.floor(Math.floor(i / width) * weights.length / height);
        const column = Math.floor(i % width * weights[row].length / width);
        light = 1 - kShade * (1 - weights[row][column] / most);
      }
      for (let c = 0; c < 3; ++c) {
        pixels.data[4 * i + c] = light * parseInt(rgb.substr(6 * i + 2 * c, 2), 16);
      }
      pixels.data[4 * i + 3] = 255;
    }
    context.putImageData(pixels, 0, 0);
    return canvas;
  }

  function figure(caption) {
    const {image, reference, words} = caption, wrong = reference !== undefined && reference !== caption.caption;
    const lines = [element("div", {className: "quiet"}, image),
      element("div", {className: wrong ? "wrong" : ""}, caption.caption)];
    if (wrong) lines.push(element("div", {}, "right: " + reference));
    const looks = words.map(({word, weights}) => {
      const shown = picture(caption, kWord, weights);
      shown.title = weights.map((row) => row.map(number).join("  ")).join("\n");
      return element("figure", {}, shown, element("figcaption", {}, word));
    });
    return element("div", {className: "caption"},
      element("figure", {className: "head"}, picture(caption, kImage), element("figcaption", {}, ...lines)),
      element("div", {className: "words"}, ...looks));
  }

  document.body.append(element("h1", {}, data.title),
    element("p", {className: "quiet"}, `${data.written} captions` +
      (data.right === undefined ? "" : `, ${data.right} of them exactly as given`) +
      (data.captions.length < data.written ? `; the other ${data.captions.length} are below` : "") +
      ". Beside each image, its caption word by word: the brighter a cell, the more the model looked at it."),
    ...data.captions.map(figure));
})();
