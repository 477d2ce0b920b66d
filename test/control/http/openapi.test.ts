import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../../../contract/api.ts";
import { type DocumentedOperation, openApiDocument } from "../../../control/http/openapi.ts";
import { docsPage } from "../../../control/http/pages.ts";

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

test("has the tags of the protocol and no other", () => {
  const names = ["jobs", "serve", "users", "workspaces", "volumes", "ssh_node_pools", "recipes"];
  assert.deepEqual(
    document.tags.map(({ name }) => name),
    names,
  );
  const used = new Set(documented.flatMap(({ row }) => row.tags ?? []));
  assert.deepEqual([...used].toSorted(), names.toSorted());
});

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
