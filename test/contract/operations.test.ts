import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as z from "zod";
import { isStored, type Operation, routeOf } from "../../common/operation.ts";
import { product, protocol } from "../../common/product.ts";
import { findOperation, groupOf, operations } from "../../contract/api.ts";
import { clusterHistoryOperations } from "../../contract/operations/cluster-history.ts";
import { clusterJobOperations } from "../../contract/operations/cluster-jobs.ts";
import { callerFields } from "../../contract/operations/fields.ts";
import { kubernetesOperations } from "../../contract/operations/kubernetes.ts";
import { slurmOperations } from "../../contract/operations/slurm.ts";

/** A field as one line: its type, whether null fits, and its default when it may be missing. */
type Fields = Record<string, string>;

interface Fact {
  route: string;
  in_spec: boolean;
  tag?: string | undefined;
  mode: string;
  queue?: string | undefined;
  request?: string;
  path?: Fields;
  query?: Fields;
  body?: { name?: string | undefined; optional?: boolean; fields: Fields };
}

const file = new URL("../fixtures/operations.json", import.meta.url);
const facts: Fact[] = JSON.parse(readFileSync(file, "utf8").replaceAll("<product>", product.word));

/** Fields of ours that the facts do not have, by route. */
const additions: Record<string, Fields> = {
  "GET /api/status": { after: "string|null = null" },
  "POST /logs": {
    offset: "integer = 0",
    since: "number|null = null",
    timestamps: "boolean = false",
  },
  "POST /serve/logs": { since: "number|null = null", timestamps: "boolean = false" },
  "POST /ssh_node_pools/deploy": { force: "boolean = false" },
  "POST /ssh_node_pools/down": { force: "boolean = false" },
  "POST /stop": { skip_hooks: "boolean = false" },
  "POST /down": { skip_hooks: "boolean = false" },
  "POST /download": {
    rank: "integer = 0",
    answer: 'enum = "zip"',
    stretches: "array<object> = []",
  },
  "POST /hook_logs": { autostop: "boolean = false" },
  "POST /exec": { cancel_stop: "boolean = false" },
  "POST /jobs/launch": { submission_id: "string|null = null" },
  "POST /launch": {
    cancel_stop: "boolean = false",
    [`is_launched_by_${protocol.requestPrefix}_serve_controller`]: "boolean = false",
  },
};

for (const fact of facts)
  test(`${fact.route} is a row as the facts have it`, () => {
    const row = operations.find(({ route }) => route === fact.route);
    assert.ok(row, "no such row");
    const { body, query, ...rest } = fact;
    const added = additions[fact.route];
    const fields = body && { ...body, fields: { ...body.fields, ...added } };
    assert.deepEqual(factOf(row, fact.in_spec), {
      ...rest,
      ...(query && { query: body ? query : { ...query, ...added } }),
      ...(fields && { body: fields }),
    });
  });

test("there is no row beyond the facts and a few of ours", () => {
  const known = new Set(facts.map(({ route }) => route));
  assert.deepEqual(
    operations.filter(({ route }) => !known.has(route as string)).map(({ name }) => name),
    [
      ...["preempt", "events", "explain", "secrets.list", "secrets.set", "secrets.delete"],
      ...["workspaces.config_history", "workspaces.use"],
      ...["auth.login_page", "auth.login", "auth.logout", "auth.oidc_start", "auth.oidc_callback"],
      ...["audit.list", "audit.verify", "orphans", "orphans.adopt", "orphans.end"],
    ],
  );
  assert.equal(operations.length, 140);
  assert.equal(facts.filter((fact) => fact.in_spec).length, 102);
});

test("names and routes are unique, and every row has its group", () => {
  assert.equal(new Set(operations.map(({ name }) => name)).size, operations.length);
  assert.equal(new Set(operations.map(({ route }) => route)).size, operations.length);
  for (const row of operations) {
    assert.equal(findOperation(row.name), row);
    assert.notEqual(groupOf(row).title, "Other", row.name);
  }
});

test("a row is the same object wherever it is listed: code finds it by that", () => {
  const groups = [
    kubernetesOperations,
    slurmOperations,
    clusterJobOperations,
    clusterHistoryOperations,
  ];
  for (const row of groups.flatMap((rows) => Object.values(rows)))
    assert.ok(operations.includes(row), row.name);
});

