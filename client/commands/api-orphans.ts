import { fail } from "../../common/errors.ts";
import { type Orphan, orphanOperations as rows } from "../../contract/operations/orphans.ts";
import type { Command } from "../catalog.ts";
import { orphanForm } from "../output/control.ts";
import type { Column } from "../rendering.ts";
import { answerJson, answerRows } from "./answers.ts";

/** `outrigger api orphans`. */
export const orphans: Command<"api orphans"> = async (
  world,
  _operands,
  { adopt, end, ...options },
) => {
  if (adopt !== undefined && end !== undefined)
    fail("UsageError", "--adopt and --end exclude each other; give one of them");
  const client = await world.connect();
  if (adopt !== undefined) {
    const adopted = await client.call(rows.adopt, { cluster: adopt });
    const { name } = adopted;
    if (world.json) answerJson(world, options, orphanForm, [adopted]);
    return void world.terminal.note(`Adopted ${name}: it is yours now, and its jobs keep running.`);
  }
  if (end !== undefined) {
    const ended = await client.call(rows.end, { cluster: end });
    const { name, id } = ended;
    if (world.json) answerJson(world, options, orphanForm, [ended]);
    return void world.terminal.note(`Ended ${name ?? id}.`);
  }
  const found = await client.call(rows.list, {});
  answerRows(world, options, { form: orphanForm, rows: found, columns, empty });
};

const empty = "No orphans: the database knows every cluster whose nodes were found.";

const columns: readonly Column<Orphan>[] = [
  { title: "NAME", text: ({ name }) => name ?? "-" },
  { title: "ID", text: ({ id }) => id },
  { title: "PROVIDER", text: ({ provider }) => provider },
  { title: "NODES", text: ({ nodes }) => String(nodes) },
  { title: "ACTIVE JOBS", text: ({ jobs }) => (jobs === null ? "-" : String(jobs)) },
];
