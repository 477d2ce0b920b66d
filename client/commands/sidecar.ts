import { become } from "../become.ts";
import type { World } from "../world.ts";

/** `outrigger sidecar`, where it is not the launcher that starts it. */
export async function sidecar({ env }: World, words: readonly string[]): Promise<never> {
  return become("sidecar", words, env);
}
