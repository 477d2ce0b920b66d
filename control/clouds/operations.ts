import { count } from "../../common/count.ts";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { hintOf } from "../../contract/spelling.ts";
import { cloudOf } from "../../contract/task/infra.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import { checkClusterName } from "../clusters/schema.ts";
import { collectOffers } from "../collect-offers.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { describeOffer } from "../offer-words.ts";
import { placesOf } from "../offers.ts";
import type { Provider } from "../providers/provider.ts";
import { readDocument } from "../task.ts";
import { requireWorkspace, visibleWorkspaces } from "../workspaces/find.ts";
import { policyOf } from "../workspaces/schema.ts";
import { listAccelerators, listCounts } from "./accelerators.ts";
import { optimize } from "./optimize.ts";
import type { Refusal } from "./schema.ts";
import { listRefusals } from "./store.ts";

/** Available infrastructure, and whether a task fits it. */
export const cloudOperations: Bound[] = [
  bind(rows.check, check),
  bind(rows.enabledClouds, async (ctx, { workspace, expand }, call) => {
    const name = await requireWorkspace(ctx, workspace ?? call.workspace, call);
    return expand ? enabledPlaces(ctx, name) : enabledNames(ctx, name);
  }),
  bind(rows.enabledCloudsBatch, async (ctx, { workspaces, expand }, call) => {
    const visible = await visibleWorkspaces(ctx, call);
    const names = namesIn(workspaces).filter((name) => Object.hasOwn(visible, name));
    const enabledOf = expand ? enabledPlaces : enabledNames;
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await enabledOf(ctx, name)] as const)),
    );
  }),
  bind(rows.allContexts, async (ctx, _input, call) => {
    const places = await enabledPlaces(ctx, call.workspace);
    return places.flatMap((place) => contextOf(place) ?? []);
  }),
  bind(rows.listAccelerators, listAccelerators),
  bind(rows.listAcceleratorCounts, listCounts),
  bind(taskOperations.validate, validate),
  bind(taskOperations.optimize, optimize),
];

/** What clients call a place among contexts; other places are none. */
function contextOf(place: string): string | undefined {
  const [, cloud, name] = /^(kubernetes|ssh)\/(.+)$/.exec(place) ?? [];
  return cloud === "ssh" ? `ssh-${name}` : name;
}

/** The clouds that have anything to give to a workspace. */
async function enabledNames(
  { providers, configurations }: Context,
  name: string,
): Promise<string[]> {
  const { allows } = policyOf((await configurations.current()).document, name);
  const places = await Promise.all(providers.map(placesOf));
  return providers.filter((_, index) => places[index]?.some(allows)).map(({ name }) => name);
}

/** The pools and other places that a workspace can use; of a cloud that has none, its name. */
async function enabledPlaces(
  { providers, configurations }: Context,
  name: string,
): Promise<string[]> {
  const { allows } = policyOf((await configurations.current()).document, name);
  const places = (await Promise.all(providers.map(placesOf))).flat().filter(allows);
  const isWhole = (place: string) => !places.some((one) => one.startsWith(`${place}/`));
  return places.filter(isWhole);
}

const namesIn = (list: string): string[] => list.split(",").filter((name) => name !== "");

/** Asks each provider what it has, and says so. */
async function check(ctx: Context, input: InputOf<typeof rows.check>, call: Call) {
  const workspaces =
    input.workspace === null
      ? Object.keys(await visibleWorkspaces(ctx, call))
      : [await requireWorkspace(ctx, input.workspace, call)];
  const names = ctx.providers.map(({ name }) => name);
  const asked = input.clouds?.map(cloudOf);
  const unknown = asked?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    fail(
      "ValueError",
      `this control plane cannot launch on ${unknown}; ${hintOf(unknown, names, `it supports ${names.join(", ")}`)}`,
    );
  const allowed: Record<string, string[]> = {};
  for (const name of workspaces) allowed[name] = await enabledNames(ctx, name);
  const wanted = asked ?? Object.values(allowed).flat();
  const chosen = ctx.providers.filter(({ name }) => wanted.includes(name));
  for (const problem of ctx.catalog().problems) call.print(`catalog: ${problem}\n`);
  const enabled: string[] = [];
  const now = ctx.now().getTime();
  const refusals = await listRefusals(ctx.db, now);
  for (const provider of chosen) {
    const answer = await collectOffers(ctx.catalog(), [provider], {}, call.signal);
    const offers = answer.offers.map(describeOffer);
    const shortages = (await provider.shortages?.()) ?? [];
    if (offers.length > 0) enabled.push(provider.name);
    const isShort = offers.length === 0 && shortages.length > 0;
    const offered = `${provider.name}: ${offers.join("; ") || "nothing to offer"}`;
    const refused = refusals.filter(({ offer }) => offer.provider === provider.name);
    const told = answer.silent.length > 0 ? answer.silent : isShort ? [] : [offered];
    const lines = [...told, ...shortages, ...refused.map((one) => refusalLine(one, now))];
    call.print(`${lines.join("\n")}\n`);
  }
  call.print(`Enabled infra: ${enabled.join(", ") || "none"}\n`);
  return Object.fromEntries(
    workspaces.map((name) => [name, capabilitiesOf(chosen, allowed[name] ?? [])]),
  );
}

const capabilitiesOf = (chosen: readonly Provider[], allowed: readonly string[]) =>
  Object.fromEntries(
    chosen
      .filter(({ name }) => allowed.includes(name))
      .map(({ name }) => [name, ["compute" as const]]),
  );

/** `aws/us-east-1 refused 2 nodes of p4d: no capacity; retrying in 42 s`. */
const refusalLine = ({ offer, nodes, reason, until }: Refusal, now: number): string =>
  `${offer.infra} refused ${count(nodes, "node")} of ${offer.instanceType}` +
  `${offer.isSpot ? " on spot" : ""}: ${reason}; retrying in ${Math.ceil((until - now) / 1_000)} s`;

/** Refuses what a launch of these tasks would refuse as it is submitted. */
async function validate(
  _ctx: Ground,
  { dag, request_options: options }: InputOf<typeof taskOperations.validate>,
) {
  if (typeof options?.cluster_name === "string") checkClusterName(options.cluster_name);
  readDocument(dag);
  return null;
}
