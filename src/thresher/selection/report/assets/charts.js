// Charts: each is a Vega-Lite specification of the data of a view. Colours are variables of the style sheet, so that
// light, dark and print need no second drawing.
const INK = "var(--ink)", SOFT = "var(--soft)", C = i => `var(--c${1 + i % 8})`;
const CONFIG = {
  background: null, font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif",
  view: { stroke: null }, bar: { color: C(0) }, line: { color: C(0), strokeWidth: 2 }, point: { color: C(0), filled: true, size: 36 },
  axis: { labelColor: SOFT, titleColor: SOFT, titleFontWeight: "normal", titleFontSize: 12, labelFontSize: 12, domainColor: "var(--line)",
    tickColor: "var(--line)", gridColor: "var(--grid)", titlePadding: 8, labelLimit: 150, labelOverlap: true },
  axisX: { grid: false, tickCount: 5 }, axisY: { domain: false, ticks: false, tickCount: 5 },
  legend: { labelColor: INK, titleColor: SOFT, labelFontSize: 12, orient: "top", title: null, labelLimit: 160, symbolType: "stroke", columns: 3, offset: 4, symbolStrokeWidth: 3 },
  rule: { color: SOFT }, text: { color: SOFT, fontSize: 12, font: "inherit" },
};
const jobs = [];
const records = columns => {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, i) => Object.fromEntries(names.map(name => [name, columns[name][i]])));
};
const q = (field, title, more) => ({ field, type: "quantitative", title, ...more });
const tips = fields => fields.map(([field, title, format]) => ({ field, title, type: "quantitative", format: format || ",.4~g" }));
const BARS = { type: "rect", stroke: "var(--card)", strokeWidth: 1 };
const whole = { axis: { tickMinStep: 1, format: "~s" } };
const near = { scale: { zero: false, nice: true } };

// A figure with a chart, and the same numbers as a table for who cannot see it.
function chart(caption, description, values, layers, { height = 240, columns } = {}) {
  const box = el("div", { class: "chart", role: "img", "aria-label": description });
  jobs.push({ box, spec: { width: "container", height, autosize: { type: "fit-x", contains: "padding" }, data: { values }, layer: layers, config: CONFIG } });
  const names = columns || Object.keys(values[0] || {}).map(name => [name, name.replace(/_/g, " ")]);
  const details = el("details", {}, el("summary", { text: "Numbers" }));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1)
      details.append(plainTable(names.map(n => n[1]), values.slice(0, 300).map(v => names.map(n => v[n[0]] ?? null)), { caption: caption || description }));
  });
  return el("figure", {}, caption ? el("figcaption", { text: caption }) : null, box, details);
}

function drawCharts() {
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); drawOne(jobs.find(job => job.box === entry.target)); }
  }, { rootMargin: "600px" });
  for (const job of jobs) seen.observe(job.box);
  window.addEventListener("beforeprint", () => jobs.forEach(drawOne));
}

function drawOne(job) {
  if (job.drawn) return;
  job.drawn = true;
  vegaEmbed(job.box, job.spec, { actions: false, renderer: "svg", mode: "vega-lite", ast: false }).then(() => {
    // The label of the box says what the chart shows; its parts would be read one by one.
    const svg = job.box.querySelector("svg");
    if (svg) { svg.setAttribute("aria-hidden", "true"); svg.setAttribute("focusable", "false"); }
    job.box.querySelectorAll("[role]").forEach(part => part.removeAttribute("role"));
    job.box.classList.remove("vega-embed");
  });
}

