import { realpath } from "node:fs/promises";
import { isAbsolute, normalize, relative } from "node:path";
import { fail } from "../../common/errors.ts";
import { isWithin } from "../../contract/task/infra.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/open.ts";
import type { Volume } from "./schema.ts";
import { listVolumes } from "./store.ts";

type Folder = Pick<Volume, "id" | "document">;

/**
 * Throws `ValueError` for a path that equals, contains or lies in what control keeps on its machine, and
 * `ConflictError` for one that does so with another volume: deleting one would delete the other.
 */
export async function refuseOverlap(
  { config }: Pick<Context, "config">,
  db: Queries,
  { id, document }: Folder,
  path: string,
): Promise<void> {
  const { infra = "" } = document;
  if (infra === "local" && document.config.host_path !== undefined)
    for (const home of [config.home, await realpath(config.home)])
      if (overlaps(path, home))
        fail(
          "ValueError",
          `config.host_path: ${path} overlaps ${home}, where the control plane keeps its files`,
        );
  const other = (await listVolumes(db, null)).find(
    (one) =>
      one.id !== id &&
      one.document.type === "folder" &&
      one.path !== null &&
      shareMachine(infra, one.document.infra ?? "") &&
      overlaps(path, one.path),
  );
  if (other !== undefined)
    fail("ConflictError", `${path} overlaps a volume that is there already; use another path`);
}

/** The folder of a pool is one of each of its hosts. */
const shareMachine = (a: string, b: string): boolean => isWithin(a, b) || isWithin(b, a);

const overlaps = (a: string, b: string): boolean => contains(a, b) || contains(b, a);

/** Whether a folder is a path, or has it below. */
function contains(folder: string, path: string): boolean {
  const way = relative(normalize(folder), normalize(path));
  return way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}
