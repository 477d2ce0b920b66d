import { fail } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { hintOf } from "../contract/spelling.ts";
import { isWithin } from "../contract/task/infra.ts";
import type { Task } from "../contract/task.ts";
import { concerns, isSameOffer } from "./clouds/schema.ts";
import { listRefusals } from "./clouds/store.ts";
import type { Asked, AskedIn, Placement, TriedOffer } from "./clusters/schema.ts";
import { type Answers, collectOffers, withoutSizes } from "./collect-offers.ts";
import type { Context } from "./context.ts";
import { askedOfReplica, asksForSpot, isWithinLimit, needOf, needsOf } from "./needs.ts";
import { describeAsked, describeOffer } from "./offer-words.ts";
import type { Need, Offer, Provider } from "./providers/provider.ts";
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
  /** Offers that would do, and cost more than the task allows. */
  readonly dear: readonly Offer[];
  readonly policy: Policy;
}

/** The offers for what is asked, and the one that is taken; undefined when there is none. */
export interface Choice extends Offers {
  readonly chosen: Offer | undefined;
}

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
 * The offers for each node of a task, and the one to take: of the first candidate that can be had, or the
 * cheapest of all. `again` asks for an offer that was refused lately where there is no other one.
 */
export async function weighOffers(
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
  { again = false }: { again?: boolean } = {},
): Promise<Choice> {
  const offers = await listOffers(ctx, asked, signal);
  return { ...offers, chosen: offers.open[0] ?? (again ? offers.refused[0]?.offer : undefined) };
}

/**
 * The machine to take for each node of a task, as `weighOffers` chooses it. Throws `NotSupportedError` where no machine ever will do,
 * `UserRequestRejectedByPolicy` where its workspace does not allow those that would, and
 * `ResourcesUnavailableError` saying what was asked and what there is.
 */
export const chooseOffer = async (
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
): Promise<Offer> => chosenOf(ctx, asked, await weighOffers(ctx, asked, signal), signal);

/** The offer that was chosen; throws as `chooseOffer` does where there is none. */
export async function chosenOf(
  ctx: Context,
  asked: AskedIn,
  choice: Choice,
  signal: AbortSignal,
): Promise<Offer> {
  if (choice.chosen !== undefined) return choice.chosen;
  if (choice.refused.length > 0) return refuseRefused(asked, choice);
  refuseForbidden(choice);
  refuseDear(asked, choice);
  refuseUnsupported(ctx, asked);
  return refuseUnoffered(ctx, asked, signal);
}

/** Throws where all that would do costs more than the task allows. */
function refuseDear(asked: Asked, { dear: [cheapest] }: Offers): void {
  if (cheapest === undefined) return;
  fail(
    "ResourcesUnavailableError",
    `nothing offers ${describeAsked(asked)}; the cheapest machine is ${describeOffer(cheapest)} ` +
      `for $${cheapest.dollarsPerHour.toFixed(2)} an hour; raise max_hourly_cost, or leave it out`,
  );
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
  const { isSpot, planned } = asked;
  const [on, left] = [isSpot ? " on spot" : "", planned ? "besides what is planned already, " : ""];
  const kind = { ...(isSpot && { isSpot }), ...(planned && { planned }) };
  const { offers, silent } = await collectOffers(ctx.catalog(), ctx.providers, kind, signal);
  const there = [...offers.map(describeOffer), ...silent].join("; ");
  fail(
    "ResourcesUnavailableError",
    `nothing offers ${describeAsked(asked)}${on}; ${left}there is${on}: ` +
      `${there || "nothing at all"}${await shortagesIn(ctx, asked)}${await hintOn(ctx, asked)}` +
      hintOnKind(ctx, asked, offers),
  );
}

/** Why the places that were asked for by name have nothing now. */
async function shortagesIn({ providers }: Context, asked: Asked): Promise<string> {
  const named = needsOf(asked).filter(({ infra }) => infra !== undefined);
  const told = named.flatMap((need) => providers.map((one) => one.shortages?.(need) ?? []));
  const texts = new Set((await Promise.all(told)).flat());
  return [...texts].map((text) => `; ${text.replaceAll(/\n\s*/g, ", ")}`).join("");
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

/** Which kind of accelerator may have been meant by one that nobody knows. */
function hintOnKind({ catalog }: Context, asked: Asked, offers: readonly Offer[]): string {
  const offered = offers.flatMap(({ accelerators }) => accelerators?.name ?? []);
  const known = [...offered, ...catalog().accelerators.map(({ name }) => name)];
  const isKnown = (name: string) => known.some((one) => one.toLowerCase() === name.toLowerCase());
  const unknown = needsOf(asked).flatMap(({ accelerators: kind }) =>
    kind !== undefined && "name" in kind && !isKnown(kind.name) ? [kind.name] : [],
  );
  const hint = unknown[0] && hintOf(unknown[0], known, "");
  return hint ? `; ${hint}` : "";
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
  const onSpot = (await asksForSpot(ctx, task.resources))
    ? [askedOfReplica(task, workspace, true)]
    : [];
  const needs = [asked, ...onSpot].flatMap(needsOf);
  const could = needs.flatMap((need) =>
    ctx.providers.map((one) => couldOffer(ctx, one, need, signal)),
  );
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
async function couldOffer(
  ctx: Context,
  provider: Provider,
  need: Need,
  signal: AbortSignal,
): Promise<boolean> {
  if (need.isSpot) return (await provider.hasSpot?.()) === true;
  if (provider.couldOffer !== undefined) return provider.couldOffer(withoutSizes(need));
  // One that does not answer now may have it.
  const { offers, silent } = await collectOffers(ctx.catalog(), [provider], need, signal);
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

/** Every offer that would do, in the order in which they are to be tried. */
async function offersFor(
  ctx: Context,
  asked: AskedIn,
  signal: AbortSignal,
): Promise<Answers & Pick<Offers, "policy" | "forbidden" | "dear">> {
  const { document } = await ctx.configurations.current();
  const policy = policyOf(document, asked.workspace);
  const catalog = ctx.catalog();
  const answers = await Promise.all(
    asked.resources.candidates.map(async (candidate) => {
      const need = needOf(asked, candidate);
      const { offers, silent } = await collectOffers(catalog, ctx.providers, need, signal);
      const isCheap = (offer: Offer) => isWithinLimit(candidate, offer);
      return {
        ...Object.groupBy(offers.sort(byPrice), (one) => (isCheap(one) ? "fit" : "dear")),
        silent,
      };
    }),
  );
  const sorted = answers.map(({ fit = [] }) => fit);
  const isOrdered = asked.resources.choose === "inOrder";
  const all = inFavourOf(asked.near, isOrdered ? sorted.flat() : sorted.flat().sort(byPrice));
  return {
    policy,
    offers: all.filter(({ infra }) => policy.allows(infra)),
    forbidden: all.filter(({ infra }) => !policy.allows(infra)),
    dear: answers
      .flatMap(({ dear = [] }) => dear)
      .filter(({ infra }) => policy.allows(infra))
      .sort(byPrice),
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
