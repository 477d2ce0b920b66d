import { cloudOperations } from "../../contract/operations/clouds.ts";
import { answerSink } from "../progress.ts";
import type { World } from "../world.ts";
import type { OutputOptions } from "./answers.ts";

/** `outrigger check`: the report is the text of the request. */
export async function check(
  world: World,
  infra: readonly string[],
  { verbose = false, output }: OutputOptions & { readonly verbose?: boolean },
): Promise<undefined> {
  const client = await world.connect();
  const input = { clouds: infra.length > 0 ? [...infra] : null, verbose };
  if (output === "json") {
    const found = await client.callAndGet(cloudOperations.check, input);
    world.terminal.answer(JSON.stringify(found, null, 2));
    return;
  }
  await client.callAndStream(cloudOperations.check, input, answerSink(world.terminal));
}
