import { posix } from "node:path";
import { Readable } from "node:stream";
import { fail } from "../../../common/errors.ts";
import type { InputOf } from "../../../common/operation.ts";
import {
  type FileEntry,
  fileOperations,
  Listed,
  type Stretch,
  StretchHead,
} from "../../../contract/files-api.ts";
import { linesOf, openFrames, parseLine } from "../../../contract/frames.ts";
import type { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { requireAtLeast } from "../../access/authorize.ts";
import { subjects } from "../../access/subjects.ts";
import type { Call, Reply } from "../../bind.ts";
import type { Context } from "../../context.ts";
import type { Agent } from "../../doors/agent.ts";
import { getUp } from "../find.ts";
import { nodeOf } from "../head.ts";
import { type Member, zipOf } from "./zip.ts";

/** Something on a node of a cluster. */
interface Place {
  readonly cluster: string;
  readonly path: string;
}

/** What `CLUSTER:PATH` names; undefined for a path that names no cluster. */
export function readPlace(text: string): Place | undefined {
  const [, cluster, path] = /^([^:/~]+):([^\0]*)$/s.exec(text) ?? [];
  return cluster === undefined || path === undefined ? undefined : { cluster, path };
}

type Wanted = InputOf<typeof rows.download>;

/** What lies at and below a path of a node, as it is asked for. Throws `ClusterNotUpError`. */
export async function fetchFiles(
  ctx: Context,
  { cluster: name, path }: Place,
  wanted: Wanted,
  call: Call,
): Promise<Reply> {
  if (wanted.folder_paths.length > 1) fail("ValueError", "name exactly one CLUSTER:PATH");
  requireAtLeast("user", "download of files on nodes", call);
  await subjects.cluster(ctx, name, call);
  const cluster = await getUp(ctx, name);
  if (wanted.rank >= cluster.nodes)
    fail(
      "ValueError",
      `cluster ${name} has no rank ${wanted.rank}; its nodes are ranks 0 to ${cluster.nodes - 1}`,
    );
  const source = { agent: nodeOf(ctx, cluster, wanted.rank), path, signal: call.signal };
  if (wanted.answer === "list") return { headers: ndjson, body: await list(source) };
  if (wanted.answer === "contents")
    return { headers: bytes, body: await read(source, wanted.stretches) };
  const root = wanted.relative === "items" ? "" : name;
  return { headers: zipped(name), body: await zip(source, root) };
}

const ndjson = { "content-type": "application/x-ndjson" };
const bytes = { "content-type": "application/octet-stream" };
const zipped = (name: string) => ({
  "content-type": "application/zip",
  "content-disposition": `attachment; filename="${name}.zip"`,
});

/** A path of a node whose agent can be asked. */
interface Source {
  readonly agent: Agent;
  readonly path: string;
  readonly signal: AbortSignal;
}

const list = async ({ agent, path, signal }: Source): Promise<Readable> =>
  (await agent.open(fileOperations.listFiles, { path }, signal)).body;

const read = async ({ agent, path, signal }: Source, stretches: Stretch[]): Promise<Readable> =>
  (await agent.open(fileOperations.readFiles, { path, stretches }, signal)).body;

async function zip(source: Source, root: string): Promise<Readable> {
  const members: Member[] = [];
  for await (const line of linesOf(await list(source))) {
    const entry = parseLine(Listed, line) ?? garbled(source.path);
    if (entry.kind === "unreadable")
      fail("PermissionDeniedError", `${entry.path || source.path} cannot be sent: ${entry.why}`);
    const below = entry.path || (entry.kind === "file" ? posix.basename(source.path) : "");
    const name = posix.join(root, below);
    if (name === ".") continue;
    if (entry.kind !== "file") members.push({ ...entry, name });
    else members.push({ ...entry, name, open: () => Readable.from(contentOf(source, entry)) });
  }
  return zipOf(members);
}

async function* contentOf(source: Source, { path, size }: FileEntry): AsyncGenerator<Uint8Array> {
  const frames = openFrames(await read(source, [{ path, offset: 0, end: size }]));
  const head = parseLine(StretchHead, (await frames.line()) ?? "") ?? garbled(path);
  if (head.problem !== undefined)
    fail("ConflictError", `${path || source.path} cannot be sent: ${head.problem}`);
  yield* frames.bytes(head.bytes);
  await frames.line();
}

const garbled = (path: string): never =>
  fail("RuntimeError", `the agent did not send ${path}; try again`);
