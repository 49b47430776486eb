"use strict";
// Elements and texts. Everything that comes from data is set as text, never as markup.
const report = JSON.parse(document.getElementById("data").textContent);

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
}

// Control and format characters are shown by their codes, so that no name reorders or hides the text around it.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const CONTROLS = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
function code(character) {
  if (character in CONTROLS) return CONTROLS[character];
  const point = character.codePointAt(0);
  if (point >= 0xdc80 && point <= 0xdcff) return "\\x" + (point - 0xdc00).toString(16);
  if (point < 0x80) return "\\x" + point.toString(16).padStart(2, "0");
  return point < 0x10000 ? "\\u" + point.toString(16).padStart(4, "0") : "\\U" + point.toString(16).padStart(8, "0");
}
const visible = text => String(text).replace(UNSAFE, code);

// A cell of a TSV file, as the other tables of Thresher write it.
function tsvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = value.replaceAll("\\", "\\\\").replace(UNSAFE, code);
  const number = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text);
  return /^[=+\-@]/.test(text) && !number ? "\\x" + text.charCodeAt(0).toString(16) + text.slice(1) : text;
}

const count = n => n.toLocaleString("en-US");
function figure(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(digits)));
}
// The numbers of one column have the same decimals, four digits of the largest, so that their points stand below each other.
function fixed(largest) {
  const decimals = 3 - Math.floor(Math.log10(largest || 1));
  return value => value === null ? "–" : decimals > 9 || decimals < -9 ? value.toExponential(3) : value.toFixed(Math.max(0, decimals));
}
const share = value => value === null ? "–" : (100 * value).toFixed(1) + " %";

function say(text) { document.getElementById("live").textContent = text; }

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(what + " copied");
}

function download(text, name) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A bar from zero to a value, on a scale from low to high, with the error as a whisker.
function bar(value, low, high, error) {
  const span = high - low || 1, at = x => 100 * (Math.min(high, Math.max(low, x)) - low) / span;
  const box = el("span", { class: "bar", "aria-hidden": "true" });
  const part = el("i", { class: value < 0 ? "minus" : "plus" });
  part.style.left = Math.min(at(0), at(value)) + "%";
  part.style.width = Math.max(0.5, Math.abs(at(value) - at(0))) + "%";
  const zero = el("u");
  zero.style.left = at(0) + "%";
  box.append(zero, part);
  if (error) {
    const whisker = el("b");
    whisker.style.left = at(value - error) + "%";
    whisker.style.width = at(value + error) - at(value - error) + "%";
    box.append(whisker);
  }
  return box;
}

function plainTable(columns, rows, { caption, scroll = true } = {}) {
  const textual = columns.map((_, i) => rows.some(row => typeof row[i] === "string"));
  const cell = (tag, value, i) => el(tag, { class: textual[i] ? "text" + (i === 0 && tag === "td" ? " name" : "") : null, scope: tag === "th" ? "col" : null },
    el("bdi", { text: tag === "th" ? value : figure(value) }));
  const table = el("table", {}, caption ? el("caption", { class: "hidden", text: caption }) : null,
    el("thead", {}, el("tr", {}, columns.map((name, i) => cell("th", name, i)))),
    el("tbody", {}, rows.map(row => el("tr", {}, row.map((value, i) => cell("td", value, i))))));
  return scroll ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table" }, table) : table;
}
