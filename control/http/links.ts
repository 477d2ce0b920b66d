import { isStored, type Operation } from "../../common/operation.ts";
import { headerNames } from "../../common/product.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { requestOperations } from "../../contract/operations/requests.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import { workspaceOperations } from "../../contract/operations/workspaces.ts";

/** How the answer of one operation becomes the input of another, as OpenAPI describes it. */
export interface Link {
  readonly operationId: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly requestBody?: Readonly<Record<string, unknown>>;
}

const requestId = `$response.header.${headerNames("Request-ID")[0]}`;

/** What can be asked about any stored request. */
const ofRequests: Readonly<Record<string, Link>> = {
  result: { operationId: requestOperations.get.name, parameters: { request_id: requestId } },
  text: {
    operationId: requestOperations.stream.name,
    parameters: { "query.request_id": requestId },
  },
  cancel: {
    operationId: requestOperations.cancel.name,
    requestBody: { request_ids: [requestId] },
  },
};

/** The operations that make a thing, and the field by which others name it. */
const makers: readonly { readonly row: Operation; readonly field: string }[] = [
  { row: clusterOperations.launch, field: "cluster_name" },
  { row: serveOperations.up, field: "service_name" },
  { row: workspaceOperations.create, field: "workspace_name" },
];

/** Where the answer of an operation leads: to its request, and to what it has made. */
export function linksOf(
  row: Operation,
  all: readonly Operation[],
): { links?: Readonly<Record<string, Link>> } {
  if (!isStored(row)) return {};
  const { field } = makers.find((maker) => maker.row === row) ?? {};
  const users = field === undefined ? [] : all.filter((one) => one !== row);
  const ofThings = users.map((user) => [user.name, linkTo(user, `${field}`)] as const);
  const links = ofThings.filter((named): named is [string, Link] => named[1] !== undefined);
  return { links: { ...ofRequests, ...Object.fromEntries(links) } };
}

/** Names to an operation what another has made; undefined where it takes no such name. */
function linkTo({ name, mode, input }: Operation, field: string): Link | undefined {
  const made = `$request.body#/${field}`;
  const list = `${field}s`;
  const { body, query } = input;
  if (has(body, field)) return { operationId: name, requestBody: { [field]: made } };
  if (has(body, list)) return { operationId: name, requestBody: { [list]: [made] } };
  return has(query, field) && mode !== "socket"
    ? { operationId: name, parameters: { [`query.${field}`]: made } }
    : undefined;
}

const has = (fields: Operation["input"]["body"], name: string): boolean =>
  fields !== undefined && Object.hasOwn(fields.shape, name);
