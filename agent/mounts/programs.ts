import { isAmazon, type MountProgram, mountDeviceOf } from "../../common/mounts.ts";
import type { CacheOptions, MountOrder } from "../../contract/mounts-api.ts";

/** Where a mount lies, where its cache does, and whose it is. */
export interface Places {
  readonly root: string;
  readonly cache: string;
  readonly home: string;
}

/** How a program is run. The keys are in no argument. */
export interface Command {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it reads from the file descriptor 3, which has no name on disk. */
  readonly config?: string;
}

/** What each program is told. To add one: add its row, and its name to `mountPrograms`. */
export const commands: Readonly<
  Record<MountProgram, (order: MountOrder, places: Places) => Command>
> = {
  /** Source: rclone.org, "rclone mount" and "Config file". */
  rclone: ({ bucket, endpoint, region, keys, readOnly, cache }, { root, cache: folder, home }) => ({
    args: [
      ...["mount", `bucket:${bucket}`, root, "--config", "/dev/fd/3"],
      ...["--devname", mountDeviceOf(home), "--cache-dir", folder, "--dir-cache-time", "5s"],
      ...["--vfs-cache-mode", cache === null ? "writes" : "full", "--vfs-write-back", "0s"],
      ...flagsOf({ cacheMaxSize: "10G", ...cache }),
      ...(readOnly ? ["--read-only"] : []),
    ],
    env: {},
    config: [
      ...[
        "[bucket]",
        "type = s3",
        "no_check_bucket = true",
        `provider = ${isAmazon(endpoint) ? "AWS" : "Other"}`,
      ],
      ...[`endpoint = ${endpoint}`, `region = ${region}`],
      ...(keys ? [`access_key_id = ${keys.id}`, `secret_access_key = ${keys.secret}`] : []),
      ...(keys?.session ? [`session_token = ${keys.session}`] : []),
    ].join("\n"),
  }),
  /** Source: github.com/awslabs/mountpoint-s3, "Configuring Mountpoint". It writes new files from their beginning only. */
  "mount-s3": ({ bucket, endpoint, region, keys, readOnly }, { root }) => ({
    args: [
      ...[bucket, root, "--foreground", "--endpoint-url", endpoint, "--region", region],
      ...(isAmazon(endpoint) ? [] : ["--force-path-style"]),
      ...(keys === null ? ["--no-sign-request"] : []),
      ...(readOnly ? ["--read-only"] : ["--allow-delete", "--allow-overwrite"]),
    ],
    env: keys
      ? {
          AWS_ACCESS_KEY_ID: keys.id,
          AWS_SECRET_ACCESS_KEY: keys.secret,
          ...(keys.session && { AWS_SESSION_TOKEN: keys.session }),
        }
      : {},
  }),
};

const flags: Readonly<Record<keyof CacheOptions, string>> = {
  transfers: "--transfers",
  bufferSize: "--buffer-size",
  cacheMaxSize: "--vfs-cache-max-size",
  cacheMaxAge: "--vfs-cache-max-age",
  readAhead: "--vfs-read-ahead",
  readChunkSize: "--vfs-read-chunk-size",
  readChunkStreams: "--vfs-read-chunk-streams",
  writeBack: "--vfs-write-back",
};

/** Of a flag that comes twice, the last one counts. */
const flagsOf = (options: CacheOptions): string[] =>
  Object.entries(flags).flatMap(([name, flag]) => {
    const value = options[name as keyof CacheOptions];
    return value === undefined ? [] : [flag, String(value)];
  });
