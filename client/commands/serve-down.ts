import { fail } from "../../common/errors.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import { isPattern } from "../arguments.ts";
import { agree, type SelectionOptions, select } from "../selection.ts";
import { services } from "../services.ts";
import type { Run, World } from "../world.ts";
import { carryOut, carryOutAll } from "./carry-out.ts";

interface DownOptions extends SelectionOptions {
  readonly purge?: boolean;
  readonly replicaId?: number;
  readonly async?: boolean;
}

/** `outrigger serve down`. */
export const serveDown: Run<DownOptions> = async (world, words, options) => {
  if (options.replicaId !== undefined) return terminate(world, words, options, options.replicaId);
  const purpose = { verb: "take down", isFinal: true } as const;
  const chosen = await select(world, services, purpose, words, options);
  const { purge = false, async: later = false } = options;
  const submissions = chosen.map(({ name }) => ({
    name,
    title: `Taking ${name} down`,
    input: { service_names: [name], all: false, purge },
    done() {},
  }));
  await carryOutAll(world, serveOperations.down, submissions, { later });
};

async function terminate(
  world: World,
  [name, ...others]: readonly string[],
  { all, yes, purge = false, async: later }: DownOptions,
  replicaId: number,
): Promise<undefined> {
  if (name === undefined || others.length > 0 || isPattern(name) || all)
    fail("UsageError", "--replica-id takes the name of one service");
  if (!yes) await agree(world, `Terminate replica ${replicaId} of ${name}?`, { isFinal: true });
  const input = { service_name: name, replica_id: replicaId, purge };
  const title = `Terminating replica ${replicaId} of ${name}`;
  await carryOut(world, serveOperations.terminateReplica, input, { title, name, later });
}
