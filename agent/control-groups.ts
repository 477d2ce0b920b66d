import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { ifPossible } from "../common/errors.ts";
import { product } from "../common/product.ts";
import type { Limits as AllLimits } from "../contract/agent-shapes.ts";
import { openJobsScope } from "./jobs-scope.ts";

type Limits = Omit<AllLimits, "logBytes">;

/** A control group of this process in one hierarchy, below which it may make others. */
export interface GroupPlace {
  readonly path: string;
  readonly version: 1 | 2;
  /** What can be limited in the groups below it. */
  readonly controllers: readonly string[];
}

/** How each limit is written: the file by the version of the hierarchy, and the text in it. */
const limitFiles = {
  memoryBytes: {
    controller: "memory",
    file: { 1: "memory.limit_in_bytes", 2: "memory.max" },
    text: String,
  },
  cpus: {
    controller: "cpu",
    file: { 1: "cpu.cfs_quota_us", 2: "cpu.max" },
    text: (cpus: number) => String(Math.round(cpus * cpuPeriodMicros)),
  },
  processes: { controller: "pids", file: { 1: "pids.max", 2: "pids.max" }, text: String },
} as const satisfies Record<keyof Limits, unknown>;

/** The kernel's default, in both versions. */
const cpuPeriodMicros = 100_000;
const limited = Object.values(limitFiles).map(({ controller }) => controller);
const linkName = "groups";
/** As the unit of the agent calls it. */
const subgroup = "agent";
const ownUnit = `${product.word}-agent.service`;

/**
 * Where this process may make control groups, the hierarchy that tells best who belongs together
 * first; empty where there is none. Sources: cgroups(7), the kernel's cgroup-v2.rst.
 */
export function findGroupPlaces(
  cgroup = readFileSync("/proc/self/cgroup", "utf8"),
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8"),
): GroupPlace[] {
  const unified = findUnified(cgroup, mountinfo);
  const places: GroupPlace[] =
    unified === undefined ? [] : [{ path: unified, version: 2, controllers: enableIn(unified) }];
  for (const controller of limited) {
    const path = findOwn(cgroup, mountinfo, controller);
    if (path !== undefined) places.push({ path, version: 1, controllers: [controller] });
  }
  return places;
}

/**
 * The control groups of the scripts of a folder: one that holds all of their processes, and those
 * that it takes beside it to limit them. They stay the same once `makeGroups` made them.
 */
export function groupsOf(
  places: readonly GroupPlace[],
  folder: string,
  limits: Limits = {},
): string[] {
  const made = readGroupLink(join(folder, linkName));
  if (made.length > 0) return made;
  const digest = createHash("sha256").update(folder).digest("hex").slice(0, 12);
  const name = [product.word, ...folder.split("/").slice(-2), digest].join("-");
  const needed = namesOf(limits).map((limit) => placeFor(places, limit));
  const chosen = [places[0], ...needed].filter((place) => place !== undefined);
  return [...new Set(chosen.map(({ path }) => join(path, name)))];
}

/** The control groups that a link in a folder of scripts names; none when it is not there. */
export const readGroupLink = (link: string): string[] =>
  ifPossible(() => readlinkSync(link))?.split(" ") ?? [];

/**
 * Makes the control groups of a folder unless they are there, and sets their limits; a link tells
 * whoever ends the node where they are. Where one cannot be made, scripts run without it.
 */
export function makeGroups(
  places: readonly GroupPlace[],
  folder: string,
  groups: readonly string[],
  limits: Limits = {},
): void {
  if (groups.length === 0) return;
  // On a full disk a link may find no room; the groups are then found by their names.
  attempt(() => symlinkSync(groups.join(" "), join(folder, linkName)));
  for (const group of groups) attempt(() => mkdirSync(group));
  for (const limit of namesOf(limits)) {
    const place = placeFor(places, limit);
    const { file, text } = limitFiles[limit];
    const value = limits[limit];
    if (place === undefined || value === undefined) continue;
    const path = join(place.path, basename(groups[0] ?? ""), file[place.version]);
    attempt(() => writeFileSync(path, text(value)));
  }
}

