import { fail } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { hintOf } from "../contract/spelling.ts";
import { needsOwnPorts } from "../contract/task/fixed-port.ts";
import { isWithin } from "../contract/task/infra.ts";
import type { ResourceRequest } from "../contract/task/resource-request.ts";
import type { Resources } from "../contract/task/resources.ts";
import type { Task } from "../contract/task.ts";
import { concerns, isSameOffer } from "./clouds/schema.ts";
import { listRefusals } from "./clouds/store.ts";
import type { Asked, AskedIn, Placement, TriedOffer } from "./clusters/schema.ts";
import { type Answers, collectOffers } from "./collect-offers.ts";
import type { Context } from "./context.ts";
import { describeAsked, describeOffer, infraOf } from "./offer-words.ts";
import { meets, type Need, type Offer, type Provider } from "./providers/provider.ts";
import { type Policy, policyOf, requireInfra } from "./workspaces/schema.ts";

/** The offers for what is asked, the one to take first. */
export interface Offers {
  readonly open: readonly Offer[];
  /** Offers that would do, but were refused lately or in this launch. */
  readonly refused: readonly TriedOffer[];
  /** Providers that did not answer, and why. */
  readonly silent: readonly string[];
  /** Offers that would do, and the workspace does not allow. */
  readonly forbidden: readonly Offer[];
  readonly policy: Policy;
}

/**
 * What a service's task asks of the machines of each replica, on spot or not; left out where the task
 * makes no difference of it. Of others what the task asks.
 */
export const askedOfReplica = (
  task: Task,
  workspace: string,
  isSpot?: boolean,
): AskedIn & Pick<Task, "resources"> => ({
  workspace,
  resources: ofKind(task.resources, isSpot),
  nodes: task.nodes,
  ...(isSpot === true && { isSpot }),
  ...(needsOwnPorts(task) && { network: "own" }),
});

/** Where candidates differ in being spot, only those count that are what is asked for. */
function ofKind(resources: Resources, isSpot: boolean | undefined): Resources {
  const candidates = resources.candidates.filter(({ useSpot }) => useSpot === isSpot);
  return candidates.length === 0 ? resources : { ...resources, candidates };
}

/** Whether a task asks for spot machines where there are any; `use_spot` has no effect elsewhere. */
export const asksForSpot = ({ providers }: Context, { candidates }: Resources): boolean =>
  candidates.some(
    ({ useSpot, cloud }) =>
      useSpot &&
      providers.some(
        ({ name, hasSpot }) => hasSpot === true && (cloud === undefined || isWithin(name, cloud)),
      ),
  );

/** What a launch has tried before. */
type Walk = Pick<Placement, "tried" | "since">;

/** What there is for a task, with what refused it: in this launch, or lately for any cluster of the size. */
export async function listOffers(
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
  { tried, since }: Walk = { tried: [], since: 0 },
): Promise<Offers> {
  const { offers, ...others } = await offersFor(ctx, asked, signal);
  const refusals = (await listRefusals(ctx.db, ctx.now().getTime())).filter(({ at }) => at > since);
  const refused: TriedOffer[] = [...tried];
  const open: Offer[] = [];
  for (const offer of offers) {
    if (tried.some((one) => isSameOffer(one.offer, offer))) continue;
    const refusal = refusals.find((one) => concerns(one, offer, asked.nodes));
    if (refusal === undefined) open.push(offer);
    else refused.push({ offer, why: refusal.reason });
  }
  return { ...others, open, refused };
}

/**
 * The machine to take for each node of a task: of the first candidate that can be had, or the
 * cheapest of all. Throws `NotSupportedError` where no machine ever will do,
 * `UserRequestRejectedByPolicy` where its workspace does not allow those that would, and
 * `ResourcesUnavailableError` saying what was asked and what there is. `again` asks for an offer that was
 * refused lately where there is no other one.
 */
