import { AppError } from "../common/errors.ts";
import { type Catalog, completed } from "./clouds/catalog.ts";
import { meets, type Need, type Offer, type Provider } from "./providers/provider.ts";

/** What providers answered. */
export interface Answers {
  readonly offers: Offer[];
  /** Providers that failed or did not answer in time, and why: `ssh does not answer: ...`. */
  readonly silent: string[];
}

/** The others are not kept waiting for longer than this by a provider that does not answer. */
const answerMs = 10_000;

/** Asks all of these providers at once; one that fails or hangs does not hold up the others. */
export async function collectOffers(
  catalog: Catalog,
  providers: readonly Provider[],
  need: Need,
  signal: AbortSignal,
): Promise<Answers> {
  const answers = await Promise.all(
    providers.map((provider) => ask(catalog, provider, need, signal)),
  );
  return {
    offers: answers.flatMap(({ offers }) => offers),
    silent: answers.flatMap(({ silent }) => silent),
  };
}

/** What a provider is asked for: it does not know how much memory accelerators have. */
export function withoutSizes({ accelerators, ...need }: Need): Need {
  if (accelerators === undefined) return need;
  return "name" in accelerators ? { ...need, accelerators } : { ...need, anyAccelerators: true };
}

async function ask(
  catalog: Catalog,
  provider: Provider,
  need: Need,
  signal: AbortSignal,
): Promise<Answers> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const end = () => reject(limit.reason);
  limit.addEventListener("abort", end);
  try {
    signal.throwIfAborted();
    if (limit.aborted) end();
    const found = await Promise.race([provider.offers(withoutSizes(need), limit), late]);
    const offers = found.map((offer) => completed(catalog, offer));
    const isSized = withoutSizes(need).accelerators !== need.accelerators;
    return { offers: isSized ? offers.filter((offer) => meets(offer, need)) : offers, silent: [] };
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.aborted && !(error instanceof AppError)) throw error;
    const why = limit.aborted
      ? `no answer within ${answerMs / 1_000} s`
      : String((error as Error).message);
    const isUsable = limit.aborted || (error as AppError).type !== "ConfigError";
    const is = isUsable ? "does not answer" : "cannot be used";
    return { offers: [], silent: [`${provider.name} ${is}: ${why}`] };
  } finally {
    limit.removeEventListener("abort", end);
  }
}
