"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const redraws = [];

  // Elements. Text is always inserted as text: nothing from a file becomes markup.
  const SVG = "http://www.w3.org/2000/svg";
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "tip") tip(node, value);
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
    return node;
  }
  const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

  const tipBox = document.getElementById("tip");
  function tip(node, text) {
    const move = (event) => {
      tipBox.textContent = text;
      tipBox.hidden = false;
      const width = tipBox.offsetWidth, height = tipBox.offsetHeight;
      tipBox.style.left = Math.max(8, Math.min(innerWidth - width - 8, event.clientX + 14)) + "px";
      tipBox.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18) + "px";
    };
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerleave", () => { tipBox.hidden = true; });
  }

  // Numbers.
  const fixed = (value, digits) => value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const digitsFor = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2);
  const number = (value) => fixed(value, digitsFor(Math.abs(value)));
  const ms = (seconds) => (seconds >= 1 ? number(seconds) + " s" : seconds >= 1e-3 ? number(seconds * 1e3) + " ms" : number(seconds * 1e6) + " µs");
  const percent = (share, digits = 1) => fixed(share * 100, digits) + " %";
  function bytes(count) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; count >= 1024 && unit < 4; ++unit) count /= 1024;
    return (unit === 0 ? count : number(count)) + " " + units[unit];
  }
  const giga = (count) => (count >= 1e9 ? number(count / 1e9) + " G" : count >= 1e6 ? number(count / 1e6) + " M" : count >= 1e3 ? number(count / 1e3) + " k" : String(count));
  function quantile(sorted, share) {
    if (!sorted.length) return 0;
    const place = share * (sorted.length - 1), low = Math.floor(place);
    return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (place - low);
  }
  function niceStep(span, count) {
    const rough = span / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough || 1));
    return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) || power * 10;
  }

  // Page.
  const nav = document.getElementById("nav");
  function section(id, title, note) {
    const node = el("section", { id }, el("h2", null, title), note ? el("p", { class: "note" }, note) : null);
    main.append(node);
    nav.append(el("a", { href: "#" + id }, title));
    return node;
  }
  const card = (title, note, ...children) => el("div", { class: "card" }, el("div", { class: "head" }, el("div", null, el("h3", null, title), note ? el("div", { class: "muted", style: "font-size:13px" }, note) : null)), ...children);
  // A chart's width is known only on the page, and changes with it.
  function chart(draw) {
    const holder = el("div", { class: "plot" });
    let drawn = 0;
    const redraw = () => { if ((drawn = holder.clientWidth)) holder.replaceChildren(draw(drawn)); };
    redraws.push(redraw);
    new ResizeObserver(() => { if (holder.clientWidth !== drawn) redraw(); }).observe(holder);
    return holder;
  }
  function bars(rows) {
    const box = el("div", { class: "bars" });
    const most = Math.max(...rows.map((row) => row.value), 1e-30);
    for (const row of rows) {
      const name = el("div", { class: "name", title: row.name }, row.name);
      const track = el("div", { class: "track" }, el("div", { class: "fill", style: `width:${(100 * row.value) / (row.whole || most)}%;background:${row.color}` }));
      if (row.tip) { tip(name, row.tip); tip(track, row.tip); }
      box.append(name, track, el("div", { class: "number" }, el("b", null, row.text)), el("div", { class: "number" }, row.more || ""));
    }
    return box;
  }

  function head() {
    main.append(el("h1", null, data.title), el("p", { class: "lead" }, data.lead));
    const tiles = el("div", { class: "tiles" });
    for (const tile of data.tiles)
      tiles.append(el("div", { class: "tile" }, el("div", { class: "what" }, tile.what), el("div", { class: "value" }, tile.value, tile.unit ? el("span", { class: "unit" }, tile.unit) : null), el("div", { class: "more" }, tile.more || "")));
    main.append(tiles);
  }

  function frames() {
    if (!data.frames.length) return;
    const node = section("frames", "Frames", "What went in and what came out, evenly spread over the run. Left and right arrow keys step through.");
    const input = el("img", { alt: "" }), result = el("img", { alt: "" });
    const where = el("b"), caption = el("span");
    const strip = el("div", { class: "strip" });
    let shown = 0;
    function show(index) {
      shown = (index + data.frames.length) % data.frames.length;
      const frame = data.frames[shown];
      input.src = frame.input;
      result.src = frame.result;
      input.alt = "Input, " + frame.name;
      result.alt = "Result, " + frame.name + (frame.caption ? ": " + frame.caption : "");
      where.textContent = frame.name;
      caption.textContent = frame.caption;
      [...strip.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === shown)));
    }
    data.frames.forEach((frame, i) => strip.append(el("button", { type: "button", "aria-label": "Show " + frame.name, onclick: () => show(i) }, el("img", { src: frame.result, alt: "" }), el("span", null, frame.short))));
    addEventListener("keydown", (event) => {
      if (event.target.closest("input, textarea") || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "ArrowRight") show(shown + 1);
      if (event.key === "ArrowLeft") show(shown - 1);
    });
    node.append(el("div", { class: "card" }, el("div", { class: "stage" },
      el("figure", null, el("div", { class: "view" }, input), el("figcaption", null, el("span", null, "Input"), where)),
      el("figure", null, el("div", { class: "view" }, result), el("figcaption", null, el("span", null, "Result"), caption))), data.frames.length > 1 ? strip : null));
    show(Math.floor(data.frames.length / 2));
  }

  function histogram(width, values, low, high, label, tipOf, top = 12) {
    const height = 178 + top, left = 34, right = 8, bottom = 34;
    const most = Math.max(...values, 1);
    const x = (share) => left + share * (width - left - right), y = (value) => height - bottom - (value / most) * (height - top - bottom);
    const picture = svg("svg", { class: "chart", height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    const step = Math.max(1, niceStep(most, 4));
    for (let value = 0; value <= most; value += step)
      picture.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }), svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, giga(value)));
    values.forEach((value, i) => {
      if (!value) return;
      const x0 = x(i / values.length), x1 = x((i + 1) / values.length);
      picture.append(svg("rect", { x: x0 + 0.75, width: Math.max(1, x1 - x0 - 1.5), y: y(value), height: height - bottom - y(value), rx: 2, fill: "var(--chart, var(--infer))", tip: tipOf(i, value) }));
    });
    picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
    const tick = niceStep(high - low, width / 90);
    for (let value = Math.ceil(low / tick - 1e-9) * tick; value <= high + tick * 1e-6; value += tick)
      picture.append(svg("text", { x: x((value - low) / (high - low)), y: height - bottom + 17, "text-anchor": "middle" }, String(+value.toPrecision(6))));
    picture.append(svg("text", { x: width - right, y: height - 2, "text-anchor": "end" }, label));
    return { picture, x: (value) => x((value - low) / (high - low)), top, bottom: height - bottom };
  }

  function accuracy() {
    const found = data.accuracy;
    if (!found) return;
    const node = section("accuracy", "Accuracy", `Answers, read back from the file that the run wrote, against what is known of the clip: ${found.objects} objects in ${found.frames} frames, ${found.detections} answers. Boxes are matched frame by frame at an IoU of at least 0.5; what was not found counts as IoU 0.`);
    const byClass = bars(found.classes.filter((one) => one.drawn).map((one) => ({ name: one.label, value: one.mean_iou, whole: 1, color: "var(--good)", text: fixed(one.mean_iou, 3), more: `${one.found} of ${one.drawn} found`, tip: `${one.label}: ${one.found} of ${one.drawn} found` })));
    const iou = chart((width) => {
      const values = found.histogram.slice(10);
      const drawn = histogram(width, values, 0.5, 1, "IoU of matches", (i, value) => `IoU ${fixed(0.5 + i * 0.05, 2)} to ${fixed(0.55 + i * 0.05, 2)}: ${value} boxes`);
      drawn.picture.style.setProperty("--chart", "var(--good)");
      return drawn.picture;
    });
    const labels = found.classes.map((one) => one.label);
    const table = el("table", { class: "matrix" }, el("thead", null, el("tr", null, el("th"), labels.map((label) => el("th", { scope: "col" }, el("span", null, label))))));
    const body = el("tbody");
    found.classes.forEach((one, row) => {
      const sum = one.said.reduce((a, b) => a + b, 0) || 1;
      body.append(el("tr", null, el("th", { scope: "row" }, one.label), one.said.map((count, column) => {
        const share = count / sum;
        const wrong = row !== column && count > 0;
        return el("td", { style: count ? `background:rgba(${wrong ? "213,94,0" : "var(--heat)"},${(0.12 + 0.55 * share).toFixed(3)})` : "color:var(--faint)", tip: `${one.label} answered as ${labels[column]}: ${count} of ${sum}` }, String(count));
      })));
    });
    table.append(body);
    node.append(el("div", { class: "row three" }, card("Mean IoU by class", "1 is a perfect box", byClass), card("Overlap of the boxes found", "How tightly answers fit", iou),
      card("Confusion", "Rows: what it is. Columns: what was answered", el("div", { class: "scroll" }, table))));
  }

  // Labels are next to their lines; one that would overlap another moves down a row.
  function labelRows(labels, width) {
    const ends = [];
    for (const label of labels) {
      const wide = label.text.length * 7 + 6;
      label.atEnd = label.x + 5 + wide > width;
      const begin = label.atEnd ? label.x - 5 - wide : label.x + 5;
      label.row = ends.findIndex((end) => end <= begin);
      if (label.row < 0) label.row = ends.length;
      ends[label.row] = label.x + (label.atEnd ? 5 : 5 + wide);
    }
    return ends.length;
  }

  const stageNames = { infer: "Inference", then: "Second network", preprocess: "Preprocessing", decode: "Decoding", draw: "Drawing", encode: "Encoding" };
  function latency() {
    const kinds = Object.keys(stageNames).filter((kind) => data.times[kind].some((value) => value > 0));
    if (!kinds.length) return;
    let chosen = kinds[0];
    const note = el("div", { class: "muted", style: "font-size:13px" });
    const plot = chart((width) => {
      const sorted = data.times[chosen].slice().sort((a, b) => a - b).map((value) => value * 1e3);
      const marks = [["p50", 0.5], ["p90", 0.9], ["p99", 0.99]].map(([name, share]) => [name, quantile(sorted, share)]);
      const high = Math.max(quantile(sorted, 0.995) * 1.04, sorted[0] * 1.05 + 1e-6), low = Math.max(0, sorted[0] - (high - sorted[0]) * 0.06);
      const count = Math.max(8, Math.min(48, Math.round(Math.sqrt(sorted.length) * 2.2)));
      const values = Array(count).fill(0);
      for (const value of sorted) ++values[Math.min(count - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * count)))];
      const whole = data.nodes.some((step) => step.op.startsWith("preprocess_images"));
      note.textContent = `${stageNames[chosen]} of one ${data.noun}${chosen === "infer" ? (whole ? ", preprocessing included as a step of the network" : data.times.preprocess.length ? ", preprocessing included" : "") : ""}, ${sorted.length} ${data.noun}s: median ${ms(marks[0][1] / 1e3)}, 99 % within ${ms(marks[2][1] / 1e3)}`;
      const size = (high - low) / count;
      const labels = marks.map(([name, value]) => ({ text: `${name} ${number(value)}`, x: Math.min(34 + ((value - low) / (high - low)) * (width - 42), width - 8) }));
      const rows = labelRows(labels, width);
      const drawn = histogram(width, values, low, high, "milliseconds", (i, value) => `${number(low + i * size)} to ${number(low + (i + 1) * size)} ms: ${value} ${data.noun}s` + (i === count - 1 ? " (and slower)" : ""), 8 + rows * 15);
      drawn.picture.style.setProperty("--chart", `var(--${chosen})`);
      for (const { text, x, row, atEnd } of labels)
        drawn.picture.append(svg("line", { x1: x, x2: x, y1: row * 15 + 2, y2: drawn.bottom, stroke: "var(--ink)", "stroke-dasharray": "3 3", "stroke-width": 1.2 }),
          svg("text", { x: x + (atEnd ? -5 : 5), y: row * 15 + 12, class: "strong", "text-anchor": atEnd ? "end" : "start" }, text));
      return drawn.picture;
    });
    const tools = el("div", { class: "tools" });
    const buttons = kinds.map((kind) => el("button", { type: "button", "aria-pressed": String(kind === chosen), onclick: () => {
      chosen = kind;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(kinds[i] === kind)));
      redraws.forEach((redraw) => redraw());
    } }, kind));
    if (kinds.length > 1) tools.append(...buttons);
    return el("div", { class: "card" }, el("div", { class: "head" }, el("div", null, el("h3", null, "Latency"), note), tools), plot);
  }

  function throughput() {
    const { stretch, end, done } = data.throughput;
    if (end <= 0 || done.length < 3) return;
    const plot = chart((width) => {
      // Intervals with too few frames mean nothing on their own.
      const total = done.reduce((sum, value) => sum + value, 0);
      const join = Math.max(1, Math.ceil(done.length / Math.max(4, Math.min(60, Math.floor(total / 4), Math.floor(width / 9)))));
      const bars = [];
      for (let i = 0; i < done.length; i += join) {
        const from = i * stretch, to = Math.min((i + join) * stretch, end);
        if (to > from) bars.push({ from, to, rate: done.slice(i, i + join).reduce((sum, value) => sum + value, 0) / (to - from) });
      }
      if (bars.length > 1 && bars[bars.length - 1].to - bars[bars.length - 1].from < 0.5 * join * stretch) bars.pop(); // The incomplete last interval.
      const height = 190, left = 44, right = 8, top = 12, bottom = 34, most = Math.max(...bars.map((bar) => bar.rate), 1e-9), last = bars[bars.length - 1].to;
      const x = (time) => left + (time / last) * (width - left - right), y = (rate) => height - bottom - (rate / most) * (height - top - bottom);
      const picture = svg("svg", { class: "chart", height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Throughput over time" });
      const step = niceStep(most, 4);
      for (let value = 0; value <= most; value += step)
        picture.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }), svg("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, String(+value.toPrecision(6))));
      for (const bar of bars)
        picture.append(svg("rect", { x: x(bar.from) + 0.5, width: Math.max(1, x(bar.to) - x(bar.from) - 1), y: y(bar.rate), height: height - bottom - y(bar.rate), rx: 1.5, fill: "var(--good)", tip: `${number(bar.rate)} a second\n${ms(bar.from)} to ${ms(bar.to)}` }));
      picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
      const tick = niceStep(last, width / 90);
      for (let time = 0; time <= last * 1.0001; time += tick) picture.append(svg("text", { x: x(time), y: height - bottom + 17, "text-anchor": "middle" }, String(+time.toPrecision(6))));
      picture.append(svg("text", { x: width - right, y: height - 2, "text-anchor": "end" }, "seconds from the beginning"));
      return picture;
    });
    return card("Throughput over time", `${data.noun === "image" ? "Images" : "Frames"} that were done, a second`, plot);
  }

  function stages() {
    const { stages, seconds, limit, side_by_side: apart } = data.stages;
    if (!stages.length || seconds <= 0) return;
    const colors = { decode: "decode", preprocess: "preprocess", network: "infer", then: "then", draw: "draw", encode: "encode", report: "k7" };
    const rows = stages.map((stage) => ({ name: stage.name, value: stage.seconds, whole: Math.max(seconds, ...stages.map((one) => one.seconds)), color: `var(--${colors[stage.name]})`, text: percent(stage.seconds / seconds, 0), more: ms(stage.seconds) }));
    return card("What limits the rate", apart ? `Share of the run's ${ms(seconds)} that each stage was at work. Stages overlap; preprocessing shares a thread with the network, ${data.times.then.length ? "a second network with drawing and encoding" : "drawing with encoding"}` : `Share of the run's ${ms(seconds)}`, el("p", { class: "limit" }, limit), bars(rows));
  }

  function timeline() {
    const spans = data.timeline.spans;
    if (!spans.length) return;
    const tracks = ["decode", "infer", "encode"].filter((track) => spans.some((span) => span[0] === track));
    const trackNames = { decode: "decode", infer: "network", encode: "output" };
    const end = Math.max(...spans.map((span) => span[3]));
    // About two dozen frames from the middle, as the start is not typical.
    const middle = spans[Math.floor(spans.length / 2)][2];
    const perFrame = end / Math.max(1, data.times.infer.length);
    let from = Math.max(0, middle - 12 * perFrame), to = Math.min(end, from + 24 * perFrame);
    const plot = chart((width) => {
      const left = 66, right = 8, high = 38, top = 6, height = top + tracks.length * high + 34;
      const x = (time) => left + ((time - from) / (to - from)) * (width - left - right);
      const picture = svg("svg", { class: "chart timeline", height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "What ran when" });
      const clip = svg("clipPath", { id: "lanes" }, svg("rect", { x: left, y: 0, width: width - left - right, height }));
      const inside = svg("g", { "clip-path": "url(#lanes)" });
      picture.append(clip, inside);
      tracks.forEach((track, row) => {
        picture.append(svg("text", { x: 0, y: top + row * high + high / 2 + 1, class: "strong" }, trackNames[track]));
        inside.append(svg("rect", { x: left, y: top + row * high + 3, width: width - left - right, height: high - 12, rx: 4, fill: "var(--wash)" }));
      });
      let lastRight = {};
      for (const [track, name, start, stop, frame] of spans) {
        if (stop < from || start > to) continue;
        const row = tracks.indexOf(track), x0 = x(start), wide = x(stop) - x0;
        const lane = track + name;
        if (row < 0 || (wide < 0.3 && x0 < (lastRight[lane] || 0))) continue;
        lastRight[lane] = x0 + Math.max(wide, 0.6);
        inside.append(svg("rect", { x: x0, y: top + row * high + 3, width: Math.max(0.8, wide - 0.6), height: high - 12, rx: Math.min(3, wide / 3), fill: `var(--${name === "report" ? "k7" : name in stageNames ? name : track})`, tip: `${name}${frame >= 0 ? ", frame " + frame : ""}\n${ms(stop - start)}, from ${ms(start)}` }));
      }
      const tick = niceStep(to - from, (width - left) / 110), base = top + tracks.length * high + 2;
      for (let time = Math.ceil(from / tick) * tick; time <= to; time += tick)
        picture.append(svg("line", { class: "axis", x1: x(time), x2: x(time), y1: base - 4, y2: base + 2 }), svg("text", { x: x(time), y: base + 17, "text-anchor": "middle" }, ms(+time.toPrecision(9))));
      let held = null;
      picture.addEventListener("pointerdown", (event) => { held = { x: event.clientX, from, to }; });
      picture.addEventListener("pointermove", (event) => {
        if (!held || !event.buttons) return;
        const shift = ((held.x - event.clientX) / (width - left - right)) * (held.to - held.from);
        const moved = Math.max(-held.from, Math.min(end - held.to, shift));
        from = held.from + moved;
        to = held.to + moved;
        requestAnimationFrame(redraw);
      });
      picture.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        const box = picture.getBoundingClientRect();
        zoom(event.deltaY < 0 ? 0.8 : 1.25, (event.clientX - box.left - left) / (width - left - right));
      }, { passive: false });
      return picture;
    });
    const redraw = redraws[redraws.length - 1];
    function zoom(factor, at = 0.5) {
      const centre = from + (to - from) * at;
      const span = Math.max(1e-4, Math.min(end, (to - from) * factor));
      from = Math.max(0, Math.min(end - span, centre - span * at));
      to = from + span;
      redraw();
    }
    const button = (label, name, act) => el("button", { type: "button", "aria-label": name, onclick: act }, label);
    const legend = el("div", { class: "legend", style: "margin-top:6px" }, [["decode", "decode"], ["preprocess", "preprocess"], ["infer", "network"], ["then", "second network"], ["draw", "draw"], ["encode", "encode"], ["report", "pictures of this page"]].filter(([key]) => spans.some((span) => span[1] === key)).map(([key, name]) => el("span", null, el("i", { style: `background:var(--${key === "report" ? "k7" : key})` }), name)));
    const left = data.timeline.left_out ? ` The first ${spans.length} spans; ${data.timeline.left_out} more were left out.` : "";
    return el("div", { class: "card", style: "margin-top:18px" }, el("div", { class: "head" }, el("div", null, el("h3", null, "Timeline"), el("div", { class: "muted", style: "font-size:13px" }, "What ran when, on one clock; bars above each other ran at the same time. Drag to move." + left)),
      el("div", { class: "tools" }, button("−", "Zoom out", () => zoom(2)), button("+", "Zoom in", () => zoom(0.5)), button("all", "Show all", () => { from = 0; to = end; redraw(); }))), plot, legend);
  }

  function speed() {
    if (!data.times.infer.length) return;
    const node = section("speed", "Speed", data.speed_note);
    const row = [stages(), throughput()].filter(Boolean);
    if (row.length) node.append(el("div", { class: "row", style: "margin:0 0 18px" }, row));
    node.append(...[latency(), timeline()].filter(Boolean));
  }

  const families = [["convolution", /conv/], ["matrix product", /gemm|matmul|einsum|product/], ["normalisation", /norm|lrn/], ["activation", /relu|sigmoid|tanh|clip|elu|gelu|swish|softmax|exp|activation/], ["pooling", /pool|reduce|mean/], ["arithmetic", /add|mul|sub|div|sum|pow|sqrt|elementwise|group|min|max|fused/], ["movement", /reshape|transpose|concat|split|slice|gather|pad|resize|flatten|squeeze|expand|reorder|cast|shape|identity|alias|upsample|copy|tile/]];
  function family(name) {
    const found = families.findIndex(([, pattern]) => pattern.test(name.toLowerCase()));
    return found < 0 ? 7 : found;
  }
  const familyName = (index) => (index < 7 ? families[index][0] : "other");

  function nodes() {
    const steps = data.nodes.filter((step) => step.runs > 0).map((step) => ({ ...step, each: step.seconds / step.runs }));
    if (!steps.length) return;
    const total = steps.reduce((sum, step) => sum + step.each, 0) || 1e-30;
    steps.sort((a, b) => b.each - a.each);
    const node = section("nodes", "Where the time goes", `Measured inside the run: ${steps.length} steps, ${ms(total)} for one run of the network, mean of ${steps[0].runs} ${steps[0].runs === 1 ? "run" : "runs"}.`);
    // Long lists of a step's nodes: first + ... + last, 12 nodes.
    const namesOf = (step, most) => step.sources.length <= most ? step.sources.join(" + ") : `${step.sources[0]} + … + ${step.sources.at(-1)}, ${step.sources.length} nodes`;
    const unitOf = (step) => step.matrix_unit === "none" ? `no matrix unit: ${step.matrix_unit_reason}` : step.matrix_unit;
    const limitOf = (step) => `${percent(step.limit.seconds / step.each)} of what ${step.limit.by === "compute" ? "arithmetic" : "memory"} allows`;
    const paddingOf = (step) => step.padding_bytes && step.bytes ? percent(step.padding_bytes / step.bytes) : "–";
    const tipOf = (step) => `${step.name}\n${step.op} by ${step.backend}${step.kernel ? ":" + step.kernel : ""}\n${ms(step.each)}, ${percent(step.each / total)}` + (step.flops ? `\n${giga(step.flops / step.each)}FLOP/s` : "") + (step.bytes ? `\n${giga(step.bytes / step.each)}B/s` : "") + (step.matrix_unit ? `\n${unitOf(step)}` : "") + (step.limit ? `\n${limitOf(step)}` : "") + (step.sources.length ? "\nfrom " + namesOf(step, 8) : "");
    const row = (step) => ({ name: step.name, value: step.each, color: `var(--k${family(step.op)})`, text: ms(step.each), more: percent(step.each / total), tip: tipOf(step) });
    const few = 18;
    const holder = el("div", null, bars(steps.slice(0, few).map(row)));
    const more = steps.length > few ? el("div", { class: "tools", style: "margin-top:12px" }, el("button", { type: "button", onclick: (event) => { holder.replaceChildren(bars(steps.map(row))); event.target.remove(); } }, `all ${steps.length} steps`)) : null;
    const kinds = new Map();
    for (const step of steps) {
      const kind = kinds.get(step.op) || { name: step.op, each: 0, count: 0 };
      kind.each += step.each;
      ++kind.count;
      kinds.set(step.op, kind);
    }
    const sorted = [...kinds.values()].sort((a, b) => b.each - a.each);
    const byKind = bars(sorted.slice(0, 14).map((kind) => ({ name: kind.name, value: kind.each, whole: total, color: `var(--k${family(kind.name)})`, text: percent(kind.each / total), more: `${ms(kind.each)}, ${kind.count} ${kind.count === 1 ? "step" : "steps"}` })));
    const used = [...new Set(steps.map((step) => family(step.op)))].sort();
    const legend = el("div", { class: "legend", style: "margin-top:14px" }, used.map((index) => el("span", null, el("i", { style: `background:var(--k${index})` }), familyName(index))));
    const table = el("table", { class: "data" }, el("thead", null, el("tr", null, ["step", "kind", "kernel", "matrix unit"].map((name) => el("th", null, name)), ["time", "share", "of limit", "of FLOPs", "FLOP/s", "B/s", "padding"].map((name) => el("th", { class: "r" }, name)), el("th", null, "from"))),
      el("tbody", null, steps.map((step) => el("tr", null, el("td", null, el("code", null, step.name)), el("td", { style: "min-width:16ch;overflow-wrap:anywhere" }, step.op.replaceAll("+", "\u200b+")), el("td", null, `${step.backend}${step.kernel ? ":" + step.kernel : ""}`), el("td", { title: step.matrix_unit_reason || null }, step.matrix_unit || "–"), el("td", { class: "r" }, ms(step.each)), el("td", { class: "r" }, percent(step.each / total)), el("td", { class: "r", title: step.limit ? limitOf(step) : null }, step.limit ? percent(step.limit.seconds / step.each) : "–"), el("td", { class: "r" }, step.flops ? percent(step.flops_share) : "–"), el("td", { class: "r" }, step.flops ? giga(step.flops / step.each) : "–"), el("td", { class: "r" }, step.bytes ? giga(step.bytes / step.each) : "–"), el("td", { class: "r" }, paddingOf(step)), el("td", { title: step.sources.join(" + ") }, namesOf(step, 4))))));
    if (data.advice.length) node.append(card("What holds it back", "From what was measured and decided", el("ul", { class: "advice" }, data.advice.map((text) => el("li", null, text)))));
    node.append(el("div", { class: "row" }, card("By step", "The slowest first", holder, more), card("By kind", "Share of the network's time", byKind, legend)),
      el("details", { class: "card" }, el("summary", null, "All steps as a table"), el("div", { class: "scroll", style: "max-height:480px" }, table)));
  }

  // How the magnitudes of a value are distributed; larger ones than the threshold are stored as it.
  function distribution(value) {
    const { counts, largest, zeros } = value.histogram, width = 256, height = 84, step = width / counts.length;
    const most = Math.log1p(Math.max(...counts, 1)), at = Math.min(value.threshold / largest, 1) * width;
    const bars = counts.map((count, i) => svg("rect", { x: i * step, y: height - (height * Math.log1p(count)) / most, width: step - 0.6, height: (height * Math.log1p(count)) / most, fill: i * step < at ? "var(--k0)" : "var(--k3)" }));
    const line = svg("line", { x1: at, x2: at, y1: 0, y2: height, stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": "4 3" });
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Distribution of ${value.name}`, style: "width:100%;height:84px" }, bars, line);
    const total = counts.reduce((sum, count) => sum + count, zeros);
    tip(picture, `${total} values, ${zeros} of them zero; counts on a logarithmic scale, magnitudes from 0 to ${largest.toPrecision(4)}; dashed: the threshold`);
    return picture;
  }

  function int8() {
    if (!data.int8) return;
    const { nodes, values } = data.int8, back = nodes.filter((node) => !node.int8);
    const ratio = (snr) => (snr === null ? "–" : `${fixed(snr, 1)} dB`);
    const node = section("int8", "INT8", `${data.int8.int8_nodes} of ${nodes.length} convolutions and products are in INT8${data.int8.bias_corrected_nodes ? `, ${data.int8.bias_corrected_nodes} with corrected biases` : ""}${data.int8.equalised_nodes ? `, ${data.int8.equalised_nodes} read equalised channels` : ""}; signal-to-noise ratio of the network's outputs: ${ratio(data.int8.outputs_snr_db)}.${back.length ? "" : " No node went back to FP32."}`);
    const rows = (list) => el("div", { class: "scroll", style: "max-height:360px" }, el("table", { class: "data" }, el("thead", null, el("tr", null, el("th", null, "node"), el("th", { class: "r" }, "signal to noise"), el("th", null, "why"))), el("tbody", null, list.map((one) => el("tr", null, el("td", null, el("code", null, one.node)), el("td", { class: "r" }, ratio(one.snr_db)), el("td", null, one.why || (one.bias_corrected ? `in INT8, bias corrected: ${ratio(one.uncorrected_snr_db)} without` : one.int8 ? "in INT8" : "")))))));
    const worst = [...nodes].sort((a, b) => (a.snr_db ?? Infinity) - (b.snr_db ?? Infinity));
    if (back.length) node.append(card("Back to FP32", `${back.length} ${back.length === 1 ? "node" : "nodes"}, with the signal-to-noise ratio that ${back.length === 1 ? "it" : "they"} had in INT8`, rows(worst.filter((one) => !one.int8))));
    node.append(el("details", { class: "card" }, el("summary", null, "All nodes, the least exact first"), rows(worst)));
    const drawn = values.filter((value) => value.histogram), few = 12;
    const box = (value) => el("div", { class: "card", style: "min-width:0" }, el("div", { class: "name", style: "font-size:13px;overflow-wrap:anywhere" }, el("code", null, value.name)), distribution(value), el("div", { class: "muted", style: "font-size:13px" }, `threshold ${value.threshold.toPrecision(4)} of ${value.histogram.largest.toPrecision(4)}, ${value.calibrator}, ${value.least < 0 ? "i8" : "u8"}`));
    const holder = el("div", { style: "display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));gap:14px;margin-top:14px" }, drawn.slice(0, few).map(box));
    if (drawn.length) node.append(el("h3", { style: "margin-top:18px" }, "Thresholds"), holder);
    if (drawn.length > few) node.append(el("div", { class: "tools", style: "margin-top:12px" }, el("button", { type: "button", onclick: (event) => { holder.append(...drawn.slice(few).map(box)); event.target.remove(); } }, `all ${drawn.length} values`)));
  }

  let arrows = 0;
  function graphBox(title, graph) {
    const picture = svg("svg", { role: "img", "aria-label": `${title}: ${graph.nodes.length} nodes` });
    const group = svg("g"), arrow = "arrow" + arrows++;
    picture.append(svg("defs", null, svg("marker", { id: arrow, viewBox: "0 0 8 8", refX: 7.4, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { class: "tip", d: "M0.5 0.8L7.6 4L0.5 7.2z" }))), group);
    for (const curve of graph.curves) {
      if (curve.length < 4) continue;
      let path = `M${curve[0].join(" ")}`;
      for (let i = 1; i + 2 < curve.length; i += 3) path += `C${curve[i].join(" ")} ${curve[i + 1].join(" ")} ${curve[i + 2].join(" ")}`;
      group.append(svg("path", { d: path, "marker-end": `url(#${arrow})` }));
    }
    for (const node of graph.nodes) {
      const short = (text) => (text.length > 23 ? text.slice(0, 22) + "…" : text);
      group.append(svg("g", { tip: `${node.title}${node.detail ? "\n" + node.detail : ""}\n${node.tip}` },
        svg("rect", { class: "node", x: node.x - graph.node_width / 2, y: node.y - graph.node_height / 2, width: graph.node_width, height: graph.node_height, rx: 5, stroke: `var(--k${family(node.group)})` }),
        svg("rect", { x: node.x - graph.node_width / 2, y: node.y - graph.node_height / 2 + 8, width: 3.5, height: graph.node_height - 16, rx: 1.5, fill: `var(--k${family(node.group)})` }),
        svg("text", { class: short(node.title).length > 16 ? "op long" : "op", x: node.x, y: node.y + (node.detail ? -2 : 4) }, short(node.title)), node.detail ? svg("text", { class: "type", x: node.x, y: node.y + 13 }, short(node.detail)) : null));
    }
    const box = el("div", { class: "graph", style: `height:${Math.round(Math.min(560, Math.max(180, graph.height + 30)))}px` }, picture);
    let scale = 1, x = 0, y = 0, fitted = 0, moved = false;
    const apply = () => group.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    function fit(whole) {
      const width = box.clientWidth, height = box.clientHeight;
      scale = whole ? Math.min(width / graph.width, height / graph.height) * 0.96 : Math.min(1, Math.max(0.5, (width - 24) / graph.width));
      x = (width - graph.width * scale) / 2;
      y = whole ? (height - graph.height * scale) / 2 : 14;
      apply();
    }
    new ResizeObserver(() => { if (!moved && box.clientWidth && box.clientWidth !== fitted) { fitted = box.clientWidth; fit(false); } }).observe(box);
    function zoom(factor, px = box.clientWidth / 2, py = box.clientHeight / 2) {
      const next = Math.max(0.04, Math.min(3, scale * factor));
      moved = true;
      x = px - ((px - x) * next) / scale;
      y = py - ((py - y) * next) / scale;
      scale = next;
      apply();
    }
    box.addEventListener("wheel", (event) => {
      event.preventDefault();
      const place = box.getBoundingClientRect();
      moved = true;
      if (event.ctrlKey || event.metaKey) return zoom(Math.exp(-event.deltaY / 300), event.clientX - place.left, event.clientY - place.top);
      x -= event.deltaX;
      y -= event.deltaY;
      apply();
    }, { passive: false });
    let held = null;
    box.addEventListener("pointerdown", (event) => { held = [event.clientX - x, event.clientY - y]; box.setPointerCapture(event.pointerId); });
    box.addEventListener("pointermove", (event) => { if (held && event.buttons) { moved = true; x = event.clientX - held[0]; y = event.clientY - held[1]; apply(); } });
    box.addEventListener("pointerup", () => { held = null; });
    const grouped = graph.operators > graph.nodes.length ? `, drawn as ${graph.nodes.length}` : "";
    const tools = el("div", { class: "tools" }, [["−", "Zoom out", () => zoom(0.7)], ["+", "Zoom in", () => zoom(1.4)], ["fit", "Show all", () => { moved = true; fit(true); }]].map(([label, name, act]) => el("button", { type: "button", "aria-label": `${name}: ${title}`, onclick: act }, label)));
    return el("div", { class: "card" }, el("div", { class: "head" }, el("div", null, el("h3", null, title), el("div", { class: "muted", style: "font-size:13px" }, `${graph.operators} nodes${grouped}. ${graph.note}`)), tools), box);
  }

  function graphs() {
    if (!data.graphs.length) return;
    const node = section("graph", "Graph", "The model as given, and as it runs: nodes fused, storages and kernels chosen. Drag to move, Ctrl and wheel to zoom; point at a node for its name, kernel and sources.");
    node.append(el("div", { class: "row" }, data.graphs.map((graph) => graphBox(graph.title, graph))));
  }

  function facts() {
    const node = section("details", "Details");
    const few = 4, words = (text) => text.split(" ").flatMap((word) => [el("span", null, word), " "]);
    const command = (text) => {
      const end = text.length > 700 ? text.indexOf(" ", 400) : -1;
      return el("dd", { class: "command" }, words(end < 0 ? text : text.slice(0, end)), end < 0 ? null : el("details", { class: "more" }, el("summary", null, "and the rest"), el("div", { class: "list" }, words(text.slice(end + 1)))));
    };
    const texts = (values) => values.map((value) => el("div", null, value));
    const value = (text) => (!Array.isArray(text) ? text : text.length <= few ? texts(text) : [texts(text.slice(0, few - 1)), el("details", { class: "more" }, el("summary", null, `and ${text.length - few + 1} more`), el("div", { class: "list" }, texts(text.slice(few - 1))))]);
    const list = (rows) => el("dl", { class: "facts" }, rows.map(([name, text]) => [el("dt", null, Array.isArray(text) ? `${name}s (${text.length})` : name), name === "command" ? command(text) : el("dd", null, value(text))]));
    const memory = [["weights", data.memory.weight_bytes], ["activations", data.memory.arena_bytes], ["process at its peak", data.memory.peak_bytes]].filter(([, count]) => count > 0);
    node.append(el("div", { class: "row" }, card("What was run", null, list(data.facts)),
      memory.length ? card("Memory", null, list(memory.map(([name, count]) => [name, bytes(count)]))) : []));
    main.append(el("footer", null, `Made by lanner ${data.version}. This page holds everything that it shows and loads nothing.`));
  }

  for (const part of [head, frames, accuracy, speed, nodes, int8, graphs, facts]) part();
  const redrawAll = () => redraws.forEach((redraw) => redraw());
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redrawAll, 80); });
  redrawAll();
})();