export async function chooseOffer(
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
  { again = false }: { again?: boolean } = {},
): Promise<Offer> {
  const offers = await listOffers(ctx, asked, signal);
  const chosen = offers.open[0] ?? (again ? offers.refused[0]?.offer : undefined);
  if (chosen !== undefined) return chosen;
  if (offers.refused.length > 0) return refuseRefused(asked, offers);
  refuseForbidden(offers);
  refuseUnsupported(ctx, asked);
  return refuseUnoffered(ctx, asked, signal);
}

/** Throws `ResourcesUnavailableError`, saying why each offer was refused. */
export function refuseRefused(asked: Asked, { refused, silent }: Offers): never {
  const each = refused.map(({ offer, why }) => `${describeOffer(offer)}: ${why}`);
  const more = each.length > namedAtMost ? [`and ${each.length - namedAtMost} more`] : [];
  const all = [...each.slice(0, namedAtMost), ...more, ...silent].join("; ");
  fail(
    "ResourcesUnavailableError",
    `no offer is left for ${describeAsked(asked)}: ${all || "none was found"}; ` +
      "retry in a minute, or launch with `--retry-until-up`",
    { refusals: each.slice(0, namedAtMost) },
  );
}

/** An error names so many offers. */
const namedAtMost = 30;

async function refuseUnoffered(ctx: Context, asked: Asked, signal: AbortSignal): Promise<never> {
  const [kind, on] = asked.isSpot ? [{ isSpot: true as const }, " on spot"] : [{}, ""];
  const { offers, silent } = await collectOffers(ctx.providers, kind, signal);
  const there = [...offers.map(describeOffer), ...silent].join("; ");
  fail(
    "ResourcesUnavailableError",
    `nothing offers ${describeAsked(asked)}${on}; there is${on}: ` +
      `${there || "nothing at all"}${await shortagesIn(ctx, asked)}${await hintOn(ctx, asked)}`,
  );
}

/** Why the places that were asked for by name have nothing now. */
async function shortagesIn({ providers }: Context, asked: Asked): Promise<string> {
  const infras = needsOf(asked).flatMap(({ infra }) => infra ?? []);
  const all = (await Promise.all(providers.map((one) => one.shortages?.() ?? []))).flat();
  const named = all.filter((text) =>
    infras.some((infra) => isWithin(text.slice(0, text.indexOf(":")), infra)),
  );
  return named.map((text) => `; ${text.replaceAll(/\n\s*/g, ", ")}`).join("");
}

/** What else helps where `infra` led nowhere: what may have been meant, or where to look for hosts. */
async function hintOn({ providers }: Context, asked: Asked): Promise<string> {
  const infras = needsOf(asked).flatMap(({ infra }) => infra ?? []);
  const known = (await Promise.all(providers.map(placesOf))).flat();
  const unknown = infras.find((infra) => !known.includes(infra));
  const asksForHosts = infras.some((infra) => isWithin(infra, "ssh"));
  const wayOut = asksForHosts ? `the state of hosts: ${product.word} ssh status` : "";
  const hint = unknown === undefined ? wayOut : hintOf(unknown, known, wayOut);
  return hint && `; ${hint}`;
}

/** The values of `infra` that name a place of this provider; empty while it has no capacity for anyone. */
export const placesOf = async ({ name, places }: Provider): Promise<string[]> =>
  (await places?.()) ?? [name];

/**
 * Throws what `chooseOffer` does if no offer could ever run a replica of the service; an offer that is only
 * unavailable now is not a reason to refuse. Returns the offer that is available now, if any.
 */
export async function refuseImpossible(
  ctx: Context,
  task: Task,
  workspace: string,
  signal: AbortSignal,
): Promise<Offer | undefined> {
  const asked = askedOfReplica(task, workspace);
  const { offers, ...others } = await offersFor(ctx, asked, signal);
  if (offers.length > 0) return offers[0];
  refuseForbidden(others);
  refuseUnsupported(ctx, asked);
  const onSpot = asksForSpot(ctx, task.resources) ? [askedOfReplica(task, workspace, true)] : [];
  const needs = [asked, ...onSpot].flatMap(needsOf);
  const could = needs.flatMap((need) => ctx.providers.map((one) => couldOffer(one, need, signal)));
  if (!(await Promise.all(could)).includes(true)) await refuseUnoffered(ctx, asked, signal);
  return undefined;
}

