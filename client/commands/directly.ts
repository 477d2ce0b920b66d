import { AppError } from "../../common/errors.ts";
import type { Action } from "../output/actions.ts";
import type { Client } from "../sdk.ts";
import { type Kind, type SelectionOptions, select } from "../selection.ts";
import type { World } from "../world.ts";
import { directAction, failedAction, tellActions } from "./actions.ts";

interface Named {
  readonly name: string;
}

/** Deletes for good the things of a kind that the words name, after asking. */
export async function deleteSelected<Row extends Named>(
  world: World,
  kind: Kind<Row>,
  words: readonly string[],
  options: SelectionOptions,
  remove: (client: Client, row: Row) => Promise<unknown>,
): Promise<undefined> {
  const { noun, lister } = kind;
  const chosen = await select(world, kind, { verb: "delete", isFinal: true }, words, options);
  const client = await world.connect();
  await doDirectly(world, lister.replace(/ \w+$/, " delete"), chosen, async (row) => {
    await remove(client, row);
    world.terminal.note(`Deleted ${noun} ${row.name}.`);
  });
}

/** Does to each of several things what ends at once. Goes on after a failure, and throws the first one at the end. */
export async function doDirectly<Row extends Named>(
  world: World,
  action: string,
  rows: readonly Row[],
  act: (row: Row) => Promise<unknown>,
): Promise<undefined> {
  const { terminal } = world;
  const actions: Action[] = [];
  const failures: AppError[] = [];
  for (const row of rows)
    try {
      await act(row);
      actions.push(directAction(action, row.name));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      failures.push(error);
      actions.push(failedAction(action, row.name, error));
      if (rows.length > 1)
        terminal.note(`${terminal.paintNote("red", "✗")} ${row.name}: ${error.message}`);
    }
  tellActions(world, actions);
  if (failures[0] !== undefined) throw failures[0];
}
