import { poolOperations } from "../../contract/operations/pools.ts";
import { pools } from "../pools.ts";
import { type SelectionOptions, select } from "../selection.ts";
import type { Run } from "../world.ts";
import { carryOutAll } from "./carry-out.ts";

interface DownOptions extends SelectionOptions {
  readonly purge?: boolean;
  readonly async?: boolean;
}

/** `outrigger jobs pool down`. */
export const poolDown: Run<DownOptions> = async (world, words, options) => {
  const purpose = { verb: "take down", isFinal: true } as const;
  const chosen = await select(world, pools, purpose, words, options);
  const { purge = false, async: later = false } = options;
  const submissions = chosen.map(({ name }) => ({
    name,
    title: `Taking ${name} down`,
    input: { pool_names: [name], all: false, purge },
    done() {},
  }));
  await carryOutAll(world, poolOperations.down, submissions, { later });
};