/** Throws where all that would do is where a workspace may not go. */
function refuseForbidden({
  policy,
  forbidden: [first],
}: Pick<Offers, "policy" | "forbidden">): void {
  if (first !== undefined) requireInfra(policy, first.infra);
}

/** Whether a provider may have what is needed at another time. */
async function couldOffer(provider: Provider, need: Need, signal: AbortSignal): Promise<boolean> {
  if (need.isSpot) return provider.hasSpot === true;
  if (provider.couldOffer !== undefined) return provider.couldOffer(need);
  // One that does not answer now may have it.
  const { offers, silent } = await collectOffers([provider], need, signal);
  return offers.length + silent.length > 0;
}

/** Throws `NotSupportedError`, saying what to do, where a provider says that it never will do. */
function refuseUnsupported({ providers }: Context, asked: Asked): void {
  const refusals = needsOf(asked).flatMap((need) => providers.map((one) => one.refusal?.(need)));
  const why = refusals.find((refusal) => refusal !== undefined);
  if (why !== undefined) fail("NotSupportedError", why);
}

/** Whether there is a machine for each node now; not where a provider cannot say. */
export const isOffered = async (
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
): Promise<boolean> => (await listOffers(ctx, asked, signal)).open.length > 0;

const needsOf = ({ resources, nodes, network, isSpot }: Asked): Need[] =>
  resources.candidates
    .map(needOf)
    .filter((need) => need !== undefined)
    .map((need) => ({ ...need, nodes, ...(network && { network }), ...(isSpot && { isSpot }) }));

/** Every offer that would do, in the order in which they are to be tried. */
async function offersFor(
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
): Promise<Answers & Pick<Offers, "policy" | "forbidden">> {
  const { document } = await ctx.configurations.current();
  const policy = policyOf(document, asked.workspace);
  const needs = needsOf(asked).map((need) => collectOffers(ctx.providers, need, signal));
  const answers = await Promise.all(needs);
  const sorted = answers.map(({ offers }) => offers.sort(byPrice));
  const isOrdered = asked.resources.choose === "inOrder";
  const all = inFavourOf(asked.near, isOrdered ? sorted.flat() : sorted.flat().sort(byPrice));
  return {
    policy,
    offers: all.filter(({ infra }) => policy.allows(infra)),
    forbidden: all.filter(({ infra }) => !policy.allows(infra)),
    silent: [...new Set(answers.flatMap(({ silent }) => silent))],
  };
}

/** The offers of one place before all others, or behind them. */
function inFavourOf(near: Asked["near"], offers: Offer[]): Offer[] {
  if (near === undefined) return offers;
  const [there, elsewhere] = [true, false].map((is) =>
    offers.filter(({ infra }) => isWithin(infra, near.infra) === is),
  ) as [Offer[], Offer[]];
  return near.tried === "first" ? [...there, ...elsewhere] : [...elsewhere, ...there];
}

const byPrice = (a: Offer, b: Offer): number => a.dollarsPerHour - b.dollarsPerHour;

type Candidates = Pick<Resources, "candidates">;

/** What a provider is asked for; undefined when no provider can tell, as with "16GB of any kind". */
function needOf(candidate: ResourceRequest): Need | undefined {
  const { cpus, memory, accelerator } = candidate;
  const infra = infraOf(candidate);
  if (accelerator !== undefined && !("name" in accelerator)) return undefined;
  return {
    ...(infra !== undefined && { infra }),
    ...(cpus && { cpus: { count: cpus.count, orMore: cpus.orMore } }),
    ...(memory && { memoryGb: { count: memory.gb, orMore: memory.orMore } }),
    ...(accelerator && { accelerators: { name: accelerator.name, count: accelerator.count } }),
  };
}

/** The first candidate of a task that machines of this offer satisfy; undefined when none is. */
export const candidateOf = (
  { candidates }: Candidates,
  offer: Offer,
): ResourceRequest | undefined =>
  candidates.find((candidate) => {
    const need = needOf(candidate);
    return need !== undefined && meets(offer, { ...need, ...(offer.isSpot && { isSpot: true }) });
  });
