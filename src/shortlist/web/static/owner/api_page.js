// The API's own description, /api/openapi.json, as a page to read.

import { call } from "../shared/api.js";
import { button, byId, make } from "../shared/elements.js";
import { complain } from "../shared/messages.js";
import { table } from "./tables.js";
import { capital } from "../shared/words.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

show();

async function show() {
  let described;
  try {
    described = await call("GET", "/api/openapi.json");
  } catch (error) {
    return complain(byId("message"), error);
  }
  const groups = grouped(described);
  byId("contents").replaceChildren(...[...groups.keys()].map((tag) => make("li", {}, make("a", { href: `#tag-${slug(tag)}` }, capital(tag)))));
  byId("routes").replaceChildren(...[...groups].map(([tag, routes]) => group(described, tag, routes)));
  openNamed();
  addEventListener("hashchange", openNamed);
  return undefined;
}

function grouped(described) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const method of METHODS.filter((one) => methods[one])) {
      const tag = methods[method].tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), { path, method, ...methods[method] }]);
    }
  }
  return groups;
}

const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
const idOf = ({ method, path }) => slug(`${method}${path}`);

function openNamed() {
  const named = byId(decodeURIComponent(location.hash.slice(1)));
  if (named?.tagName === "DETAILS") named.open = true;
  named?.scrollIntoView();
}

function group(described, tag, routes) {
  const parts = routes.map((one) => route(described, one));
  const all = button("Open all", () => {
    const open = all.textContent === "Open all";
    for (const part of parts) part.open = open;
    all.textContent = open ? "Close all" : "Open all";
  }, "link");
  return make(
    "section",
    { "aria-labelledby": `tag-${slug(tag)}`, class: "route-group" },
    make("div", { class: "head-line" }, make("h2", { id: `tag-${slug(tag)}`, tabindex: "-1" }, capital(tag)), all),
    ...parts,
  );
}

function route(described, one) {
  const body = schemaOf(one.requestBody);
  return make(
    "details",
    { class: "route card", id: idOf(one) },
    make(
      "summary",
      {},
      make("span", { class: `method ${one.method}` }, one.method.toUpperCase()),
      make("code", { class: "path" }, one.path), make("span", { class: "route-words" }, firstSentence(one.description ?? one.summary ?? "")),
    ),
    make(
      "div",
      { class: "route-body" },
      one.description ? make("p", {}, one.description) : null,
      one.parameters?.length ? part("Parameters", fieldTable("Parameters", one.parameters.map((given) => parameter(described, given)))) : null,
      body ? part(`Body${body.type ? ` (${body.type})` : ""}`, bodyTable(described, body)) : null,
      part("Answers", answers(one)),
      part("From a program", make("pre", { tabindex: "0", "aria-label": `Example: ${one.method.toUpperCase()} ${one.path}` }, make("code", {}, curl(described, one, body)))),
    ),
  );
}

const firstSentence = (text) => text.split(/(?<=[.;])\s/)[0].replace(/[.;]$/, "");
const part = (title, inside) => make("section", { class: "route-part" }, make("h3", {}, title), inside);

// ---- fields ----

function schemaOf(body) {
  const [type, content] = Object.entries(body?.content ?? {})[0] ?? [];
  return content ? { type: type === "application/json" ? "" : type, schema: content.schema ?? {}, required: body.required } : null;
}

function resolved(described, schema) {
  const name = schema?.$ref?.split("/").at(-1);
  return name ? (described.components?.schemas?.[name] ?? {}) : (schema ?? {});
}

const parameter = (described, given) => ({
  name: given.name,
  where: given.in,
  required: given.required,
  schema: resolved(described, given.schema),
  words: given.description ?? given.schema?.description,
});

function bodyTable(described, body) {
  const schema = resolved(described, body.schema);
  if (!schema.properties) return make("p", {}, typeOf(described, schema) === "any" ? "The file’s bytes." : capital(typeOf(described, schema)));
  const fields = Object.entries(schema.properties).map(([name, field]) => ({
    name,
    required: schema.required?.includes(name),
    schema: field,
    type: typeOf(described, field),
    words: field.description,
  }));
  return fieldTable("Fields of the body", fields);
}

function fieldTable(caption, fields) {
  return table({
    caption,
    columns: [
      { name: "Name", of: (field) => make("code", {}, field.name) },
      { name: "Type", of: (field) => field.type ?? typeOf({}, field.schema) },
      { name: "Needed", of: (field) => (field.required ? "yes" : defaultOf(field.schema)) },
      { name: "What it is", of: (field) => [field.words, limits(field.schema)].filter(Boolean).join("; ") || "–" },
    ],
    rows: fields,
  });
}

const defaultOf = ({ default: given } = {}) => (given === undefined || given === null || given === "" ? "no" : `no: ${JSON.stringify(given)}`);

function typeOf(described, given) {
  const schema = resolved(described, given);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(described, one)).join(" | ");
  if (schema.type === "array") return `list of ${typeOf(described, schema.items ?? {})}`;
  return { integer: "whole number", number: "number", string: "text", boolean: "true or false", null: "null", object: "object" }[schema.type] ?? "any";
}

function limits(schema) {
  const inner = schema?.anyOf?.find((one) => one.type !== "null") ?? schema ?? {};
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, maxItems, minItems } = inner;
  const bounds = [
    minimum !== undefined && `at least ${short(minimum)}`,
    exclusiveMinimum !== undefined && `more than ${short(exclusiveMinimum)}`,
    maximum !== undefined && `at most ${short(maximum)}`,
    minLength !== undefined && `${minLength} characters or more`,
    maxLength !== undefined && `up to ${maxLength} characters`,
    minItems !== undefined && `${minItems} or more`,
    maxItems !== undefined && `up to ${maxItems}`,
  ];
  return bounds.filter(Boolean).join(", ");
}

const short = (n) => (Math.abs(n) >= 2 ** 31 ? `${n < 0 ? "−" : ""}2^${Math.round(Math.log2(Math.abs(n)))}` : String(n));

const MEANINGS = { 200: "done", 422: "something in it will not do: {\"error\": …} says what" };

function answers(one) {
  const lines = Object.entries(one.responses ?? {}).map(([status, { description }]) => {
    const words = MEANINGS[status] ?? description;
    return make("li", {}, make("code", {}, status), ` ${words}`);
  });
  return make("ul", { class: "answers" }, lines);
}

// ---- an example ----

function curl(described, one, body) {
  const asked = (one.parameters ?? []).filter((given) => given.in === "query" && given.required);
  const query = asked.map((given) => `${given.name}=…`).join("&");
  const address = `${location.origin}${one.path}${query ? `?${query}` : ""}`;
  const lines = [`curl ${one.method === "get" ? "" : `-X ${one.method.toUpperCase()} `}"${address}"`, '-H "Authorization: Bearer $TOKEN"'];
  if (body && !body.type) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(example(described, body.schema))}'`);
  else if (body) lines.push("--data-binary @labels.csv");
  return lines.join(" \\\n  ");
}

/** A body of the right shape: what is needed, and little else. */
function example(described, given) {
  const schema = resolved(described, given);
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.example) return schema.example;
  if (schema.anyOf) return example(described, schema.anyOf[0]);
  if (schema.type === "array") return [example(described, schema.items ?? {})];
  if (schema.properties) {
    const needed = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name) ?? false);
    const some = needed.length ? needed : Object.entries(schema.properties).slice(0, 1);
    return Object.fromEntries(some.map(([name, field]) => [name, example(described, field)]));
  }
  return { integer: 17, number: 1.5, boolean: true, string: "…" }[schema.type] ?? null;
}
