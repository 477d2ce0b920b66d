import { fail } from "../../common/errors.ts";
import { poolOperations } from "../../contract/operations/pools.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { entrypointOf } from "../entrypoint.ts";
import { agree } from "../selection.ts";
import { withSourcePositions } from "../source-positions.ts";
import { textIn } from "../task-text.ts";
import { tellCommands } from "../ways.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";
import { taskOf, withFiles } from "./launch.ts";
import { showPlan } from "./plan.ts";

/** `outrigger jobs pool apply`: a pool, or another task or size for one. */
export const poolApply: Command<"jobs pool apply"> = async (world, operands, options) => {
  const { workers, mode = "rolling" } = options;
  if ((operands.length === 0) === (workers === undefined))
    fail("UsageError", "give either a FILE with a pool section, or --workers for a pool");
  if (workers !== undefined) return resize(world, workers, options);
  const source = await entrypointOf(world, operands);
  const task = await taskOf(world, source, options, "service");
  const name =
    options.pool ?? textIn(task, "name") ?? fail("UsageError", "name the pool: --pool NAME");
  if (world.terminal.canAsk && !options.yes)
    await withSourcePositions(source, task, async () => {
      await showPlan(world, task, null);
      await agree(world, `Apply pool '${name}'?`);
    });
  const input = { ...(await withFiles(world, task, "service")), pool_name: name, mode };
  const more = { title: `Applying ${name}`, name, later: options.async };
  await withSourcePositions(source, input.task, (reword) =>
    carryOut(world, poolOperations.apply, input, { ...more, reword }),
  );
  tellWays(world, name);
};

async function resize(
  world: World,
  workers: number,
  { pool, yes, async: later }: OptionsOf<"jobs pool apply">,
): Promise<undefined> {
  const name = pool ?? fail("UsageError", "name the pool: --pool NAME");
  if (world.terminal.canAsk && !yes)
    await agree(world, `Resize pool '${name}' to ${workers} workers?`);
  const input = { pool_name: name, workers, mode: "rolling" } as const;
  await carryOut(world, poolOperations.apply, input, { title: `Resizing ${name}`, name, later });
}

/** Says how to use a pool, and how to come back to it. */
function tellWays({ terminal, json }: World, name: string): void {
  if (json) return;
  tellCommands(terminal, [
    ["status", `outrigger jobs pool status ${name}`],
    ["use", `outrigger jobs launch -p ${name} FILE`],
  ]);
}
