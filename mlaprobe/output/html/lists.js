// Head, deployments, findings and changes; and the page itself.

function header() {
  const source = DATA.source;
  const present = source.stages.filter((row) => row[1] === "present").map((row) => row[0]);
  const absent = source.stages.filter((row) => row[1] !== "present");
  const fact = (name, ...said) => [el("dt", {}, name), el("dd", {}, ...said)];
  return el(
    "header",
    {},
    DATA.banner ? el("p", { class: "banner", role: "note" }, DATA.banner) : "",
    el("h1", {}, `MLA ${DATA.op}: `, source.title),
    el(
      "dl",
      {},
      DATA.functions.map((each) => fact("op", each)),
      fact("at", source.location),
      source.commit ? fact("commit", source.commit) : "",
      DATA.before ? fact("against", DATA.before) : "",
      fact("stages", present.join(", ") || "none"),
      absent.map(([stage, , why]) => fact("absent", why ? `${stage}: ${why}` : stage)),
      source.knobs.length ? fact("knobs", source.knobs.join(", ")) : "",
      fact("by", `mlaprobe ${DATA.version}; evaluated from source, nothing was run on a GPU`),
    ),
    el("nav", { "aria-label": "Sections" }, sections().map(([id, name]) => el("a", { href: `#${id}` }, name))),
  );
}

function sections() {
  const found = [["map", "What happens"]];
  if (DATA.changes) found.push(["changes", `Changes (${DATA.changes.found.length})`]);
  if (DATA.deployments.places.length) found.push(["deployments", "Deployments"]);
  if (DATA.operations.length) found.push(["operations", "Other operations"]);
  if (DATA.variables.length) found.push(["variables", "Variables"]);
  if (DATA.findings) found.push(["findings", `Findings (${DATA.findings.found.length})`]);
  return found;
}

// --- deployments ---------------------------------------------------------------------------------

/** A place of the matrix: model and draft by TP and DCP. */
function matrix(pair) {
  const told = DATA.deployments.pairs[pair];
  const columns = [...new Map(DATA.deployments.places.map((p) => [`${p[1]}/${p[2]}`, p])).values()];
  columns.sort((a, b) => a[1] - b[1] || a[2] - b[2]);
  const models = new Map();
  for (const [model, tp, dcp, draft, launch] of DATA.deployments.places) {
    const name = draft ? `${model}, draft ${draft}` : model;
    if (!models.has(name)) models.set(name, new Map());
    models.get(name).set(`${tp}/${dcp}`, launch);
  }
  const names = columns.map(([, tp, dcp]) => el("th", { scope: "col" }, `TP${tp}`, dcp > 1 ? [el("br"), `DCP${dcp}`] : ""));
  const body = [...models].map(([name, launches], at) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      columns.map(([, tp, dcp], column) => {
        const launch = launches.get(`${tp}/${dcp}`);
        const where = { role: "gridcell", tabindex: "-1", "data-row": at, "data-column": column };
        if (launch === undefined) return el("td", { ...where, "aria-label": "not possible" });
        return deployment(`${name}, TP ${tp}, DCP ${dcp}`, DATA.deployments.launches[launch], told[launch], where);
      }),
    ),
  );
  const table = el(
    "table",
    { class: "map matrix", role: "grid", "aria-label": "Models by tensor and context parallel sizes" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "model"), names)),
    el("tbody", {}, body),
  );
  navigable(table);
  return table;
}

function deployment(name, [heads, qlens, lse, outside], told, where) {
  const [verdict, fold, said, launch, gain, reason] = told.map((each, at) => (at === 1 ? each : text(each)));
  const short = outside ? "out" : verdict === "FOLDED" ? `F${fold}` : WORDS[verdict].short;
  const style = outside ? "v-dim" : styleOf(verdict, fold);
  const fails = launch === "none works";
  const other = !outside && launch !== String(heads);
  const cell = el(
    "td",
    { ...where, class: style, "aria-label": `${name}: ${heads} heads, ${outside || `${said}, launch ${launch}`}` },
    el("span", { class: "heads" }, `${heads}`),
    ` ${short}`,
    other ? el("span", { class: "launch" }, fails ? " \u2717" : ` \u2192${launch.replace(" gluon", "g")}`) : "",
  );
  const title = `${name}: ${heads} heads, qlen ${rangeOf(qlens)}${lse ? ", with LSE" : ""}`;
  tells(cell, () =>
    [
      el("h3", { "aria-live": "polite" }, el("span", { class: `badge ${style}` }, outside ? "outside" : said), ` ${title}`),
      outside ? el("p", {}, outside) : el("p", {}, el("b", {}, "launch "), fails ? launch : `${launch} heads`, gain ? `, estimated ${gain}` : ""),
      outside ? "" : el("p", {}, reason),
    ].filter((each) => each !== ""),
  );
  return cell;
}

