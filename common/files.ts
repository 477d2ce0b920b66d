import { open } from "node:fs/promises";

/** Puts on disk what was written to a file, or which names a folder has. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
