import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { orNothing } from "../../common/files.ts";
import type { Ground } from "../ground.ts";
import { repositoriesOf } from "./checkout.ts";

const dayMs = 24 * 3_600_000;

/** Deletes commits that were not used for a day: a node that needs one later has it fetched again. */
export async function collectRepositories({ config, now }: Ground): Promise<void> {
  const root = repositoriesOf(config);
  for (const repository of (await orNothing(readdir(root))) ?? []) {
    if (!/^[\da-f]{64}$/.test(repository)) continue;
    for (const commit of await readdir(join(root, repository))) {
      const place = join(root, repository, commit);
      // One that was not completed has no manifest.
      const used =
        (await orNothing(stat(join(place, "manifest")))) ?? (await orNothing(stat(place)));
      if (used !== undefined && now().getTime() - used.mtimeMs > dayMs)
        await rm(place, { recursive: true, force: true });
    }
  }
}
