import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errorCodeOf, messageOf } from "../../common/errors.ts";

/**
 * Deletes a folder with all it holds, folders that nobody may write to among them; one that is gone
 * already is a success. Throws `CloudError` naming what could not be deleted.
 */
export async function removeFolder(folder: string): Promise<void> {
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    await remove().catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error;
      await openUp(folder);
      await remove();
    });
  } catch (error) {
    const why = messageOf(error);
    const message = `${folder} cannot be deleted: ${why}; delete it by hand`;
    throw new AppError("CloudError", message, {}, error);
  }
}

const isRefusal = (error: unknown): boolean =>
  ["EACCES", "EPERM"].includes(errorCodeOf(error) ?? "");

/** Lets us write to a folder and those in it; caches of programs are often read-only. */
async function openUp(folder: string): Promise<void> {
  // What is not ours stays as it is: deleting it then says why it cannot be deleted.
  await chmod(folder, 0o700).catch(() => {});
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => []))
    if (entry.isDirectory()) await openUp(join(folder, entry.name));
}
