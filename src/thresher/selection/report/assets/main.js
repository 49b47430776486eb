// The page: headline, features, the views that have data, and how the selection was made.
function headline() {
  const head = report.headline, header = document.getElementById("top");
  header.append(el("p", { class: "over", text: "Feature selection report" }), el("h1", {}, el("bdi", { text: head.title })),
    el("p", { class: "about", text: `${head.task} · ${head.kept}` }));
  if (report.interim) header.append(el("div", { class: "notice", id: "interim" }, el("strong", { text: "Interim answer. " }), report.interim));
  header.append(el("p", { class: "sentence", text: head.sentence }),
    el("dl", { class: "tiles" }, head.figures.map(([name, value]) => el("div", { class: "tile" }, el("dt", { text: name }), el("dd", { text: value })))));
  if (head.warnings.length) header.append(el("div", { class: "notice" }, el("strong", { text: head.warnings.length === 1 ? "Warning" : "Warnings" }),
    el("ul", {}, head.warnings.map(text => el("li", { text })), head.more_warnings ? el("li", { text: `and ${count(head.more_warnings)} more` }) : null)));
  if (head.scores.length) header.append(el("details", {}, el("summary", { text: "All scores" }), plainTable(["score", "value"], head.scores, { caption: "Scores", scroll: false }),
    head.scored_on ? el("p", { class: "note", text: "Tested on: " + head.scored_on }) : null));
}

function section(view, number) {
  const id = view.id || view.kind.replace(/_/g, "-") + (number ? "-" + number : "");
  const wide = ["kept_history", "genome", "dependence", "ranking", "residuals", "examples"].includes(view.kind) || (view.kind === "confusion" && view.labels.length > 4);
  return el("section", { id, class: wide ? "wide" : null, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title", text: view.title }),
    el("p", { class: "question", text: view.question }), VIEWS[view.kind](view), view.note ? el("p", { class: "note", text: view.note }) : null);
}

function provenance() {
  const made = report.made;
  const pairs = list => el("dl", { class: "facts" }, list.flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]));
  return el("section", { id: "made", class: "wide", "aria-labelledby": "made-title" }, el("h2", { id: "made-title", text: "How it was made" }),
    el("p", { class: "question", text: "Can it be made again?" }), pairs(made.facts),
    el("h3", { text: "To make it again" }), el("pre", { id: "command", tabindex: "0", text: made.command }),
    el("button", { type: "button", text: "Copy", onclick: () => copy(made.command, "Command") }),
    el("details", {}, el("summary", { text: `All ${made.settings.length} settings` }), pairs(made.settings)));
}

headline();
// Two narrow sections stand side by side: the next one moves up, and the last without a partner is wide.
function paired(sections) {
  const rest = sections.slice(), found = [];
  while (rest.length) {
    const one = rest.shift();
    found.push(one);
    if (one.classList.contains("wide")) continue;
    const at = rest.findIndex(other => !other.classList.contains("wide"));
    if (at < 0) one.classList.add("wide");
    else found.push(...rest.splice(at, 1));
  }
  return found;
}

const views = report.views.map((view, i) => section(view, report.views.slice(0, i).filter(v => v.kind === view.kind).length));
const sections = [featureSection(), ...paired(views), provenance()];
const main = document.getElementById("main");
main.replaceChildren(el("nav", { "aria-label": "Sections" }, el("ul", {}, sections.map(part => el("li", {}, el("a", { href: "#" + part.id, text: part.querySelector("h2").textContent }))))),
  el("div", { class: "grid" }, sections));
drawCharts();
