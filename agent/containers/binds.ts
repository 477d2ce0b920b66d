import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../../common/files.ts";
import { findProcess } from "../../common/process-tree.ts";
import { Entry } from "../../contract/files-api.ts";
import { parseLine } from "../../contract/frames.ts";
import type { Agent } from "../context.ts";
import { isWithin, placedFolder, readIndexTexts } from "../files/ledger.ts";
import { listMountRows } from "../mounts/store.ts";

/**
 * What a container sees of its node, each at its own path: the home, what files, buckets and volumes are outside of
 * it, and control groups, which jobs enter by themselves.
 */
export async function bindsOf(agent: Agent): Promise<string[]> {
  const groups = agent.groupPlaces.length > 0 ? ["/sys/fs/cgroup:/sys/fs/cgroup"] : [];
  const seen = await seenPaths(agent);
  const mounts = await readFile("/proc/self/mountinfo", "utf8");
  return [
    ...seen.map((path) => `${path}:${path}${isShared(mounts, path) ? ":rslave" : ""}`),
    ...groups,
  ];
}

/** The same without control groups, as paths. */
export async function seenPaths(agent: Agent): Promise<string[]> {
  const home = agent.config.baseEnv["HOME"] ?? "/";
  const outside = [
    ...(await destinations(agent)),
    ...(await linkedTo(agent)),
    ...listMountRows(agent).map(({ root }) => root),
  ].filter((path) => !isWithin(home, path) && existsSync(path));
  return [home, ...new Set(outside)].toSorted();
}

/**
 * Whether a bucket was mounted after the first process of a container began, and the container does not see it: it sees
 * what is mounted later in a home that is shared.
 */
export async function lacksMounts(agent: Agent, pid: number): Promise<boolean> {
  const home = agent.config.baseEnv["HOME"] ?? "/";
  const begunTicks = findProcess(pid)?.startTicks ?? Number.POSITIVE_INFINITY;
  const later = listMountRows(agent).filter(({ server }) => (server?.startTicks ?? 0) > begunTicks);
  if (later.length === 0) return false;
  const isPassedOn = isShared(await readFile("/proc/self/mountinfo", "utf8"), home);
  return later.some(({ root }) => !(isPassedOn && isWithin(home, root)));
}

/** Whether what is mounted below a path later can be passed on. Source: proc_pid_mountinfo(5). */
export function isShared(mountinfo: string, path: string): boolean {
  const around = mountinfo
    .split("\n")
    .map((line) => ({ at: line.split(" ")[4] ?? "", line }))
    .filter(({ at }) => at === "/" || (at !== "" && isWithin(at, path)));
  const nearest = around.toSorted((a, b) => a.at.length - b.at.length).at(-1);
  return / (shared|master):\d+ /.test(nearest?.line ?? "");
}

/** Where files were brought outside of the working folder: each list ends with the destination itself. */
async function destinations(agent: Agent): Promise<string[]> {
  const folder = placedFolder(agent);
  const names = (await readdir(folder).catch(ifMissing([]))).filter((name) =>
    name.endsWith(".paths"),
  );
  const lists = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return lists.flatMap((list) => list.split("\0").filter(Boolean).at(-1) ?? []);
}

/** What links to volumes lead to. */
const linkedTo = async (agent: Agent): Promise<string[]> =>
  (await readIndexTexts(agent)).flatMap((text) => {
    const entry = parseLine(Entry, text.split("\n")[0] ?? "");
    return entry?.kind === "link" && entry.path === "" ? [entry.target] : [];
  });
