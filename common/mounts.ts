import { execFile } from "node:child_process";
import { closeSync, constants, existsSync, openSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { canUse } from "./files.ts";
import { product } from "./product.ts";

/** Something that is mounted. Source: proc_pid_mounts(5). */
export interface Mount {
  readonly device: string;
  readonly path: string;
}

/** What programs that mount buckets for a node give as their device: it names the node's home. */
export const mountDeviceOf = (home: string): string =>
  `${product.word}:${home.replace(/[^\w./-]/g, "_")}`;

/** What is mounted now, as this process sees it. */
export const listMounts = (): Mount[] =>
  readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [device = "", path = ""] = line.split(" ").map(unescaped);
      return { device, path };
    });

const unescaped = (text: string): string =>
  text.replace(/\\(\d{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));

/** What is mounted for a node or within its home, those within others first. */
export function listMountsOf(home: string): Mount[] {
  const folder = existsSync(home) ? realpathSync(home) : home;
  const device = mountDeviceOf(home);
  return listMounts()
    .filter((mount) => mount.device === device || mount.path.startsWith(`${folder}/`))
    .toReversed();
}

/** Takes a mount away, also one whose program is gone; false where it stays. */
export async function unmount(path: string): Promise<boolean> {
  const isThere = () => listMounts().some((mount) => mount.path === path);
  const ways = [
    ["fusermount3", "-u", "-z", "--", path],
    ["fusermount", "-u", "-z", "--", path],
    ["umount", "-l", "--", path],
  ];
  for (const [file = "", ...args] of ways)
    if (isThere()) await promisify(execFile)(file, args, { timeout: unmountMs }).catch(() => {});
  return !isThere();
}

const unmountMs = 10_000;

/** Programs that mount buckets, the one first that can do most. */
export const mountPrograms = ["rclone", "mount-s3"] as const;
export type MountProgram = (typeof mountPrograms)[number];

/** What a mount asks of the program that serves it. */
interface Mounting {
  readonly endpoint: string;
  readonly readOnly: boolean;
  readonly cache: object | null;
}

/**
 * The programs that can serve a mount. Only rclone writes back later. mount-s3 renames by a request of S3 Express; a
 * store that does not know it makes an empty object, under the new name, and reports success.
 */
export const programsFor = ({ endpoint, readOnly, cache }: Mounting): readonly MountProgram[] =>
  cache === null && (readOnly || isAmazon(endpoint)) ? mountPrograms : ["rclone"];

/** Whether an endpoint is one of Amazon S3, also in China. */
export const isAmazon = (endpoint: string): boolean =>
  /\.amazonaws\.com(\.cn)?$/.test(new URL(endpoint).hostname);

/** The program among these that a PATH has. */
export function findMountProgram(
  path: string,
  programs: readonly MountProgram[] = mountPrograms,
): { readonly name: MountProgram; readonly file: string } | undefined {
  for (const name of programs) {
    const file = findProgram(path, name);
    if (file !== undefined) return { name, file };
  }
  return undefined;
}

/** Where a PATH has a program, if anywhere. */
export const findProgram = (path: string, name: string): string | undefined =>
  path
    .split(":")
    .map((folder) => join(folder, name))
    .find((file) => canUse(file, constants.X_OK));

/** Why a machine cannot mount buckets with one of these programs, and what to do; undefined where it can. */
export function whyNoMounts(
  path: string,
  programs: readonly MountProgram[] = mountPrograms,
): string | undefined {
  if (!canOpen("/dev/fuse"))
    return "/dev/fuse is missing or cannot be opened; load the kernel module fuse, or give the container this device";
  if (findMountProgram(path, programs) === undefined)
    return findMountProgram(path) === undefined
      ? "neither rclone nor mount-s3 is installed; install the package rclone"
      : "mount-s3 has no MOUNT_CACHED and can write only to Amazon S3; install the package rclone";
  const hasHelper = ["fusermount3", "fusermount"].some((name) => findProgram(path, name));
  return hasHelper ? undefined : "fusermount3 is not installed; install the package fuse3";
}

function canOpen(device: string): boolean {
  try {
    closeSync(openSync(device, "r+"));
    return true;
  } catch {
    return false;
  }
}
