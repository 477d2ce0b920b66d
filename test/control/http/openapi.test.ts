import assert from "node:assert/strict";
import { test } from "node:test";
import type * as z from "zod";
import { operations } from "../../../contract/api.ts";
import { caps } from "../../../contract/caps.ts";
import { type DocumentedOperation, openApiDocument } from "../../../control/http/openapi.ts";
import { docsPage } from "../../../control/http/pages.ts";
import type { Schema } from "../../../control/http/schemas.ts";

const document = openApiDocument(operations);
const { schemas } = document.components;
const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, row]) => ({
    route: `${method.toUpperCase()} ${path}`,
    row,
  })),
);

test("says what it is", () => {
  assert.equal(document.openapi, "3.1.0");
  assert.deepEqual(document.info, { title: "Outrigger", version: "0.1.0" });
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    ["http://127.0.0.1:46580"],
  );
});

test("has every row once, by a name of its own", () => {
  assert.deepEqual(
    documented.map(({ route }) => route).toSorted(),
    operations.map(({ route }) => route as string).toSorted(),
  );
  assert.equal(new Set(documented.map(({ row }) => row.operationId)).size, operations.length);
});

test("every reference leads to a schema", () => {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
  assert.ok(refs.length > 100);
  for (const ref of refs)
    assert.ok(schemas[ref?.replace("#/components/schemas/", "") ?? ""], `${ref} leads nowhere`);
});

test("every operation has a tag that is described, that of the protocol where it has one", () => {
  const described = new Set(document.tags.map(({ name }) => name));
  for (const { row } of documented) for (const tag of row.tags) assert.ok(described.has(tag), tag);

  const names = ["jobs", "serve", "users", "workspaces", "volumes", "ssh_node_pools", "recipes"];
  for (const name of names) assert.ok(described.has(name), name);
});

test("every operation documents how anything is refused, and 501 where it has no code", () => {
  const unbuilt = openApiDocument(operations, () => false);
  for (const { route } of operations) {
    const [method = "", path = ""] = route.split(" ");
    const row = unbuilt.paths[path]?.[method.toLowerCase()];
    for (const status of ["400", "401", "403", "431", "503"])
      assert.ok(row?.responses[status], route);
    assert.ok(row?.responses["401"]?.headers?.["WWW-Authenticate"], route);
    assert.equal(row?.responses["501"] === undefined, storedModes.includes(row?.["x-mode"] ?? ""));
  }
});

const storedModes = ["async", "receipt", "log"];

test("every link leads to an operation, by fields that it has", () => {
  let count = 0;
  for (const { row } of documented)
    for (const link of Object.values(row.responses["200"]?.links ?? {})) {
      const target = find(link.operationId);
      const query = target.parameters?.map(({ name }) => name) ?? [];
      for (const name of Object.keys(link.parameters ?? {}))
        assert.ok(query.includes(name.replace("query.", "")), `${link.operationId} ${name}`);
      for (const name of Object.keys(link.requestBody ?? {}))
        assert.ok(fieldsOf(target)[name], `${link.operationId} ${name}`);
      count += 1;
    }
  assert.ok(count > 100);
});

test("what an operation makes is named to those that take its name, alone, in a list or in a query", () => {
  const links = find("launch").responses["200"]?.links ?? {};
  const name = "$request.body#/cluster_name";

  assert.deepEqual(links["stop"]?.requestBody, { cluster_name: name });
  assert.deepEqual(links["status"]?.requestBody, { cluster_names: [name] });
  assert.deepEqual(links["api.status"]?.parameters, { "query.cluster_name": name });
});

test("every example fits the field that it stands in", () => {
  let count = 0;
  for (const row of operations)
    for (const part of [row.input.query, row.input.body])
      for (const [name, { examples = [] }] of Object.entries(fieldsOf(find(row.name))))
        for (const example of examples) {
          const field: z.ZodType | undefined = part?.shape[name];
          if (field === undefined) continue;
          assert.deepEqual(field.safeParse(example).error, undefined, `${row.name} ${name}`);
          count += 1;
        }
  assert.ok(count > 20);
});

function fieldsOf({ requestBody }: DocumentedOperation): Readonly<Record<string, Schema>> {
  const schema = requestBody?.content["application/json"]?.schema ?? {};
  const named = schemas[schema.$ref?.replace("#/components/schemas/", "") ?? ""];
  return (named ?? schema).properties ?? {};
}