/** How many processes of some control groups were killed for lack of memory. */
export function countMemoryKills(groups: readonly string[]): number {
  const texts = groups.flatMap((group) => readEither(group, "memory.events", "memory.oom_control"));
  const counts = texts.map((text) => /^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  return counts.reduce((sum: number, count) => sum + Number(count), 0);
}

/** Whether the memory of a control group, or of one above it, is limited. Version 1 has a huge number for no limit. */
export function isMemoryLimited(group: string): boolean {
  const limits = readEither(group, "memory.max", "memory.limit_in_bytes");
  if (limits.some((limit) => Number(limit) < 2 ** 60)) return true;
  return group !== dirname(group) && isMemoryLimited(dirname(group));
}

/** What files of a control group say, by version; nothing once the group is removed. */
const readEither = (group: string, ...names: readonly string[]): string[] =>
  names.flatMap((name) => ifPossible(() => readFileSync(join(group, name), "utf8")) ?? []);

/**
 * How many processes and threads one job may have where nothing else is asked: three quarters of what
 * the machine has, so that one that forks without end leaves room to end it.
 */
export function mostProcesses(): number {
  const most = ["pid_max", "threads-max"].map((name) =>
    Number(readFileSync(`/proc/sys/kernel/${name}`, "utf8")),
  );
  return Math.floor(Math.min(...most) * 0.75);
}

const namesOf = (limits: Limits): (keyof Limits)[] =>
  (Object.keys(limitFiles) as (keyof Limits)[]).filter((name) => limits[name] !== undefined);

const placeFor = (places: readonly GroupPlace[], limit: keyof Limits): GroupPlace | undefined =>
  places.find(({ controllers }) => controllers.includes(limitFiles[limit].controller));

/**
 * The v2 group below which we may make others. The kernel limits nothing below a group that has processes
 * itself, so `DelegateSubgroup=` of systemd puts us in a group of our own below that of the unit. Where it
 * does not, jobs get a scope beside the unit.
 */
function findUnified(cgroup: string, mountinfo: string): string | undefined {
  const own = findOwn(cgroup, mountinfo, "");
  if (own === undefined) return undefined;
  if (basename(own) === ownUnit && canLimit(own)) return openJobsScope(own) ?? own;
  const unit = dirname(own);
  return basename(own) === subgroup && unit.endsWith(".service") && isWritable(unit) ? unit : own;
}

/** This process's group in the hierarchy of a controller (v2: "") where we may make others in it. */
function findOwn(cgroup: string, mountinfo: string, controller: string): string | undefined {
  const own = findGroup(cgroup, mountinfo, controller);
  return own !== undefined && isWritable(own) ? own : undefined;
}

/** The control group that limits the memory of a process; none where there is no limit, or that cannot be told. */
export function memoryGroupsOf(
  pid: number,
  cgroup = ifPossible(() => readFileSync(`/proc/${pid}/cgroup`, "utf8")) ?? "",
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8"),
): string[] {
  const group = findGroup(cgroup, mountinfo, "memory") ?? findGroup(cgroup, mountinfo, "");
  return group !== undefined && isMemoryLimited(group) ? [group] : [];
}

function findGroup(cgroup: string, mountinfo: string, controller: string): string | undefined {
  const path = findPath(cgroup, controller);
  const [top, mountPoint] = findMount(mountinfo, controller) ?? [];
  if (path === undefined || top === undefined || mountPoint === undefined) return undefined;
  // An escaped character in a path, such as a space, is not worth its trouble.
  if (/[\\ ]|\.\./.test(mountPoint + path) || !`${path}/`.startsWith(join(top, "/")))
    return undefined;
  return join(mountPoint, path.slice(top.length));
}

function findPath(cgroup: string, controller: string): string | undefined {
  const rows = cgroup.split("\n").map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []);
  return rows.find(([, names]) => names?.split(",").includes(controller))?.[2];
}

/** Which group of a hierarchy is mounted, and where. */
function findMount(mountinfo: string, controller: string): string[] | undefined {
  const rows = mountinfo.split("\n").map((line) => line.split(" "));
  const row = rows.find((words) => {
    const [kind, , options = ""] = words.slice(words.indexOf("-") + 1);
    return controller === ""
      ? kind === "cgroup2"
      : kind === "cgroup" && options.split(",").includes(controller);
  });
  return row?.slice(3, 5);
}

/** Whether something could be limited below a v2 group. */
const canLimit = (group: string): boolean =>
  readFileSync(join(group, "cgroup.controllers"), "utf8").trim() !== "";

function isWritable(group: string): boolean {
  return attempt(() => {
    for (const path of [group, join(group, "cgroup.procs")]) accessSync(path, constants.W_OK);
  });
}

/**
 * What can be limited below a v2 group, once we have asked for it. The kernel refuses where processes
 * are in the group itself, unless it is the root.
 */
function enableIn(group: string): string[] {
  const file = join(group, "cgroup.subtree_control");
  for (const name of limited) attempt(() => writeFileSync(file, `+${name}`));
  return existsSync(file) ? readFileSync(file, "utf8").trim().split(" ") : [];
}

function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
