import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { parseTask } from "../../contract/task.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { chooseOffer, describeOffer } from "../offers.ts";

const workspace = "default";

/** What can be had where, and whether a task fits it. */
export const cloudOperations: Bound[] = [
  bind(rows.check, check),
  bind(rows.enabledClouds, async (ctx) => enabledNames(ctx)),
  bind(rows.enabledCloudsBatch, async (ctx, { workspaces }) =>
    Object.fromEntries(namesIn(workspaces).map((name) => [name, enabledNames(ctx)])),
  ),
  bind(taskOperations.validate, validate),
  bind(taskOperations.optimize, optimize),
];

const enabledNames = (ctx: Context): string[] => ctx.providers.map(({ name }) => name);

const namesIn = (list: string): string[] => list.split(",").filter((name) => name !== "");

/** Asks each provider what it has, and says so. */
async function check(ctx: Context, input: InputOf<typeof rows.check>, call: Call) {
  const unknown = input.clouds?.find((name) => !enabledNames(ctx).includes(name));
  if (unknown !== undefined)
    fail("ValueError", `there is no cloud ${unknown}; there is ${enabledNames(ctx).join(", ")}`);
  const chosen = ctx.providers.filter(({ name }) => input.clouds?.includes(name) ?? true);
  for (const provider of chosen) {
    const offers = await provider.offers({}, call.signal);
    call.print(`${provider.name}: ${offers.map(describeOffer).join("; ") || "nothing to offer"}\n`);
  }
  const capabilities = chosen.map(({ name }) => [name, ["compute" as const]]);
  return { [input.workspace ?? workspace]: Object.fromEntries(capabilities) };
}

/** Reads a document; what is wrong with it is the answer's error. */
async function validate(_ctx: Context, { dag }: InputOf<typeof taskOperations.validate>) {
  parseTask(dag);
  return null;
}

/** Prints what each task of a document would take. */
async function optimize(
  ctx: Context,
  { dag }: InputOf<typeof taskOperations.optimize>,
  call: Call,
) {
  for (const { name, nodes, resources } of parseTask(dag).tasks) {
    const offer = await chooseOffer(ctx, resources, call.signal);
    const price = offer.dollarsPerHour * nodes;
    call.print(
      `${name ?? "task"}: ${nodes} × ${describeOffer(offer)}, $${price.toFixed(2)} an hour\n`,
    );
  }
  return null;
}
