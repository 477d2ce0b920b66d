import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { AppError, errorCodeOf } from "../common/errors.ts";

/** Throws what the system said about a file that was to be written, with the file's name. */
export const cannotWrite =
  (file: string) =>
  (cause: unknown): never => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("RuntimeError", `cannot write ${file}: ${why}`, {}, cause);
  };

/** How a path looks without following it; undefined where nothing is. */
export async function findStats(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(errorCodeOf(error) ?? "")) return undefined;
    throw error;
  });
}
