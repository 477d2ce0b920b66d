import { parentPort, workerData } from "node:worker_threads";
import { isStored, toHttpCall } from "../../../common/operation.ts";
import { findOperation } from "../../../contract/api.ts";
import { openHttpClient } from "../../helpers/http-client.ts";
import { type Known, largestInput } from "./largest-input.ts";

/** A call to make of a row: with `input`, or with its largest one around what is `known`. */
export interface CallToMake {
  readonly name: string;
  readonly known?: Known;
  readonly input?: Record<string, unknown>;
}

/** How it was answered, once the request that it may have stored has ended. */
export interface CallMade {
  readonly status: number;
  readonly text: string;
}

const client = openHttpClient(workerData);
const largestChunk = "x".repeat(4_000_000);

/** Calls control from a thread of its own, so that its work is not taken for that of control. */
parentPort?.on("message", async (call: CallToMake) => {
  // A body that is refused before its end may be cut off with its connection.
  const cut = (error: Error): CallMade => ({ status: 400, text: error.message });
  parentPort?.postMessage(await makeCall(call).catch(cut));
});

async function makeCall({ name, known = {}, input }: CallToMake): Promise<CallMade> {
  const row = findOperation(name);
  if (row === undefined) throw new Error(`there is no operation ${name}`);
  const { method, path, body } = toHttpCall(row, input ?? largestInput(row, known));
  const type = row.input.rawBody;
  const sent =
    type === undefined ? { body } : { body: largestChunk, headers: { "content-type": type } };
  const { status, text, headers } = await client.http(method, path, sent);
  const id = headers["x-outrigger-request-id"];
  if (isStored(row) && row.mode !== "log" && status === 200)
    await client.http("GET", `/api/get?request_id=${id}`);
  return { status, text: text.slice(0, 500) };
}