const VIEWS = {
  k_curve(view) {
    const values = view.points.map(p => ({ ...p, low: p.loss - p.error, high: p.loss + p.error, chosen: p.k === view.chosen }));
    const x = { field: "k", type: "quantitative", title: "features kept", scale: { type: "log", nice: false, padding: 12 }, axis: { format: "~s", tickCount: 6 } };
    return [chart("", `Held-out loss by the number of features; ${view.chosen} is chosen.`, values, [
      { mark: { type: "line", opacity: 0.5 }, encoding: { x, y: q("loss", "held-out loss", near) } },
      { mark: { type: "rule", color: C(0) }, encoding: { x, y: q("low", "held-out loss", near), y2: { field: "high" } } },
      { mark: { type: "point", opacity: 1 }, encoding: { x, y: q("loss", "held-out loss", near), tooltip: tips([["k", "features", ","], ["loss", "loss"], ["error", "standard error"]]),
        size: { condition: { test: "datum.chosen", value: 170 }, value: 40 }, color: { condition: { test: "datum.chosen", value: C(1) }, value: C(0) } } },
      { transform: [{ filter: "datum.chosen" }], mark: { type: "text", dy: -16, color: INK, fontWeight: 600 }, encoding: { x, y: q("loss"), text: { value: `${count(view.chosen)} chosen` } } },
    ], { columns: [["k", "features"], ["loss", "loss"], ["error", "standard error"]] })];
  },

  learning_curve(view) {
    const values = records({ row: view.rows, loss: view.loss }).map(v => ({ ...v, curve: "progressive" }))
      .concat(view.held_out.map(v => ({ ...v, curve: "held out, after a pass", best: v.passes === view.best })));
    const color = { field: "curve", type: "nominal", scale: { domain: view.held_out.length ? ["progressive", "held out, after a pass"] : ["progressive"], range: [C(0), C(1)] }, legend: view.held_out.length ? {} : null };
    const x = q("row", "rows learned", { axis: { format: "~s" }, scale: { nice: false } }), y = q("loss", "mean loss", near);
    const tooltip = tips([["row", "rows", ","], ["loss", "loss"]]);
    const marks = view.pass_ends.slice(0, -1).map(row => ({ data: { values: [{ row }] }, mark: { type: "rule", strokeDash: [2, 4] }, encoding: { x: q("row") } }));
    const best = view.held_out.find(v => v.passes === view.best);
    return [chart("", `Mean loss over ${count(view.rows[view.rows.length - 1] || 0)} rows: ${figure(view.loss[0])} at first, ${figure(view.loss[view.loss.length - 1])} at the end.`, values, [
      ...marks,
      { transform: [{ filter: "datum.curve === 'progressive'" }], mark: { type: "line" }, encoding: { x, y, color, tooltip } },
      { transform: [{ filter: "datum.curve !== 'progressive'" }], mark: { type: "line", strokeDash: [4, 3], point: { filled: true, size: 60, color: C(1) } }, encoding: { x, y, color, tooltip } },
      ...(best ? [{ data: { values: [best] }, mark: { type: "text", dy: -14, color: INK, fontWeight: 600 }, encoding: { x: q("row"), y: q("loss"), text: { value: "kept" } } }] : []),
    ], { columns: [["row", "rows"], ["curve", "curve"], ["loss", "loss"]] })];
  },

  kept_history(view) {
    const values = view.rows.flatMap((row, i) => [
      { row, overlap: view.jaccard[i], with: "the snapshot before" }, { row, overlap: view.to_final[i], with: "the final selection" },
    ]).filter(v => v.overlap !== null);
    const x = q("row", "rows learned", { axis: { format: "~s" }, scale: { nice: false } });
    const figures = [chart("Overlap of the kept set with …", `Overlap of the kept features with the final selection: ${figure(view.to_final[0])} at first, ${figure(view.to_final[view.to_final.length - 1])} at the end.`, values, [
      { mark: "line", encoding: { x, y: q("overlap", "Jaccard", { scale: { domain: [0, 1] } }), color: { field: "with", type: "nominal", scale: { domain: ["the final selection", "the snapshot before"], range: [C(0), C(1)] } }, tooltip: tips([["row", "rows", ","], ["overlap", "Jaccard"]]) } },
    ])];
    if (view.timeline) {
      const { rows, names, kept } = view.timeline, spans = [];
      // A feature may have the name of another: the place tells them apart.
      kept.forEach((bits, i) => {
        for (let from = 0; from < bits.length; from++) {
          if (bits[from] !== "1") continue;
          let to = from;
          while (bits[to + 1] === "1") to++;
          spans.push({ place: i, name: names[i], from: from ? rows[from - 1] : 0, to: rows[to] });
          from = to;
        }
      });
      const y = { field: "place", type: "ordinal", title: null, scale: { domain: names.map((_, i) => i) }, axis: { labelExpr: `${JSON.stringify(names)}[datum.value]`, labelLimit: 130, labelOverlap: false, grid: false } };
      figures.push(chart("When the strongest features were kept", `When each of the ${names.length} strongest features was in the kept set.`, spans, [
        { mark: { type: "bar", height: 8, cornerRadius: 2, color: C(0) }, encoding: { x: q("from", "rows learned", { axis: { format: "~s" }, scale: { nice: false, domain: [0, rows[rows.length - 1] || 1] } }), x2: { field: "to" }, y,
          tooltip: [{ field: "name", type: "nominal", title: "feature" }, ...tips([["from", "from row", ","], ["to", "to row", ","]])] } },
      ], { height: Math.max(60, 18 * names.length), columns: [["name", "feature"], ["from", "from row"], ["to", "to row"]] }));
    }
    return [el("div", { class: "pair" }, figures)];
  },

  path(view) {
    const figures = [], x = q("round", "round", { axis: { tickMinStep: 1, format: "d" }, scale: { nice: false } });
    const parts = ["objective", "bound"].filter(name => view[name]);
    if (parts.length) {
      const values = view.rounds.flatMap((round, i) => parts.map(curve => ({ round, value: view[curve][i], features: view.features[i], curve })));
      figures.push(chart("Objective", `The objective after ${view.rounds.length} rounds is ${figure(view.objective?.[view.rounds.length - 1])}.`, values, [
        { mark: { type: "line", point: { filled: true, size: 30 } }, encoding: { x, y: q("value", "objective", near), color: { field: "curve", type: "nominal", scale: { domain: parts, range: parts.map((_, i) => C(i)) }, legend: parts.length > 1 ? {} : null }, tooltip: tips([["round", "round", "d"], ["value", "value"], ["features", "features", ","]]) } },
      ]));
    }
    if (view.score) figures.push(chart("Validation score", "The validation score after each round.", records({ round: view.rounds, score: view.score, features: view.features }), [
      { mark: { type: "line", point: true }, encoding: { x, y: q("score", "score", near), tooltip: tips([["round", "round", "d"], ["score", "score"]]) } }]));
    return [figures.length > 1 ? el("div", { class: "pair" }, figures) : figures];
  },

  error_control(view) {
    const parts = [];
    if (view.mirror) {
      const { edges, stay, cut } = view.mirror, which = ["cut", "stays"];
      const values = [cut, stay].flatMap((counts, k) => counts.map((n, i) => ({ from: edges[i], to: edges[i + 1], candidates: n, which: which[k], low: k ? cut[i] : 0, high: k ? cut[i] + n : n }))).filter(v => v.candidates);
      parts.push(chart("Mirror statistics of the candidates", "How many candidates have which mirror statistic; those beyond the cut stay.", values, [
        { mark: BARS, encoding: { x: q("from", "mirror statistic (agreement of the halves)", { scale: { nice: false, domain: [edges[0], edges[edges.length - 1]] } }), x2: { field: "to" }, y: q("low", "candidates", whole), y2: { field: "high" },
          color: { field: "which", type: "nominal", scale: { domain: ["stays", "cut"], range: [C(0), "var(--c8)"] }, legend: { symbolType: "square" } }, tooltip: tips([["from", "from"], ["to", "to"], ["candidates", "candidates", ","]]) } },
        { data: { values: [{ zero: 0 }] }, mark: { type: "rule", strokeDash: [3, 4] }, encoding: { x: q("zero") } },
      ], { columns: [["from", "from"], ["to", "to"], ["which", "stays or cut"], ["candidates", "candidates"]] }));
    }
    if (view.rows.length) parts.push(el("h3", { text: "The nearest to staying" }), plainTable(view.columns, view.rows, { caption: "Candidates that were cut" }), moreOf(view.more));
    return parts;
  },

  stability(view) {
    const values = view.names.map((name, place) => ({ place, name, frequency: view.frequency[place] }));
    const y = { field: "place", type: "ordinal", title: null, axis: { labelExpr: `${JSON.stringify(view.names)}[datum.value]`, labelOverlap: false, labelLimit: 130 } };
    return [chart("", "The share of samples in which each feature was selected.", values, [
      { mark: { type: "bar", height: 8, cornerRadius: 2 }, encoding: { y, x: q("frequency", "frequency", { scale: { domain: [0, 1] }, axis: { format: "%" } }), tooltip: [{ field: "name", type: "nominal", title: "feature" }, ...tips([["frequency", "frequency"]])] } },
      ...(view.threshold === null ? [] : [{ data: { values: [{ t: view.threshold }] }, mark: { type: "rule", color: C(1), strokeDash: [4, 3], strokeWidth: 2 }, encoding: { x: q("t") } }]),
    ], { height: Math.max(60, 18 * values.length), columns: [["name", "feature"], ["frequency", "frequency"]] }), moreOf(view.more)];
  },

  ranking(view) {
    const domain = view.curves.map((_, i) => String(i));
    const labels = view.curves.map(c => c.label);
    const color = { field: "class", type: "nominal", scale: { domain, range: domain.map((_, i) => C(i)) }, legend: domain.length > 1 ? { labelExpr: `${JSON.stringify(labels)}[datum.label]` } : null };
    const of = (name, x, y) => view.curves.flatMap((curve, i) => curve[name][0].map((v, j) => ({ class: String(i), label: curve.label, [x]: v, [y]: curve[name][1][j], order: j })));
    const axis = { scale: { domain: [0, 1] }, axis: { format: ".0%", values: [0, 0.25, 0.5, 0.75, 1] } };
    const line = (x, y, xt, yt) => ({ mark: { type: "line", clip: true }, encoding: { x: q(x, xt, axis), y: q(y, yt, axis), color, order: { field: "order", type: "quantitative" } } });
    const roc = of("roc", "false", "found"), pr = of("pr", "found", "right");
    const first = view.curves[0], one = view.curves.length === 1;
    const base = one ? [{ data: { values: [{ share: first.share }] }, mark: { type: "rule", strokeDash: [3, 4] }, encoding: { y: q("share") } }] : [];
    return [el("div", { class: "pair" },
      chart(one ? `ROC: AUC ${figure(first.auc)}` : "ROC", view.curves.map(c => `${c.label}: AUC ${figure(c.auc)}`).join("; "), roc, [
        { data: { values: [{ v: 0 }, { v: 1 }] }, mark: { type: "line", color: SOFT, strokeWidth: 1, strokeDash: [3, 4] }, encoding: { x: q("v"), y: q("v") } },
        line("false", "found", "share of the others taken", "share found (recall)")], { columns: [["label", "class"], ["false", "others taken"], ["found", "found"]] }),
      chart(one ? `Precision-recall: average precision ${figure(first.average_precision)}` : "Precision-recall", view.curves.map(c => `${c.label}: average precision ${figure(c.average_precision)}`).join("; "), pr, [
        ...base, line("found", "right", "share found (recall)", "share right (precision)")], { columns: [["label", "class"], ["found", "found"], ["right", "right"]] })),
      one ? null : plainTable(["class", "AUC", "average precision", "share of the rows"], view.curves.map(c => [c.label, c.auc, c.average_precision, share(c.share)]), { caption: "Scores of each class" })];
  },

  calibration(view) {
    const values = records({ predicted: view.predicted, observed: view.observed, weight: view.weight });
    const axis = { scale: { domain: [0, 1] }, axis: { format: ".0%", values: [0, 0.25, 0.5, 0.75, 1] } };
    return [chart("", "Observed frequency against predicted probability, in bins.", values, [
      { data: { values: [{ v: 0 }, { v: 1 }] }, mark: { type: "line", color: SOFT, strokeWidth: 1, strokeDash: [3, 4] }, encoding: { x: q("v"), y: q("v") } },
      { mark: { type: "line", opacity: 0.5 }, encoding: { x: q("predicted", "predicted probability", axis), y: q("observed", "observed frequency", axis) } },
      { mark: { type: "point", opacity: 1 }, encoding: { x: q("predicted"), y: q("observed"), size: { field: "weight", type: "quantitative", scale: { range: [25, 260] }, legend: null }, tooltip: tips([["predicted", "predicted"], ["observed", "observed"], ["weight", "rows", ","]]) } },
    ], { columns: [["predicted", "predicted"], ["observed", "observed"], ["weight", "rows"]] })];
  },

  residuals(view) {
    const bins = view.count.map((n, i) => ({ from: view.edges[i], to: view.edges[i + 1], rows: n }));
    const [predicted, actual, counts] = view.pairs, at = i => view.low + view.width * i;
    const cells = counts.map((n, i) => ({ x: at(predicted[i]), x2: at(predicted[i] + 1), y: at(actual[i]), y2: at(actual[i] + 1), rows: n }));
    const domain = [view.low, at(view.side)], scale = { domain, nice: false };
    return [el("div", { class: "pair" },
      chart("Truth against prediction", "How many rows have which prediction and truth; on the diagonal they agree.", cells, [
        { mark: { type: "rect", color: C(0), clip: true }, encoding: { x: q("x", "predicted", { scale }), x2: { field: "x2" }, y: q("y", "true", { scale }), y2: { field: "y2" },
          opacity: { field: "rows", type: "quantitative", scale: { type: "sqrt", range: [0.18, 1] }, legend: null }, tooltip: tips([["x", "predicted from"], ["y", "true from"], ["rows", "rows", ","]]) } },
        { data: { values: domain.map(v => ({ v })) }, mark: { type: "line", color: C(1), strokeWidth: 1, strokeDash: [3, 4] }, encoding: { x: q("v"), y: q("v") } },
      ], { columns: [["x", "predicted from"], ["y", "true from"], ["rows", "rows"]] }),
      chart("Residuals", "How many rows have which residual.", bins, [
        { mark: BARS, encoding: { x: q("from", "true minus predicted", { scale: { nice: false, domain: [view.edges[0], view.edges[view.edges.length - 1]] } }), x2: { field: "to" }, y: q("rows", "rows", whole), y2: { datum: 0 }, tooltip: tips([["from", "from"], ["to", "to"], ["rows", "rows", ","]]) } },
      ], { columns: [["from", "from"], ["to", "to"], ["rows", "rows"]] }))];
  },

  dependence(view) {
    // One scale for all inputs, so that their curves can be compared.
    const all = view.inputs.flatMap(input => input.means.flat()), domain = [Math.min(...all), Math.max(...all)];
    const labels = view.labels, of = view.what === "probability" && labels.length === 1 ? `probability of ${labels[0]}` : view.what;
    const classes = [...new Set(view.inputs.flatMap(input => input.outputs))].sort((a, b) => a - b), several = labels.length > 1;
    return [el("div", { class: "pair" }, view.inputs.map((input, number) => {
      const values = input.outputs.flatMap((output, i) => input.at.map((at, j) => ({ at, mean: input.means[i][j], class: String(output), label: labels[output] || "" })));
      const color = { field: "class", type: "nominal", scale: { domain: classes.map(String), range: classes.map(C) },
        legend: several && number === 0 ? { labelExpr: `${JSON.stringify(labels)}[datum.label]` } : null };
      return chart(input.name, `The mean ${of} as ${input.name} grows changes by up to ${figure(input.spread)}.`, values, [
        { mark: { type: "line", point: { filled: true, size: 24 } }, encoding: { x: q("at", visible(input.name), { scale: { zero: false, nice: false } }),
          y: q("mean", of, { scale: { domain, nice: true, zero: false } }), ...(several ? { color } : {}), tooltip: tips([["at", "value"], ["mean", "mean"]]) } },
      ], { height: 180, columns: [...(several ? [["label", "class"]] : []), ["at", "value"], ["mean", `mean ${view.what}`]] });
    }))];
  },

  genome(view) {
    const values = records({ position: view.position, weight: view.weight, name: view.name, sequence: view.sequence });
    const domain = [...new Set(view.sequence)], one = domain.length === 1;
    return [chart("", "Position of k-mers against the size of their weight.", values, [
      { mark: { type: "point", opacity: 0.7 }, encoding: { x: q("position", "position (bases)", { axis: { format: "~s" }, scale: { nice: false } }), y: q("weight", "|weight|"), color: { field: "sequence", type: "nominal", scale: { domain, range: domain.map((_, i) => C(i)) }, legend: one ? null : { symbolType: "circle" } },
        tooltip: [{ field: "name", type: "nominal", title: "k-mer" }, ...(one && !domain[0] ? [] : [{ field: "sequence", type: "nominal", title: "sequence" }]), ...tips([["position", "position", ","], ["weight", "|weight|"]])] } },
    ], { columns: [["name", "k-mer"], ...(one && !domain[0] ? [] : [["sequence", "sequence"]]), ["position", "position"], ["weight", "|weight|"]] })];
  },

  confusion(view) {
    const labels = view.labels, totals = view.counts.map(row => row.reduce((a, b) => a + b, 0));
    const matrix = el("table", { class: "matrix" }, el("caption", { class: "hidden", text: "Confusion matrix: rows are true, columns predicted" }),
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "text", text: "true \\ predicted" }), labels.map(label => el("th", { scope: "col" }, el("bdi", { text: label }))))),
      el("tbody", {}, view.counts.map((row, i) => el("tr", {}, el("th", { scope: "row", class: "text" }, el("bdi", { text: labels[i] })), row.map((n, j) => {
        const part = totals[i] ? n / totals[i] : 0, shade = el("i", { "aria-hidden": "true" });
        shade.style.opacity = n ? 0.08 + 0.37 * part : 0;
        return el("td", { class: i === j ? null : "error", title: `${share(part)} of ${labels[i]}` }, shade, el("span", { text: count(n) }));
      })))));
    return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, matrix),
      el("details", { open: labels.length <= 3 }, el("summary", { text: "By class" }), plainTable(view.columns, view.rows.map(([label, n, found, right]) => [label, n, share(found), share(right)]), { caption: "Scores of each class" }))];
  },

  table: view => [plainTable(view.columns, view.rows, { caption: view.title }), moreOf(view.more)],

  examples(view) {
    return view.groups.flatMap(group => [el("h3", { text: group.title }), el("div", { class: "examples" }, group.examples.map(one => {
      const most = Math.max(Math.abs(one.intercept), ...one.parts.map(part => Math.abs(part[2])), 1e-12);
      const low = Math.min(0, one.intercept, ...one.parts.map(part => part[2])) < 0 ? -most : 0;
      const rows = [...one.parts, ...(one.others ? [[`${one.others} others`, null, one.others_sum]] : []), ["intercept", null, one.intercept]];
      return el("article", { class: "example" },
        el("p", {}, "True: ", el("strong", {}, el("bdi", { text: figure(one.actual) })), ", predicted: ", el("strong", {}, el("bdi", { text: figure(one.predicted) }))),
        el("p", { class: "from", text: `${one.origin}; score ${figure(one.score)}` + (one.probability === null ? "" : `, probability ${share(one.probability)}`) }),
        one.texts.map(marked),
        el("table", {}, el("caption", { class: "hidden", text: "Contributions" }), el("tbody", {}, rows.map(([name, value, added]) => el("tr", {},
          el("td", { class: "text name" }, el("bdi", { text: name + (value === null || value === 1 ? "" : ` = ${figure(value)}`) })),
          el("td", {}, bar(added, low, most)), el("td", { text: (added > 0 ? "+" : "") + figure(added, 3) }))))));
    }))]);
  },
};

const marked = text => el("p", { class: text.letters ? "words letters" : "words" }, text.title ? el("span", { class: "from", text: text.title + ": " }) : null,
  text.pieces.map(([piece, sign]) => sign ? el("mark", { class: sign > 0 ? "plus-word" : "minus-word", text: piece }) : piece));
const moreOf = n => n ? el("p", { class: "note", text: `and ${count(n)} more` }) : null;