const bodyNames = `JobsLaunchBody JobsQueueBody JobsQueueV2Body JobsWaitBody JobsCancelBody
  JobsLogsBody JobsDownloadLogsBody JobsPoolApplyBody JobsPoolDownBody JobsPoolStatusBody
  JobsPoolLogsBody JobsPoolDownloadLogsBody GetJobEventsBody ServeUpBody ServeUpdateBody
  ServeDownBody ServeTerminateReplicaBody ServeStatusBody ServeLogsBody ServeDownloadLogsBody
  UserCreateBody UserUpdateBody UserDeleteBody UserImportBody ServiceAccountTokenCreateBody
  ServiceAccountTokenDeleteBody ServiceAccountTokenRoleBody ServiceAccountTokenUpdateRoleBody
  ServiceAccountTokenRotateBody UpdateWorkspaceBody CreateWorkspaceBody DeleteWorkspaceBody
  UpdateConfigBody VolumeDeleteBody VolumeValidateBody VolumeApplyBody SSHUpBody RecipeListBody
  RecipeGetBody RecipeCreateBody RecipeUpdateBody RecipeDeleteBody RecipePinBody CheckBody
  RealtimeGpuAvailabilityRequestBody KubernetesNodeInfoRequestBody SlurmGpuAvailabilityRequestBody
  SlurmNodeInfoRequestBody KubernetesLabelGpusBody ListAcceleratorsBody ListAcceleratorCountsBody
  ValidateBody OptimizeBody LaunchBody ExecBody StopOrDownBody StartBody StatusBody EndpointsBody
  AutostopBody QueueBody JobStatusBody CancelBody ClusterJobBody ClusterJobsDownloadLogsBody
  DownloadBody ProvisionLogsBody AutostopLogsBody CostReportBody ClusterEventsBody StorageBody
  LocalUpBody UploadZipFileResponse HTTPValidationError ValidationError`.split(/\s+/);

test("names bodies and answers as the protocol does", () => {
  assert.deepEqual(
    bodyNames.filter((name) => schemas[name] === undefined),
    [],
  );
  const used = new Set(
    documented.flatMap(
      ({ row }) => row.requestBody?.content["application/json"]?.schema.$ref ?? [],
    ),
  );
  for (const name of bodyNames.filter((one) => one.endsWith("Body")))
    assert.ok(used.has(`#/components/schemas/${name}`), `no operation takes ${name}`);
});

test("whatever takes an input may refuse it with 422, and nothing else does", () => {
  for (const { route, row } of documented) {
    const takesInput = row.parameters !== undefined || row.requestBody !== undefined;
    assert.equal(row.responses["422"] !== undefined, takesInput, route);
  }
});

test("a stored operation answers null and its id in a header", () => {
  const answer = find("launch").responses["200"];
  assert.deepEqual(answer?.content, { "application/json": { schema: { type: "null" } } });
  assert.ok(answer?.headers?.["X-Outrigger-Request-ID"]);
  assert.deepEqual(find("launch")["x-result"], { $ref: "#/components/schemas/LaunchResult" });
});

test("parameters carry their type and default", () => {
  assert.deepEqual(find("volume_list").parameters?.slice(0, 1), [
    {
      name: "refresh",
      in: "query",
      required: false,
      schema: { type: "boolean", default: false, description: "Ask the clouds first." },
    },
  ]);
  const [pool] = find("ssh_node_pools.status").parameters ?? [];
  assert.deepEqual([pool?.in, pool?.name, pool?.required], ["path", "pool_name", true]);
});

test("parameters and fields carry their caps", () => {
  const ids = fieldsOf(find("api_cancel"))["request_ids"];
  const limit = find("api.status").parameters?.find(({ name }) => name === "limit")?.schema;

  assert.match(JSON.stringify(ids), new RegExp(`"maxItems":${caps.entries}\\b`));
  assert.match(JSON.stringify(limit), new RegExp(`"maximum":${caps.entries}\\b`));
});

test("only the body of status may be left out", () => {
  const optional = documented.filter(({ row }) => row.requestBody?.required === false);
  assert.deepEqual(
    optional.map(({ row }) => row.operationId),
    ["status"],
  );
});

test("the page for people has every operation and asks nothing of the network", () => {
  const page = docsPage(document, 'n"1');
  for (const { row } of documented) assert.ok(page.includes(`<details id="${row.operationId}"`));
  assert.doesNotMatch(page, /\b(src|href)="(https?:)?\/\//);
  assert.equal(page.match(/ nonce="n&quot;1"/g)?.length, 2);
});

test("every link within the page leads somewhere", () => {
  const page = docsPage(document);
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.has(target), target);
});

function find(name: string): DocumentedOperation {
  const found = documented.find(({ row }) => row.operationId === name);
  assert.ok(found, name);
  return found.row;
}
