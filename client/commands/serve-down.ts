import { fail } from "../../common/errors.ts";
import { poolOperations } from "../../contract/operations/pools.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import { isPattern } from "../arguments.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { agree, select } from "../selection.ts";
import { pools, services } from "../services.ts";
import type { World } from "../world.ts";
import { carryOut, carryOutAll } from "./carry-out.ts";

/** `outrigger serve down`. */
export const serveDown: Command<"serve down"> = async (world, words, options) => {
  const { replicaId, purge = false, async: later = false } = options;
  if (replicaId !== undefined) return terminate(world, words, options, replicaId);
  const chosen = await select(world, services, takingDown, words, options);
  const submissions = chosen.map(({ name }) => ({
    ...{ name, title: `Taking ${name} down` },
    input: { service_names: [name], all: false, purge },
  }));
  await carryOutAll(world, serveOperations.down, submissions, { later });
};

/** `outrigger jobs pool down`. */
export const poolDown: Command<"jobs pool down"> = async (world, words, options) => {
  const { purge = false, async: later = false } = options;
  const chosen = await select(world, pools, takingDown, words, options);
  const submissions = chosen.map(({ name }) => ({
    ...{ name, title: `Taking ${name} down` },
    input: { pool_names: [name], all: false, purge },
  }));
  await carryOutAll(world, poolOperations.down, submissions, { later });
};

const takingDown = { verb: "take down", isFinal: true } as const;

async function terminate(
  world: World,
  [name, ...others]: readonly string[],
  { all, yes, purge = false, async: later }: OptionsOf<"serve down">,
  replicaId: number,
): Promise<undefined> {
  if (name === undefined || others.length > 0 || isPattern(name) || all)
    fail("UsageError", "--replica-id takes the name of one service");
  if (!yes) await agree(world, `Terminate replica ${replicaId} of ${name}?`, { isFinal: true });
  const input = { service_name: name, replica_id: replicaId, purge };
  const title = `Terminating replica ${replicaId} of ${name}`;
  await carryOut(world, serveOperations.terminateReplica, input, { title, name, later });
}
