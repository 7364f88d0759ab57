// The maps: heads by query lengths, for each arch and pair of dtypes.

const state = DATA.map.switches.map(() => 0);

/** Numbers from runs in base 36: "3*8 0". */
function expand(runs) {
  const found = [];
  for (const run of runs.split(" ")) {
    const [number, count = "1"] = run.split("*");
    const value = parseInt(number, 36);
    for (let left = parseInt(count, 36); left > 0; left--) found.push(value);
  }
  return found;
}

const expanded = new Map();
function plane(planes, place) {
  const runs = planes[place];
  if (runs === undefined) return null;
  if (!expanded.has(runs)) expanded.set(runs, expand(runs));
  return expanded.get(runs);
}

/** The record of a cell in a setting. */
function recordAt(block, row, column, setting) {
  const found = plane(block.planes, setting.join(","));
  return DATA.records[found[row * DATA.map.qlens.length + column]];
}

/** What the other source's cell shows, where it is something else. */
function beforeAt(block, row, column, setting) {
  const found = plane(block.before, setting.join(","));
  if (found === null) return null;
  const was = text(found[row * DATA.map.qlens.length + column]);
  return was === text(recordAt(block, row, column, setting)[1]) ? null : was;
}

/** The settings that differ from this one in one switch, and what they say. */
function otherSettings(setting) {
  const found = [];
  DATA.map.switches.forEach((each, at) => {
    each.values.forEach((value, place) => {
      if (place !== setting[at]) found.push([value, setting.map((s, i) => (i === at ? place : s))]);
    });
  });
  return found;
}

const inWords = (record) => {
  const word = WORDS[text(record[0])];
  return text(record[0]) === "FOLDED" ? `folded, KV cache read ${record[2]} times` : word.long;
};

/** Whether needing the LSE makes it another answer. */
function lseGap(block, row, column) {
  const at = DATA.map.switches.findIndex((each) => each.name === "lse");
  if (at < 0 || DATA.map.switches[at].values[state[at]] !== "without LSE") return false;
  const other = state.map((value, index) => (index === at ? 1 - value : value));
  const here = recordAt(block, row, column, state);
  const there = recordAt(block, row, column, other);
  return ["NATIVE", "FOLDED"].includes(text(here[0])) && here[1] !== there[1];
}

/** Rows; counts that follow each other and fail alike are one. */
function rowsOf(block) {
  const rows = [];
  block.heads.forEach((heads, at) => {
    const records = DATA.map.qlens.map((_, column) => recordAt(block, at, column, state));
    const runs = records.some((r) => ["NATIVE", "FOLDED"].includes(text(r[0])));
    const was = DATA.map.qlens.map((_, column) => beforeAt(block, at, column, state));
    const look = runs ? null : records.map((r) => r[1]).join() + was.join();
    const last = rows[rows.length - 1];
    const follows = last && heads === last.heads[last.heads.length - 1] + 1;
    if (follows && look !== null && last.look === look) last.heads.push(heads);
    else rows.push({ at, heads: [heads], records, look, was });
  });
  return rows;
}