test("only stored operations have a queue", () => {
  for (const row of operations) if (!isStored(row)) assert.equal(row.queue, undefined, row.name);
});

test("every parameter of a path is declared, and no other", () => {
  for (const row of operations) {
    const inPath = [...routeOf(row).path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(row.input.path?.shape ?? {}), inPath, row.name);
  }
});

test("a body accepts both spellings of the product's word and ignores unknown keys", () => {
  const launch = findOperation("launch")?.input.body;
  const given = { task: "run: date", cluster_name: "c", [`override_${protocol.word}_config`]: {} };
  const parsed = launch?.parse({ ...given, [`override_${product.word}_config`]: {}, other: 1 });
  assert.ok(parsed && !("other" in parsed));
  assert.equal(launch?.safeParse({ ...given, dryrun: "true" }).success, false);
});

test("a query reads text, and repeated parameters as a list", () => {
  const status = findOperation("api.status")?.input.query;
  assert.deepEqual(status?.parse({ request_ids: "a", all_status: "True", limit: "5" }), {
    request_ids: ["a"],
    all_status: true,
    limit: 5,
    after: null,
    fields: null,
    cluster_name: null,
  });
  assert.deepEqual(status?.parse({ request_ids: ["a", "b"] })["request_ids"], ["a", "b"]);
});

test("a blob's upload takes either form of id, another upload one", () => {
  const blob = "0123456789abcdef".repeat(4);
  const run = `${protocol.requestPrefix}-2026-01-31-23-59-59-123456-0123abcd`;
  const takes = (name: string, upload_id: string) =>
    findOperation(name)?.input.query?.safeParse({
      user_hash: "u",
      upload_id,
      chunk_index: "0",
      total_chunks: "1",
    }).success;
  assert.deepEqual([takes("upload_v2", blob), takes("upload_v2", run)], [true, true]);
  assert.deepEqual([takes("upload", blob), takes("upload", run)], [false, true]);
  assert.deepEqual([takes("upload_v2", "../x"), takes("upload", `${run}/..`)], [false, false]);
});

/** The row in the words of the facts. */
function factOf(row: Operation, inSpec: boolean): Fact {
  const { name, requestName = name, route, mode, queue = "short", input } = row;
  const { tag, title } = groupOf(row);
  return {
    route,
    in_spec: inSpec,
    ...(tag !== title && { tag }),
    mode,
    ...(isStored(row) && { queue, request: requestName }),
    ...(input.path && { path: fieldsOf(input.path) }),
    ...(input.query && { query: fieldsOf(input.query) }),
    ...(hasOwnFields(input.body) && {
      body: {
        ...(input.body.meta()?.id && { name: input.body.meta()?.id }),
        ...(input.bodyOptional && { optional: true }),
        fields: fieldsOf(input.body),
      },
    }),
  };
}

/** Whether a body is described at all; a free-form one is not. */
const hasOwnFields = (shape: z.ZodObject | undefined): shape is z.ZodObject =>
  shape !== undefined && Object.keys(shape.shape).length > 0;

function fieldsOf(shape: z.ZodObject): Fields {
  const own = Object.entries(shape.shape as Record<string, z.ZodType>).filter(
    ([name]) => !Object.hasOwn(callerFields, name),
  );
  return Object.fromEntries(own.map(([name, type]) => [name, lineOf(type)]));
}

function lineOf(type: z.ZodType): string {
  const missing = type.safeParse(undefined);
  const fallback = missing.success ? ` = ${JSON.stringify(missing.data)}` : "";
  return typeNamesOf(z.toJSONSchema(type, { io: "input" })).join("|") + fallback;
}

interface JsonSchema {
  type?: string | string[];
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  $ref?: string;
}

function typeNamesOf(schema: object): string[] {
  const { type, enum: values, anyOf, items, $ref }: JsonSchema = schema;
  if (values !== undefined) return ["enum"];
  if ($ref !== undefined) return ["object"];
  if (anyOf !== undefined) return anyOf.flatMap(typeNamesOf);
  if (type === "array") return [`array<${typeNamesOf(items ?? {}).join("|")}>`];
  return [type ?? []].flat();
}
