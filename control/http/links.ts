import { isStored, type Operation } from "../../common/operation.ts";
import { headerNames } from "../../common/product.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { requestOperations } from "../../contract/operations/requests.ts";
import { serveOperations } from "../../contract/operations/serve.ts";

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
];

/** Where the answer of an operation leads: to its request, and to what it has made. */
export function linksOf(
  row: Operation,
  all: readonly Operation[],
): { links?: Readonly<Record<string, Link>> } {
  if (!isStored(row)) return {};
  const { field } = makers.find((maker) => maker.row === row) ?? {};
  const users = field === undefined ? [] : all.filter((one) => one !== row && takes(one, field));
  const ofThings = users.map(({ name }): [string, Link] => [
    name,
    { operationId: name, requestBody: { [`${field}`]: `$request.body#/${field}` } },
  ]);
  return { links: { ...ofRequests, ...Object.fromEntries(ofThings) } };
}

const takes = ({ input }: Operation, field: string): boolean =>
  input.body !== undefined && Object.hasOwn(input.body.shape, field);
