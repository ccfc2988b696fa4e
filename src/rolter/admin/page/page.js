// The live page: one stream of server-sent events, read with fetch() so that the admin token can go
// with it; it comes back by itself after a restart of the gateway.
"use strict";

const byId = (id) => document.getElementById(id);
const kMostDecisions = 100;
let token = sessionStorage.getItem("rolter-token") || "";
let shownVersion = null;

function headers() {
  return token ? { Authorization: "Bearer " + token } : {};
}

// ---- how values are written ----

const number = (value, digits = 0) =>
  value === null || value === undefined ? "-" : value.toLocaleString("en-US", {
    minimumFractionDigits: digits, maximumFractionDigits: digits });
const percent = (value) => (value === null || value === undefined ? "-" : number(value * 100, 1) + " %");
const millis = (value) => (value === null || value === undefined ? "-" : number(value) + " ms");

// ---- elements that are updated in place, so that focus and scrolling stay ----

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Rows keyed by `keyOf`: made once by `make`, filled by `fill`, removed when their item is gone. */
function syncRows(body, items, keyOf, make, fill) {
  const rows = new Map([...body.children].map((row) => [row.dataset.key, row]));
  items.forEach((item, index) => {
    const key = keyOf(item);
    let row = rows.get(key);
    if (!row) {
      row = make(item);
      row.dataset.key = key;
    }
    rows.delete(key);
    if (body.children[index] !== row) body.insertBefore(row, body.children[index] || null);
    fill(row, item);
  });
  rows.forEach((row) => row.remove());
}

/** A row of cells named by `fields`: "name" or "name:class". */
function rowOf(fields) {
  const row = element("tr");
  for (const field of fields) {
    const [name, className] = field.split(":");
    const cell = element("td", className || "");
    cell.dataset.field = name;
    row.append(cell);
  }
  return row;
}

function fillRow(row, values) {
  for (const [name, value] of Object.entries(values)) {
    setText(row.querySelector(`[data-field="${name}"]`), value);
  }
}

function fillState(row, item) {
  const cell = row.querySelector('[data-field="state"]');
  const word = item.eligible ? "up" : item.why_not.replaceAll("_", " ");
  setText(cell, item.cooling_secs > 0 ? `${word} ${number(item.cooling_secs)} s` : word);
  cell.className = item.eligible ? "good" : item.why_not === "drained" ? "warn" : "bad";
}

// ---- fleet ----

const kCards = [
  ["requests_per_s", "Requests/s", (v) => number(v, 1), 0],
  ["ttft_p50_ms", "TTFT p50", millis, 1],
  ["ttft_p90_ms", "TTFT p90", millis, null],
  ["token_hit_rate", "Token hit rate", percent, 2],
  ["in_flight", "In flight", number, null],
  ["requests_total", "Requests", number, null],
  ["cached_tokens_total", "Prefill tokens saved", number, null],
];

function makeCards() {
  for (const [field, label, , series] of kCards) {
    const card = element("dl", "card");
    const value = element("dd");
    value.dataset.field = field;
    card.append(element("dt", "", label), value);
    if (series !== null) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", "0 0 60 20");
      svg.setAttribute("preserveAspectRatio", "none");
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `${label} over the last minute`);
      svg.dataset.series = series;
      svg.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
      card.append(svg);
    }
    byId("fleet").append(card);
  }
}

function drawSeries(svg, history) {
  const values = history.map((point) => point[svg.dataset.series]);
  const most = Math.max(...values.filter((value) => value !== null), 1e-9);
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    const joined = index > 0 && values[index - 1] !== null;
    const x = 60 - values.length + index;
    path += `${joined ? "L" : "M"}${x} ${(19 - (18 * value) / most).toFixed(2)}`;
  });
  svg.firstChild.setAttribute("d", path);
}

function showFleet(state) {
  for (const [field, , write] of kCards) {
    setText(byId("fleet").querySelector(`[data-field="${field}"]`), write(state.fleet[field]));
  }
  byId("fleet").querySelectorAll("svg").forEach((svg) => drawSeries(svg, state.history));
}

// ---- replicas and routes ----

const kReplicaFields = ["provider", "state", "in_flight:n", "queued:n", "requests_per_s:n",
  "ttft_p50_ms:n", "ttft_p90_ms:n", "token_hit_rate:n", "requests_total:n",
  "upstream_errors_total:n", "last_error:wide", "action"];

function makeReplica(item) {
  const row = rowOf(kReplicaFields);
  const button = element("button");
  button.type = "button";
  button.addEventListener("click", () => drain(item.provider, button));
  row.lastChild.append(button);
  return row;
}

function fillReplica(row, item) {
  fillState(row, item);
  fillRow(row, {
    provider: item.provider, in_flight: number(item.in_flight), queued: number(item.queued),
    requests_per_s: number(item.requests_per_s, 1), ttft_p50_ms: millis(item.ttft_p50_ms),
    ttft_p90_ms: millis(item.ttft_p90_ms), token_hit_rate: percent(item.token_hit_rate),
    requests_total: number(item.requests_total),
    upstream_errors_total: number(item.upstream_errors_total), last_error: item.last_error || "",
  });
  const button = row.querySelector("button");
  button.dataset.drained = item.drained;
  setText(button, item.drained ? "Undo drain" : "Drain");
  button.setAttribute("aria-label", `${button.textContent} ${item.provider}`);
}

