"use strict";
(() => {
  const report = JSON.parse(document.getElementById("data").textContent);
  const actions = [
    { name: "add", mark: "+", word: "added" },
    { name: "change", mark: "~", word: "changed" },
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

  const state = { target: 0, clusters: "", bundles: "", group: "", changes: false, stage: -1, selected: null, focus: null };
  let target, cells, rows, columns;

  function openTarget(index) {
    target = report.targets[index];
    state.target = index;
    state.stage = -1;
    state.selected = state.focus = null;
    cells = new Map(target.deployments.map((d) => [keyOf(d.cluster, d.bundle), d]));
    byId("name").textContent = target.name;
    document.title = "Plan of target " + target.name;
    const doing = { create: "creates the target", update: "updates the target", destroy: "destroys the target" }[target.operation] || "";
    byId("about").textContent = ["owner " + target.owner, "the plan " + doing, counted(target.clusters.length, "cluster") + " \u00d7 " + counted(target.bundles.length, "bundle"),
      "planned " + target.planned_at.replace("T", " ").replace("Z", " UTC")].join(" \u00b7 ");
    byId("unknown").hidden = !target.unknown;
    byId("unknown").textContent = target.unknown ? "Nothing of this target is known before the apply. Not known yet: " + target.unknown + "." : "";
    showSummary();
    offerGroups();
    showStages();
    showWarnings();
    showMatrix();
    showDetail(null);
  }

  function showSummary() {
    byId("summary").replaceChildren(...actions.filter((a) => target.summary[a.name] || (a.name !== "held" && a.name !== "unknown")).map((action) => {
      const number = target.summary[action.name] || 0;
      const taken = action.name === "change" && target.summary.taken_over ? " (" + target.summary.taken_over + " taken over)" : "";
      return make("li", { class: number ? false : "none", "data-action": action.name }, markOf(action.name), make("span", {}, make("b", {}, String(number)), " " + action.word + taken));
    }));
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
  const changes = (d) => d !== undefined && d.action !== "keep";

  function visible() {
    let bundles = target.bundles.filter((name) => matches(name, state.bundles));
    let clusters = target.clusters.filter((cluster) => matches(cluster.name, state.clusters));
    if (state.changes) {
      clusters = clusters.filter((cluster) => bundles.some((bundle) => changes(cells.get(keyOf(cluster.name, bundle)))));
      bundles = bundles.filter((bundle) => clusters.some((cluster) => changes(cells.get(keyOf(cluster.name, bundle)))));
    }
    return { clusters, bundles };
  }

  function describe(d, cluster, bundle) {
    if (!d) return cluster + ", " + bundle + ": not deployed";
    const parts = [(actionOf.get(d.action) || none).word];
    if (d.objects) parts.push(counted(d.objects.length, "object"));
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
      cell.dataset.action = d.action;
      cell.append(markOf(d.action));
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
    byId("shown").textContent = counted(rows.length, "cluster") + " \u00d7 " + counted(rows.length > 0 ? columns.length : 0, "bundle") + " shown";
    placeFocus();
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
    if (!d) {
      detail.replaceChildren(make("p", { class: "soft" }, target.deployments.length > 0 ? "Select a deployment in the table to see its objects and what changes in them." : ""));
      return;
    }
    const action = actionOf.get(d.action) || none;
    const parts = [make("h2", { tabindex: "-1" }, markOf(d.action), make("bdi", {}, d.cluster + " / " + d.bundle))];
    const facts = make("dl");
    const fact = (name, ...values) => facts.append(make("dt", {}, name), make("dd", {}, ...values));
    fact("action", d.taken_over ? action.word + ", taken over" : action.word);
    if (d.reason) fact("reason", d.reason);
    if (d.release) fact("release", make("code", {}, d.namespace + "/" + d.release));
    if (d.chart) fact("chart", make("code", {}, d.chart + (d.version ? "-" + d.version : "")));
    if (d.action !== "keep" && (d.digest_before || d.digest_after)) {
      const after = d.digest_after || (d.action === "remove" ? "removed" : "known after the apply");
      fact("digest", make("code", {}, d.action === "held" ? d.digest_before : d.digest_before ? d.digest_before + " \u2192 " + after : after));
    }
    if (d.stage) fact("stage", d.stage + " of " + target.stages.length);
    const cluster = target.clusters.find((c) => c.name === d.cluster);
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
    detail.scrollTop = 0;
  }

  function objectsOf(d) {
    const parts = [];
    if (d.objects_unknown) parts.push(make("p", {}, "The objects are known only after the apply."));
    if (d.objects && d.objects.length > 0) {
      const lines = d.objects.map((object) => {
        const hash = object.change === "changed" ? object.before + " \u2192 " + (object.after || "unknown") : object.after || object.before || "unknown";
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

  function diffOf(text) {
    const kinds = { "+": "ins", "-": "del", "@": "hunk", "~": "hunk" };
    return make("pre", { class: "diff", tabindex: "0", "aria-label": "Changes" }, ...text.split("\n").map((line) => make("span", { class: kinds[line[0]] || false }, line || " ")));
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
    });
    return make("li", {}, label, button);
  }

  function showWarnings() {
    byId("alerts").hidden = target.warnings.length === 0;
    byId("warnings").replaceChildren(...target.warnings.map((warning) => make("details", {}, make("summary", {}, warning.summary), make("pre", {}, warning.detail))));
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
      const title = byId("detail").querySelector("h2");
      if (title && cell.hasAttribute("aria-selected")) title.focus({ preventScroll: true });
      return;
    }
    if (move(cell, event.key, event.ctrlKey)) event.preventDefault();
  });
  byId("detail").addEventListener("keydown", (event) => {
    if (event.key === "Escape") focusCell(matrix.querySelector('td[aria-selected="true"]') || cellAt(0, 0));
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
  byId("changes").addEventListener("change", () => { state.changes = byId("changes").checked; showMatrix(); });

  byId("target").replaceChildren(...report.targets.map((t, i) => make("option", { value: String(i) }, t.name + " (" + t.owner + ")")));
  byId("targets").hidden = report.targets.length < 2;
  byId("target").addEventListener("change", () => openTarget(Number(byId("target").value)));
  if (report.targets.length > 0) openTarget(0);
})();
