import { isDeepStrictEqual } from "node:util";
import { errorCodeOf, fail } from "../../common/errors.ts";
import { openTurns } from "../../common/turns.ts";
import type { BalancerPlan } from "../../contract/balancer-api.ts";
import type { Place } from "../../sidecar/forward/listen.ts";
import { type FrontParts, type Serving, serve } from "../../sidecar/forward/serve.ts";

type Tls = BalancerPlan["tls"];

/** Idle connections may ask once more for so long: a request may be on its way there. */
const graceMs = 1_000;

/** Where clients come in, closed at first. One process may take the place over from another. */
export class Entrance {
  readonly #parts: FrontParts;
  readonly #drainMs: number;
  readonly #leaving: Promise<number>[] = [];
  readonly #servings = new Set<Serving>();
  #place: Place;
  #now: { readonly serving: Serving; readonly tls: Tls } | undefined;
  readonly #inTurn = openTurns(1);

  constructor(parts: FrontParts, place: Place, drainMs: number) {
    this.#parts = parts;
    this.#place = { ...place, isShared: true };
    this.#drainMs = drainMs;
  }

  get place(): { host: string; port: number } {
    const { host, port } = this.#place;
    return { host, port };
  }

  /** File descriptors of the sockets that listen; none before the first `open`. */
  get sockets(): readonly number[] {
    return this.#now?.serving.sockets() ?? [];
  }

  /**
   * Meets clients like this from now on; it listens from the first call. Those that are there stay.
   * Throws `ConfigError` when it cannot listen.
   */
  open(tls: Tls): Promise<void> {
    return this.#inTurn(() => this.#meet(tls));
  }

  /** Waits no longer for what is under way at replicas that are gone. */
  leaveLost(): void {
    for (const serving of this.#servings) serving.leaveLost();
  }

  /** Lets nobody in, and waits until all who are there have left; answers how many were cut. */
  async close(drainMs: number): Promise<number> {
    await this.#inTurn(async () => {});
    if (this.#now !== undefined) this.#leaving.push(this.#now.serving.drain(drainMs, graceMs));
    const cut = await Promise.all(this.#leaving);
    return cut.reduce((sum, one) => sum + one, 0);
  }

  async #meet(tls: Tls): Promise<void> {
    const { serving: before, tls: was = null } = this.#now ?? {};
    if (before !== undefined && isDeepStrictEqual(was, tls)) return;
    if (was && tls) before?.renew(tls);
    const isSame = before !== undefined && (was === null) === (tls === null);
    const serving = isSame ? before : await this.#begin(tls);
    this.#now = { serving, tls };
    if (before === undefined || isSame) return;
    await before.stopListening();
    const left = before.drain(this.#drainMs, graceMs);
    this.#leaving.push(left.finally(() => this.#servings.delete(before)));
  }

  async #begin(tls: Tls): Promise<Serving> {
    const place = this.#place;
    // What was inherited can be taken once.
    this.#place = { ...place, inherited: 0 };
    const serving = await serve(this.#parts, place, tls ?? undefined);
    this.#place = { ...this.#place, port: serving.address.port };
    this.#servings.add(serving);
    return serving;
  }
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
