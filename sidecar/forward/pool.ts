import type { Caller, Exchange } from "./front.ts";
import type { Address } from "./route.ts";
import { type Berth, Upstream } from "./upstream.ts";

/** Shorter than servers usually keep an idle connection, so that they rarely close one we use. */
const keepAtMostMs = 4_000;
const idleAtMost = 1_024;

/**
 * The connections to one upstream that are not open yet, or wait for a request: the last one used is
 * used first. Says to `wake` that there are some, which are to be swept.
 */
export class Pool implements Berth {
  readonly address: Address;
  readonly #wake: () => void;
  readonly #connecting = new Set<Upstream>();
  readonly #idle: Upstream[] = [];
  #keepMs = keepAtMostMs;

  constructor(address: Address, wake: () => void) {
    this.address = address;
    this.#wake = wake;
  }

  /** Sends the client's request over a connection that is open, or a new one. */
  begin(client: Caller): Exchange {
    const { nowMs } = client.front;
    const waiting = this.#take(nowMs);
    if (waiting === undefined) return this.#open(client);
    waiting.begin(client);
    return waiting;
  }

  retry(client: Caller): void {
    client.moveTo(this.#open(client));
  }

  #open(client: Caller): Upstream {
    const upstream = new Upstream(this);
    upstream.expiresMs = client.front.nowMs + client.front.limits.connectMs;
    this.#connecting.add(upstream);
    this.#wake();
    upstream.begin(client);
    return upstream;
  }

  settled(upstream: Upstream): void {
    this.#connecting.delete(upstream);
  }

  #take(nowMs: number): Upstream | undefined {
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      if (last.isOpen(nowMs)) return last;
      last.close();
    }
    return undefined;
  }

  give(upstream: Upstream, nowMs: number): void {
    if (this.#keepMs <= 0 || this.#idle.length >= idleAtMost) return void upstream.close();
    upstream.expiresMs = nowMs + this.#keepMs;
    this.#idle.push(upstream);
    this.#wake();
  }

  learn(seconds: number): void {
    if (seconds > 0) this.#keepMs = Math.min(keepAtMostMs, (seconds - 1) * 1_000);
  }

  /** Closes the connections that have waited too long; answers whether there are no others. */
  sweep(nowMs: number): boolean {
    for (const upstream of this.#connecting)
      if (upstream.expiresMs < nowMs) upstream.fail("upstreamTimeout");
    const isOld = (upstream: Upstream) => !upstream.isOpen(nowMs);
    while (this.#idle[0] !== undefined && isOld(this.#idle[0])) this.#idle.shift()?.close();
    return this.#idle.length + this.#connecting.size === 0;
  }

  close(): void {
    for (const upstream of this.#idle.splice(0)) upstream.close();
  }
}
