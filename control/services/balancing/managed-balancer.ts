import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isAlive } from "../../../common/process-tree.ts";
import {
  balancerOperations as api,
  type BalancerPlan,
  BalancerReport,
} from "../../../contract/balancer-api.ts";
import type { Context } from "../../context.ts";
import { linesOf } from "../../doors/lines.ts";
import { openSilence } from "../../doors/silence.ts";
import { nudge } from "../../reconciler.ts";
import { type Plan, type Service, serviceKey } from "../schema.ts";
import type { Leaving, Processes } from "./process.ts";
import type { Reached } from "./reach.ts";

/** Every five seconds there is a report at least. */
const silenceMs = 15_000;
const pauseMs = 500;
/** How long one that another takes the place of may take to finish what is open. */
const replacedDrainMs = 600_000;

/** A balancer that is kept: told what to do, and heard until it is left. */
export class KeptBalancer {
  /** What it last told; undefined before. */
  report: BalancerReport | undefined;
  readonly #ctx: Context;
  readonly #service: Service;
  readonly #reached: Reached;
  readonly #processes: Processes;
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;
  #told: BalancerPlan | undefined;
  /** In whose place it is. */
  #before: readonly Leaving[] = [];

  constructor(ctx: Context, service: Service, reached: Reached, processes: Processes) {
    this.#ctx = ctx;
    this.#service = service;
    this.#reached = reached;
    this.#processes = processes;
    this.#done = this.#listen(this.#abort.signal);
  }

  /** Asks anew who listens: one that leaves still answers on the connections that it has. */
  async isThere(signal: AbortSignal): Promise<boolean> {
    const { socket, health } = this.#reached;
    const found = await this.#processes.reach(this.#service, socket, signal);
    await found?.close();
    return found?.health.pid === health.pid;
  }

  /** The plan that all requests go by, as of `Balancers`. */
  get told(): BalancerPlan | undefined {
    const isShared = this.#before.some((one) => one.process !== undefined && isAlive(one.process));
    return isShared ? undefined : this.#told;
  }

  /** Tells it what to do, unless it knows. */
  async plan(plan: Plan, signal: AbortSignal): Promise<void> {
    const before = this.#told;
    const { health, socket, api: behind } = this.#reached;
    if (before && isDeepStrictEqual({ ...plan, revision: before.revision }, before)) return;
    // Above what another control, before this one, may have told.
    const overtaken = before?.revision ?? health.revision ?? 0;
    const told = { ...plan, revision: Math.max(overtaken + 1, this.#ctx.now().getTime()) };
    await behind.call(api.plan, told, { signal });
    // Only one that listens takes the place of another.
    const others = { drainMs: replacedDrainMs, except: socket };
    if (before === undefined)
      this.#before = await this.#processes.end(this.#ctx, this.#service, others, signal);
    this.#told = told;
  }

  /** Listens to it no more; it goes on. */
  async leave(): Promise<void> {
    this.#abort.abort();
    await this.#done;
    await this.#reached.close();
  }

  /** Listens again whenever the response breaks off. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { id, name } = this.#service;
    while (!signal.aborted) {
      try {
        using silence = openSilence(silenceMs, signal);
        const { body } = await this.#reached.api.open(api.reports, {}, silence.signal);
        for await (const line of linesOf(body)) {
          silence.heard();
          if (line !== "") this.#hear(BalancerReport.parse(JSON.parse(line)));
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#ctx.log.debug({ err: error, service: name }, "balancer not heard");
      }
      void nudge(this.#ctx, "service", id);
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Keeps a report; whoever decides looks at it when it says something new. */
  #hear(report: BalancerReport): void {
    const isNews = !isDeepStrictEqual(newsOf(this.report), newsOf(report));
    this.report = report;
    this.#ctx.changes.notify(serviceKey(this.#service.id));
    if (isNews) void nudge(this.#ctx, "service", this.#service.id);
  }
}

/** What a decision hangs on; loads are looked at from time to time. */
const newsOf = (report: BalancerReport | undefined) =>
  report && {
    revision: report.revision,
    replicas: report.replicas.map(({ id, readiness, problem, open }) => ({
      ...{ id, readiness, problem },
      isIdle: open === 0,
    })),
    isHolding: report.held > 0,
  };
