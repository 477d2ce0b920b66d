import { cloudOperations } from "../../contract/operations/clouds.ts";
import { checkForm } from "../output/control.ts";
import { answerSink } from "../progress.ts";
import type { Run } from "../world.ts";
import { answerJson, type OutputOptions } from "./answers.ts";

/** `outrigger check`: the report is the text of the request. */
export const check: Run<OutputOptions & { readonly verbose?: boolean }> = async (
  world,
  infra,
  { verbose = false, ...options },
) => {
  const client = await world.connect();
  const input = { clouds: infra.length > 0 ? [...infra] : null, verbose };
  if (world.json) {
    const found = await client.callAndGet(cloudOperations.check, input);
    const rows = Object.entries(found).flatMap(([workspace, clouds]) =>
      Object.entries(clouds).map(([cloud, capabilities]) => ({
        ...{ workspace, infra: cloud.toLowerCase(), capabilities },
      })),
    );
    return answerJson(world, options, checkForm, rows);
  }
  await client.callAndStream(cloudOperations.check, input, answerSink(world.terminal));
};
