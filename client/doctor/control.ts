import { existsSync, readFileSync } from "node:fs";
import { errorCodeOf, ifPossible, toAppError } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import type { ControlProcess } from "../../contract/control-pid.ts";
import { addressOf, findControl, listensAt, logFileOf } from "../control-process.ts";
import { isLocal } from "../endpoint.ts";
import type { Settings } from "../settings.ts";
import { addressIn, tokenFor } from "../token.ts";
import { type Answer, openTransport } from "../transport.ts";
import { type Finding, missing, ok, warning } from "./finding.ts";

/** What is at the endpoint. */
interface Probe {
  readonly kind: "ours" | "denied" | "unwell" | "free" | "foreign" | "silent";
  /** Where it is not what it should be. */
  readonly why?: string;
}

const limitMs = 2_500;
const answerAtMostBytes = 64 * 1024;

/** The control plane at the endpoint and, if that is on this machine, its port. */
export async function lookAtControl(settings: Settings): Promise<Finding[]> {
  const probe = await probeEndpoint(settings);
  const control = controlFinding(settings, probe);
  return isLocal(settings.endpoint) ? [control, portFinding(settings, probe)] : [control];
}

async function probeEndpoint(settings: Settings): Promise<Probe> {
  const { endpoint } = settings;
  const transport = openTransport(endpoint, tokenFor(settings, endpoint));
  const ask = (path: string, query = {}) =>
    transport.send({
      ...{ method: "GET", path, query, timeoutMs: limitMs },
      signal: AbortSignal.timeout(limitMs),
    });
  try {
    const answer = await ask("/api/health").then(readStart);
    if (!isHealth(answer)) return foreign;
    // Health is open to everybody; requests are not.
    return await ask("/api/status", { limit: 1 }).then(() => ({ kind: "ours" }), refusalOf);
  } catch (error) {
    return failureOf(error);
  } finally {
    await transport.close();
  }
}

/** Why a control plane that says it is healthy does not serve us. */
function refusalOf(error: unknown): Probe {
  const { type, message } = toAppError(error);
  const isDenied = type === "AuthenticationError" || type === "PermissionDeniedError";
  return isDenied ? { kind: "denied" } : { kind: "unwell", why: message };
}

/** Why there is no answer of a control plane. */
function failureOf(error: unknown): Probe {
  const { type, cause } = toAppError(error);
  const code = errorCodeOf(cause) ?? (cause instanceof Error ? cause.name : "");
  if (type === "AuthenticationError") return { kind: "denied" };
  if (type !== "UnreachableError" || code === "HTTPParserError") return foreign;
  if (code === "ECONNREFUSED") return { kind: "free" };
  if (code === "ENOTFOUND") return { kind: "silent", why: "no such host is known" };
  const isLate = /timeout/i.test(code);
  const why = isLate ? `no answer within ${limitMs / 1_000} s` : `no connection (${code})`;
  return { kind: "silent", why };
}

const foreign: Probe = { kind: "foreign", why: "another program answers there" };

/** The beginning of an answer; whatever program sends it. */
async function readStart({ body }: Answer): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > answerAtMostBytes) break;
  }
  return Buffer.concat(chunks).toString();
}

function isHealth(text: string): boolean {
  const answer = ifPossible(() => JSON.parse(text));
  return typeof answer?.status === "string" && typeof answer.api_version === "string";
}

const check = "Control plane";

function controlFinding(settings: Settings, probe: Probe): Finding {
  const { endpoint, home } = settings;
  const own = ownAt(settings);
  const owner = own === undefined ? ownerAt(endpoint) : `pid ${own.pid} of ${home}`;
  const place = `${endpoint}${owner === undefined ? "" : `, ${owner}`}`;
  if (probe.kind === "ours") return ok(check, place);
  if (probe.kind === "denied")
    return missing(
      check,
      `${place}, which refuses you`,
      `set OUTRIGGER_TOKEN to the content of ~/.${product.word}/token of the user who started it`,
    );
  if (probe.kind === "unwell" || (probe.kind === "silent" && own !== undefined))
    return missing(check, `${place}: ${probe.why}`, `see its log, ${logFileOf(settings)}`);
  if (probe.kind !== "free")
    return missing(check, `${endpoint}: ${probe.why}`, elsewhere(endpoint));
  const running = findControl(settings);
  const other = running && addressOf(running);
  if (other !== undefined)
    return warning(
      check,
      `none at ${endpoint}, but pid ${running?.pid} of ${home} at ${other}`,
      `run: export OUTRIGGER_ENDPOINT=${other}`,
    );
  return isLocal(endpoint)
    ? warning(check, `none runs at ${endpoint}`, "start one: outrigger api start")
    : missing(check, `none at ${endpoint}`, elsewhere(endpoint));
}

const elsewhere = (endpoint: string) =>
  isLocal(endpoint)
    ? "start one on another port: outrigger api start --port PORT"
    : "set OUTRIGGER_ENDPOINT to the address of your control plane";

function portFinding(settings: Settings, { kind }: Probe): Finding {
  const { endpoint } = settings;
  const { port } = addressIn(endpoint);
  if (kind === "free") return ok("Port", `${port} is free`);
  if (ownAt(settings) !== undefined || !["foreign", "silent"].includes(kind))
    return ok("Port", `${port}, of the control plane`);
  const owner = ownerAt(endpoint) ?? "unknown owner";
  return missing("Port", `${port} is in use by another program, ${owner}`, elsewhere(endpoint));
}

/** The control plane of this home, if it listens at the endpoint. */
function ownAt(settings: Settings): ControlProcess | undefined {
  const running = findControl(settings);
  return running && listensAt(running, addressIn(settings.endpoint)) ? running : undefined;
}

const listening = "0A";

/** Who listens at a port of this machine; undefined if it is not said. Source: proc(5), /proc/pid/net/tcp. */
function ownerAt(endpoint: string): string | undefined {
  if (!isLocal(endpoint)) return undefined;
  const port = addressIn(endpoint).port.toString(16).toUpperCase().padStart(4, "0");
  const tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].filter((file) => existsSync(file));
  const rows = tables.flatMap((file) => readFileSync(file, "utf8").split("\n"));
  const row = rows
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, , state]) => local?.endsWith(`:${port}`) && state === listening);
  const uid = row?.[7];
  if (uid === undefined) return undefined;
  if (Number(uid) === process.getuid?.()) return "started by you";
  return `started by ${uid === "0" ? "root" : `user ${uid}`}`;
}
