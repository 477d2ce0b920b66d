import { isDeepStrictEqual } from "node:util";
import { errorCodeOf, fail } from "../../common/errors.ts";
import type { BalancerPlan } from "../../contract/balancer-api.ts";
import { type FrontParts, type Serving, serve } from "../../sidecar/forward/serve.ts";

type Tls = BalancerPlan["tls"];

/** Where clients come in. */
export interface Entrance {
  readonly place: { readonly host: string; readonly port: number };
  /**
   * Meets clients like this from now on; it listens from the first call. Those that are there stay.
   * Throws `ConfigError` when it cannot listen.
   */
  open(tls: Tls): Promise<void>;
  /** Waits no longer for what is under way at replicas that are gone. */
  leaveLost(): void;
  /** Lets nobody in, and waits until all who are there have left; answers how many were cut. */
  close(drainMs: number): Promise<number>;
}

/** Idle connections may ask once more for so long: a request may be on its way there. */
const graceMs = 1_000;

/** An entrance that is still closed. One process may take the place over from another. */
export function makeEntrance(
  parts: FrontParts,
  place: { readonly host: string; readonly port: number },
  drainMs: number,
): Entrance {
  const leaving: Promise<number>[] = [];
  const servings = new Set<Serving>();
  let { port } = place;
  let now: { readonly serving: Serving; readonly tls: Tls } | undefined;
  let turn: Promise<void> = Promise.resolve();

  async function meet(tls: Tls): Promise<void> {
    if (now !== undefined && isDeepStrictEqual(now.tls, tls)) return;
    if (now?.tls && tls) now.serving.renew(tls);
    const before = now?.serving;
    const isSame = before !== undefined && (now?.tls === null) === (tls === null);
    const serving = isSame ? before : await begin(tls);
    now = { serving, tls };
    if (before === undefined || isSame) return;
    await before.stopListening();
    leaving.push(before.drain(drainMs, graceMs).finally(() => servings.delete(before)));
  }

  async function begin(tls: Tls): Promise<Serving> {
    const serving = await serve(
      parts,
      { host: place.host, port, isShared: true },
      tls ?? undefined,
    );
    port = serving.address.port;
    servings.add(serving);
    return serving;
  }

  return {
    get place() {
      return { host: place.host, port };
    },
    open(tls) {
      const mine = turn.then(() => meet(tls));
      turn = mine.catch(() => {});
      return mine;
    },
    leaveLost() {
      for (const serving of servings) serving.leaveLost();
    },
    async close(ms) {
      await turn;
      if (now !== undefined) leaving.push(now.serving.drain(ms, graceMs));
      const cut = await Promise.all(leaving);
      return cut.reduce((sum, one) => sum + one, 0);
    },
  };
}

/** Throws `ValueError` when a certificate cannot be used. */
export function checkTls(tls: Tls): void {
  if (tls === null) return;
  try {
    process.getBuiltinModule("node:tls").createSecureContext(tls);
  } catch (error) {
    fail(
      "ValueError",
      `tls: key and certificate cannot be used: ${errorCodeOf(error) ?? "no PEM"}`,
    );
  }
}
