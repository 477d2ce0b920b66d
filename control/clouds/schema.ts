import { AppError } from "../../common/errors.ts";
import type { Offer, RefusalKind } from "../providers/provider.ts";

/** A provider refused an offer to a cluster of this size; it is not asked again before `until`. */
export interface Refusal {
  readonly offer: OfferKey;
  readonly nodes: number;
  readonly kind: RefusalKind;
  readonly reason: string;
  /** Epoch milliseconds, as is `until`. */
  readonly at: number;
  readonly until: number;
}

/** What tells offers apart. */
export type OfferKey = Pick<
  Offer,
  "provider" | "infra" | "region" | "zone" | "instanceType" | "isSpot"
>;

/** How long a refusal is remembered: capacity comes and goes, quotas and requests are changed by people. */
const waitMs: Readonly<Record<RefusalKind, number>> = {
  capacity: 60_000,
  quota: 10 * 60_000,
  request: 60 * 60_000,
};

/** When an offer that is refused at an instant may be asked for again. */
export const untilOf = (kind: RefusalKind, at: number): number => at + waitMs[kind];

/** Whether a refusal counts no longer. One that seems to last longer than its kind does: the clock was set back. */
export const isOver = ({ kind, until }: Pick<Refusal, "kind" | "until">, now: number): boolean =>
  until <= now || until - now > waitMs[kind];

/** Whether a refusal is about an offer for so many nodes. A refusal of eight nodes says nothing about one. */
export const concerns = (refusal: Refusal, offer: OfferKey, nodes: number): boolean =>
  nodes >= refusal.nodes && isSameOffer(refusal.offer, offer);

/** Whether two offers are for the same machine in the same place. */
export const isSameOffer = (a: OfferKey, b: OfferKey): boolean =>
  a.provider === b.provider &&
  a.infra === b.infra &&
  a.region === b.region &&
  a.zone === b.zone &&
  a.instanceType === b.instanceType &&
  a.isSpot === b.isSpot;

/**
 * Why an offer was refused; undefined for any other error. A refusal
 * without a kind is not remembered: what the provider offers shows when there is something again.
 */
export function refusalOf(error: unknown): { kind?: RefusalKind; reason: string } | undefined {
  if (!(error instanceof AppError)) return undefined;
  const kind = kinds.find((one) => one === error.details["refusal"]);
  if (kind === undefined && error.type !== "ResourcesUnavailableError") return undefined;
  return { ...(kind && { kind }), reason: error.message.slice(0, reasonAtMost) };
}

const kinds = Object.keys(waitMs) as RefusalKind[];
const reasonAtMost = 500;
