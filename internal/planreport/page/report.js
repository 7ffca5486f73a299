"use strict";
(async () => {
  const data = Uint8Array.from(atob(document.getElementById("data").textContent), (sign) => sign.charCodeAt(0));
  const report = await new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  const actions = [
    { name: "add", mark: "+", word: "added" },
    { name: "change", mark: "~", word: "changed" },
    { name: "taken", mark: "\u00bb", word: "taken over" },
    { name: "remove", mark: "\u2212", word: "removed" },
    { name: "keep", mark: "=", word: "kept" },
    { name: "held", mark: "\u2016", word: "held" },
    { name: "unknown", mark: "?", word: "unknown before the apply" },
  ];
  const actionOf = new Map(actions.map((action) => [action.name, action]));
  const objectMarks = new Map([["added", "add"], ["changed", "change"], ["removed", "remove"], ["unknown", "unknown"]]);
  const none = { name: "unknown", mark: "?", word: "unknown" };

  const byId = (id) => document.getElementById(id);
  // make is the one way to an element. Texts are only ever set as texts.
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children) {
      if (child !== undefined && child !== null) element.append(child);
    }
    return element;
  };
  const markOf = (name) => {
    const action = actionOf.get(name) || none;
    return make("span", { class: "mark " + action.name, "aria-hidden": "true" }, action.mark);
  };
  const counted = (number, thing) => number + " " + thing + (number === 1 ? "" : "s");
  const keyOf = (cluster, bundle) => JSON.stringify([cluster, bundle]);
  // A deployment that is taken over has an action of its own here.
  const kindOf = (d) => (d.taken_over && d.action === "change" ? "taken" : d.action);

  const state = { target: 0, clusters: "", bundles: "", group: "", only: false, stage: -1, selected: null, focus: null };
  let target, cells, rows, columns, changes, shownChanges;

  function openTarget(index) {
    target = report.targets[index];
    state.target = index;
    state.stage = -1;
    state.selected = state.focus = null;
    cells = new Map(target.deployments.map((d) => [keyOf(d.cluster, d.bundle), d]));
    byId("name").textContent = target.name;
    document.title = "Plan of target " + target.name;
    const doing = { create: "creates the target", update: "updates the target", destroy: "destroys the target" }[target.operation] || "";
    const planned = make("time", { datetime: target.planned_at }, target.planned_at.replace("T", " ").replace("Z", " UTC"));
    const about = ["owner " + target.owner, "the plan " + doing, counted(target.clusters.length, "cluster") + " \u00d7 " + counted(target.bundles.length, "bundle"), "planned "];
    byId("about").replaceChildren(about.join(" \u00b7 "), planned);
    byId("unknown").hidden = !target.unknown;
    byId("unknown").textContent = target.unknown ? "Nothing of this target is known before the apply. Not known yet: " + target.unknown + "." : "";
    changes = distinctChanges();
    showSummary();
    showCommits();
    listChanges();
    offerGroups();
    showStages();
    showWarnings();
    showMatrix();
  }

  function showSummary() {
    const numbers = { ...target.summary, taken: target.summary.taken_over || 0 };
    numbers.change -= numbers.taken;
    const always = ["add", "change", "remove", "keep"];
    const items = actions.filter((a) => numbers[a.name] || always.includes(a.name)).map((action) => {
      const number = numbers[action.name] || 0;
      return make("li", { class: number ? false : "none", "data-action": action.name }, markOf(action.name), make("span", {}, make("b", {}, String(number)), " " + action.word));
    });
    if (target.warnings.length > 0) {
      const button = make("button", { type: "button" }, make("span", { class: "mark change", "aria-hidden": "true" }, "!"), counted(target.warnings.length, "warning"));
      button.addEventListener("click", () => byId("alerts").querySelector("h2").focus());
      items.push(make("li", { class: "warned" }, button));
    }
    byId("summary").replaceChildren(...items);
  }

  // The commits of bundles that change, each once.
  function showCommits() {
    const most = 5;
    const changed = new Set(changes.map((change) => change.of.bundle));
    const found = new Map(target.sources.filter((s) => changed.has(s.bundle)).map((s) => [JSON.stringify([s.repository, s.commit_before, s.commit_after]), s]));
    const items = [...found.values()].slice(0, most).map((s) => make("li", {}, make("bdi", {}, s.repository), " ", ...commitOf(s)));
    if (found.size > most) items.push(make("li", {}, counted(found.size - most, "more change") + " of commits, see below"));
    byId("commits").hidden = items.length === 0;
    byId("commits").replaceChildren(...items);
  }

  // commitOf returns the commit that a bundle was made from at the last apply, and that of the plan.
  function commitOf(source) {
    const short = (commit) => make("code", { title: commit }, commit.slice(0, 10));
    const { commit_before: before, commit_after: after } = source;
    const parts = [];
    if (before) parts.push(short(before));
    if (before && after && before !== after) parts.push(" \u2192 ");
    if (after && before !== after) parts.push(short(after));
    if (source.subject) parts.push(" ", make("q", {}, make("bdi", {}, source.subject)));
    if (source.author) parts.push(" by ", make("bdi", {}, source.author));
    return parts;
  }

  // sourceOf returns the commits of a deployment. One that is removed does not get the new commit.
  function sourceOf(d) {
    const source = target.sources.find((s) => s.bundle === d.bundle);
    return source && d.action === "remove" ? { commit_before: source.commit_before } : source;
  }

  // The changes in the order in which they need attention.
  const attention = ["remove", "taken", "change", "add", "held"];

  // distinctChanges returns the changes of the target, each once with the deployments that share it.
  function distinctChanges() {
    const found = new Map();
    for (const d of target.deployments) {
      const kind = kindOf(d);
      if (!attention.includes(kind)) continue;
      const objects = (d.objects || []).map((object) => object.change + " " + object.key);
      const id = JSON.stringify([d.bundle, kind, d.diff, d.reason, d.notes, d.objects_unknown, objects]);
      if (!found.has(id)) found.set(id, { kind, of: d, deployments: [] });
      found.get(id).deployments.push(d);
    }
    const names = (change) => change.of.bundle;
    return [...found.values()].sort((a, b) => attention.indexOf(a.kind) - attention.indexOf(b.kind) || (names(a) < names(b) ? -1 : Number(names(a) > names(b))));
  }

  function listChanges() {
    const number = changes.reduce((sum, change) => sum + change.deployments.length, 0);
    const nothing = target.unknown ? "not known before the apply" : "none";
    byId("different").textContent = number > 0 ? changes.length + " different, in " + counted(number, "deployment") : nothing;
    byId("changes").replaceChildren();
    shownChanges = 0;
    const inTable = target.clusters.length * (target.bundles.length + 3);
    showMoreChanges(Math.min(maxElements, Math.max(fewElements, 4500 - inTable)));
  }

  // maxElements is about how many elements the changes have that are shown together. A page with many
  // more is slow. Beside a large table there are only fewElements at first.
  const maxElements = 2000, fewElements = 300;

  function showMoreChanges(room) {
    const list = byId("changes");
    while (shownChanges < changes.length && room > 0) {
      const item = changeOf(changes[shownChanges++]);
      list.append(item);
      room -= 1 + item.querySelectorAll("*").length;
    }
    const left = changes.length - shownChanges;
    byId("more").hidden = left === 0;
    byId("more").textContent = "Show more: " + counted(left, "change") + (left === 1 ? " is" : " are") + " not shown";
  }

  function changeOf({ kind, of: d, deployments }) {
    const action = actionOf.get(kind);
    const where = action.word + (kind === "remove" ? " from " : " on ") + counted(deployments.length, "cluster");
    const title = make("h3", {}, markOf(kind), make("bdi", {}, d.bundle), make("span", { class: "soft" }, where + (kind === "held" ? "" : ", " + objectsText(d))));
    const parts = [make("summary", {}, title), ...clustersOf(deployments), factsOf(deployments)];
    if (d.reason) parts.push(make("p", {}, "It is held: ", make("bdi", {}, d.reason)));
    if (d.notes && d.notes.length > 0) parts.push(make("ul", { class: "notes" }, ...d.notes.map((note) => make("li", {}, note))));
    const text = textOf(d);
    if (text) parts.push(diffOf(text));
    return make("li", {}, make("details", { open: true, "data-action": kind }, ...parts));
  }

  // The names of clusters. The first ones are always visible.
  function clustersOf(deployments) {
    const most = 40;
    const names = deployments.map((d) => d.cluster);
    const named = names.length > most + 1 ? names.slice(0, most) : names;
    const parts = [make("p", { class: "where" }, make("bdi", {}, named.join(", ")))];
    const others = names.slice(named.length);
    if (others.length > 0) parts.push(make("details", { class: "where" }, make("summary", {}, "and " + others.length + " more"), make("bdi", {}, others.join(", "))));
    return parts;
  }

  // What else the deployments of a change have in common.
  function factsOf(deployments) {
    const values = (text) => [...new Set(deployments.map(text))].filter((value) => value !== "");
    const facts = [];
    const fact = (...parts) => facts.push(...(facts.length > 0 ? [" \u00b7 "] : []), ...parts);
    const charts = values((d) => (d.chart || "") + (d.version ? "-" + d.version : ""));
    if (charts.length > 0) fact(charts.length === 1 ? "chart " : "charts ", make("bdi", {}, charts.join(", ")));
    const releases = values((d) => (d.release ? d.namespace + "/" + d.release : ""));
    if (releases.length === 1) fact("release ", make("bdi", {}, releases[0]));
    const stages = values((d) => d.stage || "").sort((a, b) => a - b);
    if (stages.length > 0) fact((stages.length === 1 ? "stage " : "stages ") + stages.join(", ") + " of " + target.stages.length);
    const source = sourceOf(deployments[0]);
    if (source) fact("commit ", ...commitOf(source));
    return make("p", { class: "facts" }, ...facts);
  }

  const objectSigns = [["added", "+"], ["changed", "~"], ["removed", "\u2212"], ["unknown", "?"]];

  function objectsText(d) {
    if (d.objects_unknown) return "objects known after the apply";
    const numberOf = (change) => (d.objects || []).filter((o) => o.change === change).length;
    const counts = objectSigns.map(([change, sign]) => [sign, numberOf(change)]).filter(([, number]) => number > 0);
    return counts.length > 0 ? "objects " + counts.map(([sign, number]) => sign + number).join(" ") : "no object changes";
  }

  // textOf returns the diff of a deployment, or else a line for each object that changes. The diff of an
  // upgrade can leave out objects that are removed or added, so their lines are before and after it.
  function textOf(d) {
    const diff = d.diff && Object.hasOwn(target.diffs, d.diff) ? target.diffs[d.diff] : "";
    const objects = d.objects || [];
    if (!diff || d.action !== "change") return diff || objectLines(objects);
    const stays = (object) => ("\n" + diff).includes("\n= " + object.key + ", stays ");
    const removed = objects.filter((object) => object.change === "removed" && !stays(object));
    return [objectLines(removed), diff, objectLines(objects.filter((object) => object.change === "added"))].filter((part) => part !== "").join("\n\n");
  }

  function objectLines(objects) {
    const most = 100;
    const signs = new Map([...objectSigns, ["removed", "-"]]);
    const lines = objects.slice(0, most).map((object) => (signs.get(object.change) || "?") + " " + object.key);
    if (objects.length > most) lines.push("... " + counted(objects.length - most, "more object"));
    return lines.join("\n");
  }

  // The groups of the table: none, the cluster groups, or the values of a label.
  function offerGroups() {
    const labels = new Set();
    let grouped = false;
    for (const cluster of target.clusters) {
      grouped = grouped || cluster.groups.length > 0;
      for (const label of Object.keys(cluster.labels)) labels.add(label);
    }
    const options = [["", "nothing"]];
    if (grouped) options.push(["groups", "cluster group"]);
    for (const label of [...labels].sort()) options.push(["label:" + label, "label " + label]);
    byId("group").replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
    state.group = grouped ? "groups" : "";
    byId("group").value = state.group;
  }

  function groupOf(cluster) {
    if (state.group === "groups") return cluster.groups.length > 0 ? cluster.groups.join(", ") : "in no group";
    const label = state.group.slice("label:".length);
    return Object.hasOwn(cluster.labels, label) ? label + " = " + cluster.labels[label] : "without label " + label;
  }

  const matches = (name, filter) => name.toLowerCase().includes(filter.trim().toLowerCase());
  const isChange = (d) => d !== undefined && d.action !== "keep";

  function visible() {
    let bundles = target.bundles.filter((name) => matches(name, state.bundles));
    let clusters = target.clusters.filter((cluster) => matches(cluster.name, state.clusters));
    if (state.only) {
      clusters = clusters.filter((cluster) => bundles.some((bundle) => isChange(cells.get(keyOf(cluster.name, bundle)))));
      bundles = bundles.filter((bundle) => clusters.some((cluster) => isChange(cells.get(keyOf(cluster.name, bundle)))));
    }
    return { clusters, bundles };
  }

  function describe(d, cluster, bundle) {
    if (!d) return cluster + ", " + bundle + ": not deployed";
    const parts = [(actionOf.get(kindOf(d)) || none).word];
    const number = (d.objects || []).length;
    if (number > 0) parts.push(counted(number, "object"));
    if (d.objects_unknown) parts.push("objects unknown");
    if (d.stage) parts.push("stage " + d.stage);
    return cluster + ", " + bundle + ": " + parts.join(", ");
  }

  function cellOf(cluster, bundle, row, column) {
    const d = cells.get(keyOf(cluster, bundle));
    const text = describe(d, cluster, bundle);
    const cell = make("td", { role: "gridcell", tabindex: "-1", "aria-label": text, title: text });
    cell.dataset.row = row;
    cell.dataset.column = column;
    if (d) {
      const action = actionOf.get(kindOf(d)) || none;
      cell.dataset.action = d.action;
      cell.className = action.name;
      cell.append(action.mark);
      if (state.stage >= 0 && d.stage === state.stage) cell.classList.add("instage");
      if (d === state.selected) cell.setAttribute("aria-selected", "true");
    } else {
      cell.className = "absent";
      cell.append("\u00b7");
    }
    return cell;
  }

  function showMatrix() {
    const { clusters, bundles } = visible();
    columns = bundles;
    rows = [];
    const head = make("tr", {}, make("th", { scope: "col" }, make("span", {}, "cluster")), ...bundles.map((name) => make("th", { scope: "col", title: name }, make("span", {}, make("bdi", {}, name)))));
    const body = make("tbody");
    let groups = [["", clusters]];
    if (state.group) {
      const found = new Map();
      for (const cluster of clusters) {
        const name = groupOf(cluster);
        if (!found.has(name)) found.set(name, []);
        found.get(name).push(cluster);
      }
      groups = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
    }
    for (const [name, members] of groups) {
      if (state.group) {
        const title = name + " \u00b7 " + counted(members.length, "cluster");
        body.append(make("tr", { class: "group" }, make("th", { colspan: String(bundles.length + 1), scope: "rowgroup" }, make("bdi", {}, title))));
      }
      for (const cluster of members) {
        const row = make("tr", {}, make("th", { scope: "row", title: cluster.name }, make("bdi", {}, cluster.name)));
        bundles.forEach((bundle, column) => row.append(cellOf(cluster.name, bundle, rows.length, column)));
        rows.push({ cluster: cluster.name, element: row });
        body.append(row);
      }
    }
    if (rows.length === 0 || columns.length === 0) {
      rows = [];
      body.replaceChildren(make("tr", {}, make("td", { class: "empty" }, target.deployments.length > 0 ? "No deployment matches the filters." : "There are no deployments.")));
      head.replaceChildren();
    }
    const matrix = byId("matrix");
    matrix.className = (bundles.length > 6 ? "many" : "") + (state.stage >= 0 ? " staged" : "");
    matrix.replaceChildren(make("thead", {}, head), body);
    showWidth();
    byId("shown").textContent = counted(rows.length, "cluster") + " \u00d7 " + counted(rows.length > 0 ? columns.length : 0, "bundle") + " shown";
    placeFocus();
  }

  // A table that does not fit says that it scrolls.
  function showWidth() {
    const scroll = byId("scroll");
    byId("wide").hidden = scroll.scrollWidth <= scroll.clientWidth;
  }

  // One cell of the table is in the order of the tab key: the last one that had the focus.
  function placeFocus() {
    const at = state.focus ? position(state.focus) : null;
    const cell = at || cellAt(0, 0);
    if (cell) cell.tabIndex = 0;
  }

  function position(focus) {
    const row = rows.findIndex((r) => r.cluster === focus.cluster);
    const column = columns.indexOf(focus.bundle);
    return row < 0 || column < 0 ? null : cellAt(row, column);
  }

  function cellAt(row, column) {
    return rows[row] ? rows[row].element.children[column + 1] : undefined;
  }

  function focusCell(cell) {
    if (!cell) return;
    const former = byId("matrix").querySelector('td[tabindex="0"]');
    if (former) former.tabIndex = -1;
    cell.tabIndex = 0;
    state.focus = { cluster: rows[cell.dataset.row].cluster, bundle: columns[cell.dataset.column] };
    cell.focus();
  }

  function select(cell) {
    const d = cells.get(keyOf(rows[cell.dataset.row].cluster, columns[cell.dataset.column]));
    if (!d) return;
    const former = byId("matrix").querySelector("td[aria-selected]");
    if (former) former.removeAttribute("aria-selected");
    cell.setAttribute("aria-selected", "true");
    state.selected = d;
    showDetail(d);
  }

  function showDetail(d) {
    const detail = byId("detail");
    const action = actionOf.get(kindOf(d)) || none;
    const close = make("button", { type: "button", class: "button close" }, "Close");
    close.addEventListener("click", () => detail.close());
    const parts = [close, make("h2", { id: "title", tabindex: "-1" }, markOf(action.name), make("bdi", {}, d.cluster + " / " + d.bundle))];
    const facts = make("dl");
    const fact = (name, ...values) => facts.append(make("dt", {}, name), make("dd", {}, ...values));
    fact("action", action.word);
    if (d.reason) fact("reason", d.reason);
    if (d.release) fact("release", make("code", {}, d.namespace + "/" + d.release));
    if (d.chart) fact("chart", make("code", {}, d.chart + (d.version ? "-" + d.version : "")));
    if (d.action !== "keep" && (d.digest_before || d.digest_after)) {
      const after = d.digest_after || (d.action === "remove" ? "removed" : "known after the apply");
      fact("digest", make("code", {}, d.action === "held" ? d.digest_before : d.digest_before ? d.digest_before + " \u2192 " + after : after));
    }
    if (d.stage) fact("stage", d.stage + " of " + target.stages.length);
    const cluster = target.clusters.find((c) => c.name === d.cluster);
    const source = sourceOf(d);
    if (source) fact("commit", ...commitOf(source));
    const labels = cluster ? Object.entries(cluster.labels) : [];
    if (labels.length > 0) fact("labels", make("bdi", {}, labels.map(([name, value]) => name + "=" + value).join(", ")));
    if (cluster && cluster.groups.length > 0) fact("groups", make("bdi", {}, cluster.groups.join(", ")));
    parts.push(facts);
    if (d.notes && d.notes.length > 0) parts.push(make("ul", { class: "notes" }, ...d.notes.map((note) => make("li", {}, note))));
    parts.push(make("h3", {}, "Objects"));
    parts.push(...objectsOf(d));
    if (d.diff && Object.hasOwn(target.diffs, d.diff)) {
      parts.push(make("h3", {}, "What changes in them"), diffOf(target.diffs[d.diff]));
      const others = target.deployments.filter((o) => o !== d && o.bundle === d.bundle && o.diff === d.diff).map((o) => o.cluster);
      if (others.length > 0) parts.push(make("p", { class: "soft" }, "The same on " + others.slice(0, 12).join(", ") + (others.length > 12 ? " and " + (others.length - 12) + " more" : "") + "."));
    }
    detail.replaceChildren(...parts);
    if (!detail.open) detail.showModal();
    byId("title").focus({ preventScroll: true });
    detail.scrollTop = 0;
  }

  function objectsOf(d) {
    const parts = [];
    if (d.objects_unknown) parts.push(make("p", {}, "The objects are known only after the apply."));
    if (d.objects && d.objects.length > 0) {
      const lines = d.objects.map((object) => {
        const hash = object.change === "changed" && object.before ? object.before + " \u2192 " + (object.after || "unknown") : object.after || object.before || "unknown";
        const word = object.change === "unknown" ? "can change" : object.change;
        return make("tr", { "data-change": object.change }, make("td", {}, markOf(objectMarks.get(object.change)), word), make("td", {}, make("code", {}, make("bdi", {}, object.key))), make("td", {}, make("code", {}, hash)));
      });
      const head = make("tr", {}, make("th", { scope: "col" }, "change"), make("th", { scope: "col" }, "object"), make("th", { scope: "col" }, "hash"));
      parts.push(make("table", { class: "objects" }, make("thead", {}, head), make("tbody", {}, ...lines)));
    }
    if (d.unchanged) parts.push(make("p", { class: "soft" }, counted(d.unchanged, "object") + (d.unchanged === 1 ? " stays as it is." : " stay as they are.")));
    if (parts.length === 0) parts.push(make("p", { class: "soft" }, "No object changes."));
    return parts;
  }

  // diffOf returns a diff. Lines of one kind that follow each other are one element.
  function diffOf(text) {
    const kinds = { "+": "ins", "-": "del", "@": "hunk", "~": "hunk", "?": "hunk" };
    const runs = [];
    for (const line of text.split("\n")) {
      const kind = kinds[line[0]] || "";
      const last = runs.at(-1);
      if (last && last.kind === kind) last.lines.push(line);
      else runs.push({ kind, lines: [line] });
    }
    return make("pre", { class: "diff" }, ...runs.map(({ kind, lines }) => {
      const tag = kind === "ins" || kind === "del" ? kind : "span";
      return make(tag, { class: kind || false }, lines.join("\n") || " ");
    }));
  }

  function showStages() {
    const items = target.stages.map((stage, i) => stageOf(String(i + 1), stage.text, counted(stage.deployments.length, "deployment"), i + 1));
    const removed = target.deployments.filter((d) => d.action === "remove").length;
    if (removed > 0) items.push(stageOf("\u2212", "Removals", counted(removed, "deployment") + ", after the stages"));
    const held = target.deployments.filter((d) => d.action === "held").length;
    if (held > 0) items.push(stageOf("\u2016", "Held", counted(held, "deployment") + ", in a later apply"));
    byId("order").hidden = items.length === 0;
    byId("stages").replaceChildren(...items);
  }

  function stageOf(number, text, note, stage) {
    const content = [text.split("; ").join("\n"), make("small", {}, note)];
    const label = make("span", { class: "number" }, number);
    if (stage === undefined) return make("li", {}, label, make("p", {}, ...content));
    const button = make("button", { type: "button", "aria-pressed": "false", title: "Show these deployments in the table" }, ...content);
    button.addEventListener("click", () => {
      state.stage = state.stage === stage ? -1 : stage;
      for (const other of byId("stages").querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && state.stage === stage));
      showMatrix();
      byId("scroll").scrollIntoView({ block: "nearest" });
    });
    return make("li", {}, label, button);
  }

  function showWarnings() {
    byId("alerts").hidden = target.warnings.length === 0;
    byId("warnings").replaceChildren(...target.warnings.map((warning) => make("details", { open: true }, make("summary", {}, warning.summary), make("pre", {}, warning.detail))));
  }

  function move(cell, key, whole) {
    let row = Number(cell.dataset.row), column = Number(cell.dataset.column);
    const page = 10, lastRow = rows.length - 1, lastColumn = columns.length - 1;
    switch (key) {
      case "ArrowUp": row--; break;
      case "ArrowDown": row++; break;
      case "ArrowLeft": column--; break;
      case "ArrowRight": column++; break;
      case "PageUp": row = Math.max(0, row - page); break;
      case "PageDown": row = Math.min(lastRow, row + page); break;
      case "Home": column = 0; if (whole) row = 0; break;
      case "End": column = lastColumn; if (whole) row = lastRow; break;
      default: return false;
    }
    if (row >= 0 && row <= lastRow && column >= 0 && column <= lastColumn) focusCell(cellAt(row, column));
    return true;
  }

  const matrix = byId("matrix");
  matrix.addEventListener("click", (event) => {
    const cell = event.target.closest("td[data-row]");
    if (!cell) return;
    focusCell(cell);
    select(cell);
  });
  matrix.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td[data-row]");
    if (!cell || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(cell);
      return;
    }
    if (move(cell, event.key, event.ctrlKey)) event.preventDefault();
  });
  const detail = byId("detail");
  detail.addEventListener("close", () => focusCell(matrix.querySelector('td[aria-selected="true"]') || cellAt(0, 0)));
  detail.addEventListener("click", (event) => { if (event.target === detail) detail.close(); }); // Beside its content.
  byId("more").addEventListener("click", () => {
    const first = shownChanges;
    showMoreChanges(maxElements);
    byId("changes").children[first].querySelector("summary").focus();
  });
  new ResizeObserver(showWidth).observe(byId("scroll"));

  // On paper everything is open.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    showMoreChanges(Infinity);
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    closed = [];
  });

  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  let pending;
  for (const id of ["clusters", "bundles"]) {
    byId(id).addEventListener("input", () => {
      state[id] = byId(id).value;
      clearTimeout(pending);
      pending = setTimeout(showMatrix, cells.size > 1000 ? 150 : 0);
    });
  }
  byId("group").addEventListener("change", () => { state.group = byId("group").value; showMatrix(); });
  byId("only").addEventListener("change", () => { state.only = byId("only").checked; showMatrix(); });

  byId("target").replaceChildren(...report.targets.map((t, i) => make("option", { value: String(i) }, t.name + " (" + t.owner + ")")));
  byId("targets").hidden = report.targets.length < 2;
  byId("target").addEventListener("change", () => openTarget(Number(byId("target").value)));
  if (report.targets.length > 0) openTarget(0);
})();
