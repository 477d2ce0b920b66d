import { findMountProgram, listMountsOf, unmount, whyNoMounts } from "../../common/mounts.ts";

const path = process.env["PATH"] ?? "";

/** Why no test can mount buckets with rclone; false where it can. */
export const whyNoFuse: string | false =
  whyNoMounts(path) ??
  (findMountProgram(path, ["rclone"]) === undefined && "rclone is not installed");

/** Takes away what is mounted for a home, so that removing the home cannot empty a bucket. */
export async function unmountAll(home: string): Promise<void> {
  for (const mount of listMountsOf(home)) await unmount(mount.path);
}