function deploymentSection() {
  const pairs = Object.keys(DATA.deployments.pairs);
  if (!pairs.length) return "";
  const shown = el("div", { class: "scroll" });
  const name = el("span", { class: "printed" });
  const draw = (pair) => {
    name.textContent = pair;
    shown.replaceChildren(matrix(pair));
  };
  const select = el("select", { id: "pair" }, pairs.map((pair) => el("option", {}, pair)));
  select.addEventListener("change", () => draw(select.value));
  draw(pairs[0]);
  return el(
    "section",
    { id: "deployments" },
    el("h2", {}, "Deployments"),
    el("p", {}, el("label", { for: "pair" }, "Arch and dtypes "), select, name),
    el("p", { class: "dim" }, "Heads per rank, what happens when they are rounded up to a multiple of 16 (at the worst of the query lengths), and the head count to launch instead. DCP gathers heads and needs the log-sum-exp."),
    shown,
  );
}

// --- findings and changes ------------------------------------------------------------------------

const clauseLine = ([side, at]) => el("div", { class: "clause" }, side ? el("b", {}, `${side} `) : "", clause(at));

function finding([, level, message, clauses, pad, explain]) {
  return el(
    "li",
    { class: `level-${level}` },
    el("p", {}, text(message)),
    clauses.slice(0, 2).map(clauseLine),
    clauses.length > 2 ? el("details", { class: "more" }, el("summary", {}, `${plural(clauses.length - 2, "more place")}`), clauses.slice(2).map(clauseLine)) : "",
    pad ? el("p", {}, pad) : "",
    explain < 0 ? "" : command(text(explain)),
  );
}

function results(id, title, found) {
  if (!found) return "";
  const groups = new Map();
  for (const each of found.found) {
    const key = `${each[1]} ${each[0]}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(each);
  }
  const lists = [...groups.values()].map((group) => {
    const [rule, what, why, fix] = found.rules[group[0][0]];
    const level = group[0][1];
    return el(
      "details",
      { open: group.length < 4 },
      el("summary", {}, el("span", { class: `badge level-${level}` }, level), ` ${rule}: ${what} (${group.length})`),
      el("p", { class: "dim" }, why),
      el("p", { class: "dim" }, el("b", {}, "do: "), fix),
      el("ol", {}, group.map(finding)),
    );
  });
  const skipped = found.skipped.map(([rule, why]) => el("li", {}, `not checked: ${rule}: ${why}`));
  return el(
    "section",
    { id },
    el("h2", {}, title),
    el("p", {}, found.sources.map(([name, said]) => `${name === "source" ? "" : `${name}: `}${said}`).join("; ")),
    el("p", {}, el("b", {}, found.summary)),
    lists,
    el("ul", { class: "dim" }, found.remarks.map((each) => el("li", {}, each)), skipped),
  );
}

function listed(id, title, lines) {
  if (!lines.length) return "";
  return el("section", { id }, el("h2", {}, title), el("ul", {}, lines.map((each) => el("li", {}, each))));
}

// --- the page ------------------------------------------------------------------------------------

document.body.append(
  el("a", { class: "skip", href: "#map" }, "Skip to the maps"),
  header(),
  el(
    "main",
    {},
    mapSection(),
    results("changes", "Changes", DATA.changes),
    deploymentSection(),
    listed("operations", "Other operations", DATA.operations),
    listed("variables", "Variables that change answers", DATA.variables),
    results("findings", "Findings", DATA.findings),
  ),
  panel.make(),
);
drawMaps();
// A printed page has everything that is folded away here.
window.addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
});
