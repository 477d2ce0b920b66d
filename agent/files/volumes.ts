import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, readlink, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError, errorCodeOf, fail } from "../../common/errors.ts";
import { type Entry, exportsFolder, VolumeSource } from "../../contract/files-api.ts";
import { parseLine } from "../../contract/frames.ts";
import type { Agent } from "../context.ts";
import { destinationOf } from "./destinations.ts";
import { offerEntries } from "./files.ts";
import { readIndex } from "./ledger.ts";

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
  const isOurs = (await readIndex(agent, place)).has("");
  const there = isOurs ? target : await readlink(place).catch(() => target);
  if (there !== target)
    fail("ConflictError", `${place} is a link to ${there} already; attach the volume elsewhere`);
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

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

/** Mounts again what was mounted when the machine was on last. */
export async function restoreExports(agent: Agent): Promise<void> {
  const folder = notesOf(agent);
  for (const name of await readdir(folder).catch(() => [])) {
    const source = parseLine(VolumeSource, await readFile(join(folder, name), "utf8"));
    if (source?.kind !== "nfs") continue;
    await mountExport(agent, source).catch((error: unknown) =>
      agent.log.warn({ error, server: source.server }, "export not mounted"),
    );
  }
}

type Export = Extract<VolumeSource, { kind: "nfs" }>;

const mountMs = 60_000;
const notesOf = ({ config }: Agent): string => join(config.agentFolder, "exports");

/** The folder of an export, outside of what is deleted with the node; the note says what to unmount then. */
async function mountExport(agent: Agent, source: Export): Promise<string> {
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
