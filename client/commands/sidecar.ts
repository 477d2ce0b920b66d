import { execProgram } from "../exec-program.ts";
import type { World } from "../world.ts";

/** `outrigger sidecar`, where it is not the launcher that starts it. */
export async function sidecar({ env }: World, words: readonly string[]): Promise<never> {
  return execProgram("sidecar", words, env);
}
