import { join, resolve } from "node:path";
import { AppError, errorCodeOf, fail } from "../common/errors.ts";
import { readNamed } from "../common/files.ts";
import type { World } from "./world.ts";

/** Of a file that a command line names. */
const largestBytes = 1024 * 1024;

/** What a file holds that the user names; throws `NotFoundError` and `UsageError`. */
export function readBytes(
  { cwd, env }: Pick<World, "cwd" | "env">,
  file: string,
): Buffer<ArrayBuffer> {
  const path = file.startsWith("~/") ? join(env["HOME"] ?? "~", file.slice(2)) : resolve(cwd, file);
  try {
    return Buffer.from(readNamed(path, { mostBytes: largestBytes, mayBePipe: true }));
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = errorCodeOf(error);
    if (code === "ENOENT") fail("NotFoundError", `there is no file ${file}`);
    return fail("UsageError", `${file} cannot be read (${code})`);
  }
}