async function drain(provider, button) {
  const undo = button.dataset.drained === "true";
  button.disabled = true;
  try {
    const answer = await fetch(undo ? "/admin/undrain" : "/admin/drain", {
      method: "POST", headers: { ...headers(), "Content-Type": "application/json" },
      body: JSON.stringify({ target: provider }),
    });
    if (!answer.ok) say(`${provider}: ${(await answer.json()).error.message}`, "bad");
  } catch (error) {
    say(`${provider}: ${error.message}`, "bad");
  } finally {
    button.disabled = false;
  }
}

const kRouteFields = ["model", "strategy", "target", "state", "in_flight:n", "max_in_flight:n",
  "weight:n", "index_nodes:n"];

function showRoutes(routes) {
  const rows = routes.flatMap((route) => route.targets.map((target, index) => ({
    ...target, index, route: route.model, strategy: route.strategy,
    name: index === 0 ? [route.model, ...route.aliases].join(", ") : "",
  })));
  syncRows(byId("route-rows"), rows, (item) => `${item.route}#${item.index}`,
    () => rowOf(kRouteFields), (row, item) => {
      fillState(row, item);
      fillRow(row, {
        model: item.name, strategy: item.index === 0 ? item.strategy : "", target: item.target,
        in_flight: number(item.in_flight), weight: number(item.weight, 1),
        max_in_flight: item.max_in_flight === 0 ? "-" : number(item.max_in_flight),
        index_nodes: number(item.index_nodes),
      });
    });
}

// ---- decisions ----

const kDecisionFields = ["time", "route", "target", "reason", "matched:n", "scores:wide", "status:n",
  "ttft_ms:n", "request_id"];

/** One unbroken piece per target, the chosen one stressed. */
function scorePieces(scores, target) {
  return scores.flatMap((one) => [
    element(target.startsWith(one.provider + "/") ? "strong" : "span", "piece",
      `${one.provider} ${one.total.toFixed(3)}`), " "]);
}

function showDecisions(decisions) {
  if (byId("pause").checked) return;
  const body = byId("decision-rows");
  for (const one of decisions) {
    const row = rowOf(kDecisionFields);
    fillRow(row, {
      time: new Date(one.time * 1000).toLocaleTimeString("en-GB"), route: one.route,
      target: one.target, reason: one.reason.replaceAll("_", " "), matched: percent(one.matched),
      status: String(one.status), ttft_ms: millis(one.ttft_ms),
      request_id: one.request_id,
    });
    row.querySelector('[data-field="scores"]').append(...scorePieces(one.scores, one.target));
    body.prepend(row);
  }
  while (body.children.length > kMostDecisions) body.lastChild.remove();
}

// ---- configuration, status, theme, token ----

async function showConfig(version) {
  if (version === shownVersion) return;
  shownVersion = version;
  const answer = await fetch("/admin/state", { headers: headers() });
  if (answer.ok) byId("config").textContent = JSON.stringify((await answer.json()).config, null, 2);
}

function say(text, className) {
  setText(byId("status"), text);
  byId("status").className = "pill " + className;
}

function showState(state) {
  say(state.draining ? "draining" : state.ready ? "ready" : "starting", state.ready ? "good" : "warn");
  setText(byId("version"), String(state.version));
  showFleet(state);
  syncRows(byId("replica-rows"), state.providers, (item) => item.provider, makeReplica, fillReplica);
  showRoutes(state.routes);
  showConfig(state.version).catch(() => { shownVersion = null; });
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  setText(byId("theme"), name === "dark" ? "Light" : "Dark");
}

function onEvent(text) {
  const lines = text.split("\n");
  const name = (lines.find((line) => line.startsWith("event: ")) || "").slice(7);
  const data = (lines.find((line) => line.startsWith("data: ")) || "").slice(6);
  if (name === "state") showState(JSON.parse(data));
  if (name === "decisions") showDecisions(JSON.parse(data));
}

async function readEvents() {
  const answer = await fetch("/admin/events", { headers: headers(), cache: "no-store" });
  if (answer.status === 401) {
    byId("login").hidden = false;
    say("needs the admin token", "warn");
    await new Promise((done) => { byId("login").onsubmit = (event) => {
      event.preventDefault();
      done();
    }; });
    token = byId("token").value;
    sessionStorage.setItem("rolter-token", token);
    return;
  }
  if (!answer.ok) throw new Error("answered " + answer.status);
  byId("login").hidden = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the gateway has ended the stream");
    const events = (pending + value).split("\n\n");
    pending = events.pop();
    events.forEach(onEvent);
  }
}

async function main() {
  makeCards();
  const kept = localStorage.getItem("rolter-theme");
  setTheme(kept || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    localStorage.setItem("rolter-theme", document.documentElement.dataset.theme);
  });
  for (;;) {
    try {
      await readEvents();
    } catch (error) {
      say("not reachable, trying again", "bad");
      shownVersion = null;
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}

main();
