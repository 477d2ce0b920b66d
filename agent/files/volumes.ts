import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, readlink, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AppError, errorCodeOf, fail, toAppError } from "../../common/errors.ts";
import { ifMissing, isFolder } from "../../common/files.ts";
import { openTurnsByKey } from "../../common/turns.ts";
import { type Entry, exportsFolder, VolumeSource } from "../../contract/files-api.ts";
import { parseLine } from "../../contract/frames.ts";
import type { Agent } from "../context.ts";
import { destinationOf } from "./destinations.ts";
import { offerEntries } from "./files.ts";
import { readIndex, readIndexTexts } from "./ledger.ts";

interface Order {
  readonly destination: string;
  readonly subPath: string;
  readonly source: VolumeSource;
}

/** Has a link to a volume at a destination, which belongs to what was brought here like a file does. */
export async function attachVolume(agent: Agent, order: Order): Promise<null> {
  const { destination, subPath, source } = order;
  const root = source.kind === "folder" ? source.path : await mountExport(agent, source);
  const isThere = await isFolder(root);
  if (!isThere) fail("NotFoundError", `there is no folder ${root} on this node`);
  const target = join(root, subPath);
  if (subPath !== "") await make(target);
  await refuseOthers(agent, destinationOf(agent, destination), target);
  const link: Entry = { kind: "link", path: "", target };
  await offerEntries(agent, destination, new Map([["", link]]));
  return null;
}

/** Nodes that share a machine share its paths: the link of another one stays. */
async function refuseOthers(agent: Agent, place: string, target: string): Promise<void> {
  const isOurs = (await readIndex(agent, place)).index.has("");
  const there = isOurs ? target : await readlink(place).catch(() => target);
  if (there !== target)
    fail("ConflictError", `${place} is a link to ${there} already; attach the volume elsewhere`);
}

async function make(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new AppError(
      "StorageError",
      `${folder} cannot be made (${errorCodeOf(error)})`,
      {},
      error,
    );
  });
}

/** Mounts again what was mounted when the machine was on last, and tries again what fails. */
export async function superviseExports(agent: Agent): Promise<void> {
  for (let told: string | undefined; ; ) {
    const problem = await restoreExports(agent);
    if (problem === undefined || agent.stopping.aborted) return;
    if (problem !== told) agent.log.warn({ problem }, "export not mounted");
    told = problem;
    await sleep(retryMs, undefined, { signal: agent.stopping }).catch(() => {});
  }
}

/** Resolves once the exports are mounted that links lead to; why one is not, after half a minute. */
export async function untilExported(agent: Agent): Promise<string | undefined> {
  for (const until = performance.now() + patienceMs; ; ) {
    const problem = await restoreExports(agent);
    if (problem === undefined || performance.now() > until) return problem;
    await sleep(pollMs, undefined, { signal: agent.stopping });
  }
}

/** Mounts what is noted, linked to and not mounted; answers why the first one cannot be. */
async function restoreExports(agent: Agent): Promise<string | undefined> {
  const problems: string[] = [];
  for (const id of await readdir(notesOf(agent)).catch(() => [])) {
    const folder = join(exportsFolder, id);
    if ((await isMounted(folder)) || !(await isLinked(agent, folder))) continue;
    const note = await readFile(join(notesOf(agent), id), "utf8").catch(ifMissing(""));
    const source = parseLine(VolumeSource, note);
    if (source?.kind !== "nfs") continue;
    await mountExport(agent, source).catch((error) => problems.push(toAppError(error).message));
  }
  return problems[0];
}

const isLinked = async (agent: Agent, folder: string): Promise<boolean> =>
  (await readIndexTexts(agent)).some((text) => text.includes(folder));

type Export = Extract<VolumeSource, { kind: "nfs" }>;

const mountMs = 60_000;
const retryMs = 10_000;
/** How long a job waits for exports that are not there. */
const patienceMs = 30_000;
const pollMs = 500;
/** Of one export, two at once would mount it twice. */
const oneByOne = openTurnsByKey<Agent>();
const notesOf = ({ config }: Agent): string => join(config.agentFolder, "exports");

const mountExport = (agent: Agent, source: Export): Promise<string> =>
  oneByOne(agent, () => mountNow(agent, source));

/** The folder of an export, outside of what is deleted with the node; the note says what to unmount then. */
async function mountNow(agent: Agent, source: Export): Promise<string> {
  const { server, path, options } = source;
  const identity = JSON.stringify([agent.config.agentFolder, server, path, options]);
  const id = createHash("sha256").update(identity).digest("hex").slice(0, 32);
  const folder = join(exportsFolder, id);
  if (await isMounted(folder)) return folder;
  try {
    await mkdir(notesOf(agent), { recursive: true, mode: 0o700 });
    await writeFile(join(notesOf(agent), id), JSON.stringify(source), { mode: 0o600 });
    await mkdir(folder, { recursive: true });
    const words = ["-t", "nfs", ...(options === "" ? [] : ["-o", options])];
    await promisify(execFile)("mount", [...words, `${server}:${path}`, folder], {
      timeout: mountMs,
    });
  } catch (error) {
    await rmdir(folder).catch(() => {});
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new AppError(
      "StorageError",
      `the node cannot mount ${server}:${path}: ${(stderr || message).trim()}; ${needs}`,
      {},
      error,
    );
  }
  return folder;
}

const needs =
  "it needs the agent to run as root and mount.nfs (package nfs-common or nfs-utils); or mount it yourself and register the folder with use_existing: true";

/** Source: proc_pid_mountinfo(5): the fifth field is where it is mounted. */
const isMounted = async (folder: string): Promise<boolean> =>
  (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .some((line) => line.split(" ")[4] === folder);
