import { become } from "../become.ts";
import { controlEnv } from "../control-process.ts";
import type { World } from "../world.ts";

/** `outrigger api restore`. */
export async function restore(world: World, operands: readonly string[]): Promise<undefined> {
  become("control", ["restore", ...operands], controlEnv(world.env, world.settings, {}));
}
