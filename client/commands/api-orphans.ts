import { fail } from "../../common/errors.ts";
import { type Orphan, orphanOperations as rows } from "../../contract/operations/orphans.ts";
import type { Column } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";

interface OrphansOptions extends OutputOptions {
  readonly adopt?: string;
  readonly end?: string;
}

/** `outrigger api orphans`. */
export async function orphans(
  world: World,
  _operands: readonly string[],
  { adopt, end, output }: OrphansOptions,
): Promise<undefined> {
  if (adopt !== undefined && end !== undefined)
    fail("UsageError", "--adopt and --end exclude each other; give one of them");
  const client = await world.connect();
  if (adopt !== undefined) {
    const { name } = await client.call(rows.adopt, { cluster: adopt });
    return void world.terminal.note(`Adopted ${name}: it is yours, and its jobs go on.`);
  }
  if (end !== undefined) {
    const { name, id } = await client.call(rows.end, { cluster: end });
    return void world.terminal.note(`Ended ${name ?? id}.`);
  }
  const found = await client.call(rows.list, {});
  answerRows(world, { ...(output && { output }) }, { rows: found, columns, empty });
}

const empty = "No orphans: the database has every cluster whose nodes were found.";

const columns: readonly Column<Orphan>[] = [
  { title: "NAME", text: ({ name }) => name ?? "-" },
  { title: "ID", text: ({ id }) => id },
  { title: "PROVIDER", text: ({ provider }) => provider },
  { title: "NODES", text: ({ nodes }) => String(nodes) },
  { title: "ACTIVE JOBS", text: ({ jobs }) => (jobs === null ? "-" : String(jobs)) },
];
