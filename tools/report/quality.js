"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const tip = document.getElementById("tip");
  const svg = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const nav = document.getElementById("nav");
  for (const section of document.querySelectorAll("section[id]")) {
    const link = document.createElement("a");
    link.href = "#" + section.id;
    link.textContent = section.querySelector("h2").textContent;
    nav.append(link);
  }

  const frames = data.seconds.length;
  const left = 52, right = 14, top = 10, bottom = 34, height = 260;

  // Round steps: 1, 2 or 5 of a power of ten.
  function ticks(low, high, count) {
    const rough = Math.max((high - low) / count, 1e-9), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) found.push(+value.toPrecision(9));
    return found;
  }

  // Where there are more frames than pixels, the lowest and the highest value of each pixel stay.
  function path(values, x, y) {
    let text = "", down = false, column = -1, low = 0, high = 0;
    const flush = () => {
      if (column < 0) return;
      text += `${down ? "L" : "M"}${column} ${y(high).toFixed(1)}` + (low < high ? `L${column} ${y(low).toFixed(1)}` : "");
      down = true;
    };
    values.forEach((value, frame) => {
      const place = +x(frame).toFixed(frames > 2000 ? 0 : 1);
      if (value === null) {
        flush();
        column = -1;
        down = false;
      } else if (place === column) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      } else {
        flush();
        column = place;
        low = high = value;
      }
    });
    flush();
    return text;
  }

  function plot(kind, unit, digits, most) {
    const lines = data[kind], holder = document.querySelector(`[data-plot="${kind}"]`);
    const legend = document.querySelector(`[data-legend="${kind}"]`);
    const color = (number) => (number === 0 ? "var(--ink)" : `var(--k${(number - 1) % 8})`);
    lines.forEach((line, number) => {
      const item = document.createElement("span");
      item.style.color = color(number);
      item.textContent = line.name;
      legend.append(item);
    });
    const known = lines.flatMap((line) => line.values).filter((value) => value !== null);
    if (known.length === 0) {
      holder.textContent = "Every frame is equal to its source.";
      return;
    }
    let low = Math.min(...lines.map((line) => line.values.reduce((a, b) => (b === null ? a : Math.min(a, b)), Infinity)));
    let high = Math.max(...lines.map((line) => line.values.reduce((a, b) => (b === null ? a : Math.max(a, b)), -Infinity)));
    const margin = Math.max((high - low) * 0.08, most / 200);
    low -= margin;
    high = Math.min(high + margin, most);

    function draw() {
      const width = Math.max(220, holder.clientWidth);
      const x = (frame) => left + (width - left - right) * (frames > 1 ? frame / (frames - 1) : 0.5);
      const y = (value) => top + (height - top - bottom) * (1 - (value - low) / (high - low));
      const picture = svg("svg", { class: "chart", height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${kind.toUpperCase()} by frame` });
      for (const value of ticks(low, high, 5))
        picture.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }), svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, String(value)));
      picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
      for (const frame of ticks(0, Math.max(frames - 1, 1), width / 90).filter(Number.isInteger))
        if (frame < frames) picture.append(svg("text", { x: x(frame), y: height - bottom + 17, "text-anchor": "middle" }, String(frame)));
      picture.append(svg("text", { x: width - right, y: height - 2, "text-anchor": "end" }, "frame"));
      for (let number = lines.length - 1; number >= 0; --number) {
        const line = lines[number];
        picture.append(svg("path", { d: path(line.values, x, y), fill: "none", stroke: color(number), "stroke-width": number === 0 ? 1.8 : 1.1, "stroke-opacity": number === 0 ? 1 : 0.75, "stroke-linejoin": "round" }));
        if (frames <= 60) line.values.forEach((value, frame) => value !== null && picture.append(svg("circle", { cx: x(frame), cy: y(value), r: number === 0 ? 2.4 : 1.5, fill: color(number) })));
      }
      const mark = svg("line", { class: "axis", y1: top, y2: height - bottom, visibility: "hidden" });
      picture.append(mark);
      picture.addEventListener("pointermove", (event) => {
        const place = event.clientX - picture.getBoundingClientRect().left;
        const frame = Math.min(frames - 1, Math.max(0, Math.round((place - left) / (width - left - right) * (frames - 1))));
        mark.setAttribute("visibility", "visible");
        mark.setAttribute("x1", x(frame));
        mark.setAttribute("x2", x(frame));
        const told = (value) => (value === null ? "equal" : value.toFixed(digits) + unit);
        tip.textContent = `frame ${frame}, ${data.seconds[frame].toFixed(3)} s\n` + lines.map((line) => `${line.name}: ${told(line.values[frame])}`).join("\n");
        tip.hidden = false;
        tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 10) + "px";
      });
      picture.addEventListener("pointerleave", () => {
        mark.setAttribute("visibility", "hidden");
        tip.hidden = true;
      });
      holder.replaceChildren(picture);
    }
    let shown = 0;
    new ResizeObserver(() => {
      if (holder.clientWidth === shown) return;
      shown = holder.clientWidth;
      draw();
    }).observe(holder);
  }
  plot("psnr", " dB", 2, 120);
  plot("ssim", "", 4, 1);
})();
