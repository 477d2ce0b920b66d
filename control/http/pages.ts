import { accesses, modes } from "../../common/operation.ts";
import { callerFields } from "../../contract/operations/fields.ts";
import { pageFile, safe } from "../html.ts";
import type { DocumentedOperation, OpenApiDocument } from "./openapi.ts";
import { type Field, fieldsOf, nameOf, shapeAnchorOf, tableOf, typeOf } from "./page-tables.ts";
import type { Schema } from "./schemas.ts";

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly row: DocumentedOperation;
}

/** The API as one page for people, complete in itself; `nonce` goes to its style and script. */
export function docsPage(document: OpenApiDocument, nonce?: string): string {
  const { title, version } = document.info;
  const groups = Object.entries(Object.groupBy(entriesOf(document), ({ row }) => row["x-group"]));
  const mark = nonce === undefined ? "" : ` nonce="${safe(nonce)}"`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe(title)} API</title>
<style${mark}>${pageFile("docs.css")}</style>
<header>
  <h1>${safe(title)} API</h1><small>${safe(version)}</small>
  <input type="search" placeholder="Search a path, name or field" aria-label="Search">
</header>
<div class="columns">
  <nav>${groups.map(([name, entries = []]) => linkTo(name, entries.length)).join("")}
    <a href="#caller">Fields of every body</a><a href="#shapes">Shapes</a></nav>
  <main>
    ${groups.map(([name, entries = []]) => section(document, name, entries)).join("")}
    <p class="none" hidden>Nothing fits.</p>
    ${callerSection(document)}
    ${shapesSection(document)}
  </main>
</div>
<script${mark}>${pageFile("docs.js")}</script>
</html>
`;
}

const entriesOf = (document: OpenApiDocument): Entry[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, row]) => ({ method, path, row })),
  );

const anchorOf = (group: string): string => `group-${group.toLowerCase().replaceAll(" ", "-")}`;

const linkTo = (group: string, count: number): string =>
  `<a href="#${anchorOf(group)}">${safe(group)}<span>${count}</span></a>`;

const section = (document: OpenApiDocument, group: string, entries: readonly Entry[]): string =>
  `<section id="${anchorOf(group)}" data-group><h2>${safe(group)}</h2>
${entries.map((entry) => details(document, entry)).join("\n")}</section>`;

function details(document: OpenApiDocument, { method, path, row }: Entry): string {
  const body = bodyOf(document, row);
  const id = safe(row.operationId);
  const names = [...(row.parameters ?? []), ...fieldsOf(body).filter(isOwn)].map(
    ({ name }) => name,
  );
  const words = [method, path, row.operationId, row.summary, ...names].join(" ").toLowerCase();
  return `<details id="${id}" data-find="${safe(words)}">
<summary><span class="method ${method}">${method.toUpperCase()}</span>
<span class="path">${safe(path)}</span><span class="says">${safe(row.summary)}</span></summary>
<div class="more">${facts(row)}
${inputTables(row, body)}</div></details>`;
}

/** What is said of an operation in a line each. */
function facts(row: DocumentedOperation): string {
  const lines = {
    Name: `<a href="#${safe(row.operationId)}"><code>${safe(row.operationId)}</code></a>`,
    Access: safe(accesses[row["x-access"]]),
    Answer: safe(modes[row["x-mode"]]),
    Result: typeOf(row["x-result"]),
    Errors: row["x-errors"].join(", "),
  };
  return Object.entries(lines)
    .filter(([, text]) => text !== "")
    .map(([title, text]) => `<p><b>${title}</b> <span>${text}</span></p>`)
    .join("\n");
}

function inputTables(row: DocumentedOperation, body: Schema): string {
  const parameters = row.parameters ?? [];
  const tables: [string, Field[]][] = [
    ["Path", parameters.filter((parameter) => parameter.in === "path")],
    ["Query", parameters.filter((parameter) => parameter.in === "query")],
    ["Headers", parameters.filter((parameter) => parameter.in === "header")],
    ["Body", fieldsOf(body).filter(isOwn)],
  ];
  const shown = tables.map(([title, fields]) =>
    fields.length === 0 ? "" : `<h3>${title}</h3>${tableOf(fields)}`,
  );
  if (isCallerBody(body))
    shown.push('<p class="says">And <a href="#caller">the fields of every body</a>.</p>');
  return shown.join("");
}

const isOwn = ({ name }: { readonly name: string }): boolean => !Object.hasOwn(callerFields, name);

const isCallerBody = ({ properties = {} }: Schema): boolean =>
  Object.keys(callerFields).every((name) => Object.hasOwn(properties, name));

function bodyOf(document: OpenApiDocument, row: DocumentedOperation): Schema {
  const schema = row.requestBody?.content["application/json"]?.schema ?? {};
  return schema.$ref === undefined
    ? schema
    : (document.components.schemas[nameOf(schema.$ref)] ?? {});
}

/** The fields that every body may carry, once for all. */
function callerSection(document: OpenApiDocument): string {
  const body = Object.values(document.components.schemas).find(isCallerBody) ?? {};
  const fields = fieldsOf(body).filter((field) => !isOwn(field));
  return `<section id="caller"><h2>Fields of every body</h2>${tableOf(fields)}</section>`;
}

/** Named shapes of results, for those who follow a link to one. */
function shapesSection(document: OpenApiDocument): string {
  const shapes = Object.entries(document.components.schemas)
    .filter(([, schema]) => !isCallerBody(schema))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => {
      const fields = fieldsOf(schema);
      return `<details id="${shapeAnchorOf(name)}"><summary><code>${safe(name)}</code></summary>
<div class="more">${fields.length === 0 ? typeOf(schema) : tableOf(fields)}</div></details>`;
    });
  return `<section id="shapes"><h2>Shapes</h2>${shapes.join("\n")}</section>`;
}
