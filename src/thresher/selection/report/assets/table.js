// The table of features: search, sort, copy and download.
const STEP = 200;

function featureSection() {
  const table = report.features, fields = table.fields, several = table.outputs.length > 0;
  const at = Object.fromEntries(fields.map((name, i) => [name, i]));
  const state = { text: "", sort: "rank", down: false, shown: STEP, output: -1 };
  const rows = table.rows.map((row, i) => ({ rank: i + 1, row, lower: visible(row[0]).toLowerCase() }));
  const norms = several ? rows.map(({ row }) => Math.hypot(...row[at.weight])) : null;
  const strongest = several ? rows.map(({ row }) => row[at.weight].reduce((best, w, i, all) => Math.abs(w) > Math.abs(all[best]) ? i : best, 0)) : null;

  const weight = item => !several ? item.row[at.weight]
    : state.output < 0 ? norms[item.rank - 1] : item.row[at.weight][state.output];
  const of = {
    rank: item => item.rank, name: item => item.lower, weight,
    class: item => table.outputs[strongest[item.rank - 1]],
  };
  for (const name of ["standardized", "bound", "q_value", "frequency", "count"]) of[name] = item => item.row[at[name]];

  // Features of standardized columns rank by the weight in their own unit: the bars show that one.
  const ranked = "standardized" in at;
  const length = item => ranked && state.output < 0 ? item.row[at.standardized] : weight(item);

  const columns = () => {
    const found = [["rank", "#"], ["name", table.functions ? "function" : "feature", true]];
    found.push(["weight", several && state.output < 0 ? "weight (norm)" : "weight"]);
    if ("standardized" in at) found.push(["standardized", "standardized"]);
    found.push(["bar", ""]);
    if (several && state.output < 0) found.push(["class", "strongest for", true]);
    const names = { bound: table.bound_is, q_value: "q-value", frequency: "frequency", count: "rows with it" };
    for (const name of Object.keys(names)) if (name in at) found.push([name, names[name]]);
    return found;
  };

  const head = el("tr"), body = el("tbody"), status = el("p", { class: "note", role: "status" });
  const more = el("button", { type: "button", text: `Show ${STEP} more`, onclick: () => { state.shown += STEP; draw(); } });

  function matching() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? rows.filter(item => words.every(word => item.lower.includes(word))) : rows.slice();
    if (state.sort !== "rank" || state.down) {
      const value = of[state.sort], sign = state.down ? -1 : 1;
      const last = v => v === null || v === undefined;
      found.sort((a, b) => {
        const x = value(a), y = value(b);
        if (last(x) || last(y)) return last(x) - last(y) || a.rank - b.rank;
        return (x < y ? -sign : x > y ? sign : 0) || a.rank - b.rank;
      });
    }
    return found;
  }

  function header() {
    head.replaceChildren(...columns().map(([id, label, text]) => {
      if (id === "bar") return el("td", { "aria-hidden": "true" });
      const sorted = state.sort === id;
      return el("th", { scope: "col", class: text ? "text" : null, "aria-sort": sorted ? (state.down ? "descending" : "ascending") : "none" },
        el("button", { type: "button", "data-sort": id, onclick: () => {
          state.down = sorted ? !state.down : !["rank", "name", "q_value", "class"].includes(id);
          state.sort = id;
          state.shown = STEP;
          draw();
          head.querySelector(`[data-sort="${id}"]`).focus();
        } }, label, el("span", { "aria-hidden": "true", text: sorted ? (state.down ? " ↓" : " ↑") : "" })));
    }));
  }

  function draw() {
    header();
    const found = matching(), some = found.slice(0, state.shown);
    let low = 0, high = 0;
    for (const item of rows) { const w = length(item); low = Math.min(low, w); high = Math.max(high, w); }
    const room = 0.12 * (high - low);
    if (high > 0) high += room;
    if (low < 0) low -= room;
    const shown = columns(), digits = {};
    for (const id of ["weight", "standardized", "bound"]) {
      if (id !== "weight" && !(id in at)) continue;
      digits[id] = fixed(rows.reduce((most, item) => Math.max(most, Math.abs(of[id](item) || 0)), 0));
    }
    body.replaceChildren(...some.map(item => el("tr", {}, shown.map(([id, , text]) => {
      if (id === "bar") return el("td", {}, bar(length(item), low, high, several || ranked ? 0 : item.row[at.bound] || 0));
      if (id === "name") return el("td", { class: "text name" }, el("bdi", { text: visible(item.row[0]) }));
      return el("td", { class: text ? "text" : null, text: (digits[id] || figure)(of[id](item)) });
    }))));
    const rest = found.length - some.length, beyond = table.total - rows.length;
    let text = found.length === rows.length ? `${count(some.length)} of ${count(table.total)} ${table.functions ? "functions" : "features"} shown`
      : `${count(found.length)} found${rest ? `, ${count(some.length)} shown` : ""}`;
    if (rest) text += `; and ${count(rest)} more`;
    if (beyond) text += `. The file holds the strongest ${count(rows.length)}; the other ${count(beyond)} are in the .thr file (thresher inspect --format tsv)`;
    status.textContent = text + ".";
    more.hidden = !rest;
  }

  function tsv(items) {
    const names = fields.flatMap(name => name === "weight" && several ? table.outputs.map(label => "weight_" + label) : [name]);
    const lines = items.map(({ rank, row }) => [rank, ...row.flat()].map(tsvCell).join("\t"));
    return [["rank", ...names].map(tsvCell).join("\t"), ...lines].join("\n") + "\n";
  }

  const search = el("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false",
    oninput: event => { state.text = event.target.value; state.shown = STEP; draw(); } });
  const outputs = several ? el("label", {}, "Weights for",
    el("select", { onchange: event => { state.output = Number(event.target.value); draw(); } },
      el("option", { value: "-1", text: "all classes (norm)" }), table.outputs.map((label, i) => el("option", { value: i, text: label })))) : null;
  const tools = el("div", { class: "tools" },
    el("label", { class: "grow" }, "Search", search), outputs,
    el("button", { type: "button", id: "copy", text: "Copy shown", onclick: () => copy(tsv(matching().slice(0, state.shown)), "Table") }),
    el("button", { type: "button", id: "download", text: "Download TSV", onclick: () => download(tsv(rows), "features.tsv") }));
  const meaning = table.positive === null ? null : el("p", { class: "note" }, "A ",
    el("span", { class: "key-plus", text: "positive" }), " weight is evidence for ", el("bdi", { text: table.positive }), ", a ",
    el("span", { class: "key-minus", text: "negative" }), " one for ", el("bdi", { text: table.negative }),
    "bound" in at && !ranked ? `. Whiskers: one ${table.bound_is}.` : ".");
  draw();
  return el("section", { id: "features", class: "wide", "aria-labelledby": "features-title" },
    el("h2", { id: "features-title", text: table.functions ? "Strongest functions" : "Strongest features" }),
    el("p", { class: "question", text: "What matters, and how surely?" }), tools,
    el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Table of features" },
      el("table", {}, el("caption", { class: "hidden", text: "Features, strongest first" }), el("thead", {}, head), body)),
    status, more, meaning,
    ranked ? el("p", { class: "note", text: "Features rank by the standardized weight, in units of their own spread; bars show it. The weight is in the unit of the data." }) : null,
    el("p", { class: "note", text: "Numbers have six digits in the TSV." }));
}