function rangeOf(numbers) {
  const parts = [];
  for (const number of numbers) {
    const last = parts[parts.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(", ");
}

function drawBlock(block) {
  const qlens = DATA.map.qlens;
  const head = el("tr", {}, el("th", { scope: "col" }, "heads"), qlens.map((q) => el("th", { scope: "col" }, `${q}`)));
  const body = rowsOf(block).map((row, at) =>
    el("tr", {}, el("th", { scope: "row" }, rangeOf(row.heads)), row.records.map((record, column) => drawCell(block, row, at, record, column))),
  );
  const table = el(
    "table",
    { class: "map", role: "grid", "aria-label": `${block.arch} ${block.dtype}: heads by query length` },
    el("thead", {}, el("tr", { class: "axis" }, el("td"), el("th", { colspan: qlens.length }, "query length")), head),
    el("tbody", {}, body),
  );
  navigable(table);
  return el("section", { class: "block" }, el("h4", {}, block.dtype), el("p", { class: "sum" }, summaryOf(block)), table);
}

function drawCell(block, row, at, record, column) {
  const verdict = text(record[0]);
  const gap = lseGap(block, row.at, column);
  const was = row.was[column];
  const said = `${rangeOf(row.heads)} heads, qlen ${DATA.map.qlens[column]}: ${inWords(record)}`;
  const cell = el(
    "td",
    {
      class: `${styleOf(verdict, record[2])}${was === null ? "" : " was"}`,
      role: "gridcell",
      tabindex: "-1",
      "data-row": at,
      "data-column": column,
      "aria-label": said + (gap ? ", without LSE only" : "") + (was === null ? "" : `, was ${was}`),
    },
    text(record[1]) + (gap ? "*" : ""),
  );
  tells(cell, () => detailOf(block, row, column));
  return cell;
}

function summaryOf(block) {
  const always = [];
  const some = [];
  let unknown = false;
  block.heads.forEach((heads, at) => {
    const verdicts = DATA.map.qlens.map((_, column) => text(recordAt(block, at, column, state)[0]));
    const native = verdicts.filter((verdict) => verdict === "NATIVE").length;
    unknown ||= verdicts.includes("UNKNOWN");
    if (native === DATA.map.qlens.length) always.push(heads);
    else if (native > 0) some.push(heads);
  });
  const parts = [];
  if (always.length) parts.push(`native at every qlen: ${rangeOf(always)}`);
  if (some.length) parts.push(`at some: ${rangeOf(some)}`);
  return parts.join("; ") || `no head count is ${unknown ? "known to be " : ""}native`;
}

// --- detail --------------------------------------------------------------------------------------

const FAILURES = {
  exception: "It raises a Python exception.",
  abort: "It aborts the process, which Python cannot catch.",
};
const PRESENCE = { "1": "present", "0": "not in the source", "-1": "" };

function detailOf(block, row, column) {
  const setting = state.slice();
  const record = recordAt(block, row.at, column, setting);
  const [verdict, , passes, failure, stage, message, kernels, key, outcomes, notes] = record;
  const heads = row.heads[0];
  const qlen = DATA.map.qlens[column];
  const asked = setting.map((value, at) => DATA.map.switches[at].values[value]);
  const title = [`${block.arch} ${block.dtype}, ${plural(heads, "head")}, qlen ${qlen}`, ...asked].join(", ");
  const badge = text(verdict) === "FOLDED" ? `FOLDED by ${passes}` : text(verdict);
  const was = row.was[column];
  const fill = (at) => text(at).replace(/[\u0001-\u0003]/g, (mark) => [heads, qlen, heads * qlen][mark.charCodeAt(0) - 1]);
  const others = otherSettings(setting).map(([name, other]) => `${name}: ${inWords(recordAt(block, row.at, column, other))}`);
  return [
    el("h3", { "aria-live": "polite" }, el("span", { class: `badge ${styleOf(text(verdict), passes)}` }, badge), " ", title),
    row.heads.length > 1 ? el("p", { class: "dim" }, `Alike: ${rangeOf(row.heads)} heads.`) : "",
    el("p", {}, `${WORDS[text(verdict)].meaning[0].toUpperCase()}${WORDS[text(verdict)].meaning.slice(1)}.`, failure < 0 ? "" : ` ${FAILURES[text(failure)]}`),
    was === null ? "" : el("p", { class: "was-line" }, `In ${DATA.before}: ${was}`),
    message < 0 ? "" : el("p", {}, stage < 0 ? "" : el("b", {}, `${text(stage)}: `), fill(message)),
    kernels.map((at) => kernelLine(DATA.kernels[at])),
    key < 0 ? "" : el("p", {}, el("b", {}, "key "), el("code", {}, fill(key))),
    el("table", { class: "chain" }, el("tbody", {}, outcomes.map((at) => stageRow(DATA.outcomes[at], text(stage), heads, fill)))),
    notes.length ? el("ul", {}, notes.map((at) => el("li", {}, fill(at)))) : "",
    others.length ? el("p", {}, el("b", {}, "Otherwise: "), others.join("; ")) : "",
    command(commandFor(block, heads, qlen, setting)),
  ].flat().filter((each) => each !== "");
}

function kernelLine([symbol, file, present, defined]) {
  const there = PRESENCE[present] + (defined === 0 ? ", without this kernel" : "");
  return el("p", {}, el("b", {}, "kernel "), el("code", {}, text(symbol)), " in ", el("span", { class: "place" }, text(file)), there ? ` (${there})` : "");
}

function stageRow([stage, status, fold, qfold, final, entry, clauses, message], decided, asked, fill) {
  const heads = final < 0 ? asked : final;
  const said = [text(status)];
  if (fold > 1) said.push(`batch x ${fold}`);
  if (qfold > 1) said.push(`qlen x ${qfold}`);
  if (heads > 0) said.push(`${heads} heads`);
  if (entry >= 0) said.push(`through ${text(entry)}`);
  return el(
    "tr",
    { class: text(stage) === decided ? "decided" : null },
    el("th", { scope: "row" }, text(stage)),
    el("td", {}, said.join(", ")),
    el("td", {}, clauses.map((at) => el("div", {}, clause(at))), message >= 0 && !clauses.length ? fill(message) : ""),
  );
}

function commandFor(block, heads, qlen, setting) {
  const words = ["mlaprobe explain", DATA.spec, `--arch ${block.arch} --dtype ${block.dtype} --heads ${heads}`];
  if (qlen !== 1) words.push(`--qlen ${qlen}`);
  setting.forEach((value, at) => words.push(DATA.map.switches[at].options[value]));
  words.push(DATA.options);
  return words.filter((each) => each !== "").join(" ");
}

// --- the section ---------------------------------------------------------------------------------

function switchOf(each, at) {
  return el(
    "fieldset",
    {},
    el("legend", {}, each.title),
    each.values.map((value, place) => {
      const input = el("input", { type: "radio", name: each.name, value: place, checked: place === 0 });
      input.addEventListener("change", () => {
        state[at] = place;
        drawMaps();
      });
      return el("label", {}, input, value);
    }),
  );
}

function legend() {
  const used = new Set();
  for (const block of DATA.map.blocks) {
    for (const place of Object.keys(block.planes)) {
      for (const at of new Set(plane(block.planes, place))) used.add(text(DATA.records[at][0]));
    }
  }
  const names = Object.keys(WORDS).filter((name) => used.has(name));
  const items = names.map((name) => {
    const word = WORDS[name];
    const short = name === "FOLDED" ? "F2" : word.short;
    return el("li", {}, el("span", { class: `badge ${styleOf(name, 2)}` }, short), ` ${word.long}: ${word.meaning}`);
  });
  if (DATA.map.switches.some((each) => each.name === "lse")) {
    items.push(el("li", {}, el("b", {}, "*"), " without LSE only: a caller that needs the log-sum-exp gets another answer"));
  }
  if (DATA.before !== null) items.push(el("li", {}, el("span", { class: "badge was" }, " "), ` another answer than in ${DATA.before}`));
  return el("ul", { class: "legend" }, items);
}

function drawMaps() {
  const archs = new Map();
  for (const block of DATA.map.blocks) {
    if (!archs.has(block.arch)) archs.set(block.arch, []);
    archs.get(block.arch).push(drawBlock(block));
  }
  const drawn = [...archs].map(([arch, blocks]) => el("section", { class: "arch" }, el("h3", {}, arch), el("div", { class: "blocks" }, blocks)));
  const asked = state.map((value, at) => DATA.map.switches[at].values[value]);
  document.getElementById("asked").textContent = [...asked, DATA.fixed].filter((each) => each).join(", ");
  document.getElementById("maps").replaceChildren(...drawn);
  panel.again();
}

function mapSection() {
  return el(
    "section",
    { id: "map" },
    el("h2", {}, "What happens"),
    el("form", { class: "switches", "aria-label": "What the maps show" }, DATA.map.switches.map(switchOf)),
    el("p", { class: "asked" }, "Shown: ", el("span", { id: "asked" })),
    legend(),
    el("div", { id: "maps" }),
  );
}
