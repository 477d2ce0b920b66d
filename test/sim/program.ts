import { pino } from "pino";
import type { InputOf, Operation } from "../../common/operation.ts";
import type { Bound } from "../../control/bind.ts";
import { lateNodes } from "../../control/clusters/late-nodes.ts";
import { clusters } from "../../control/clusters/reconcile.ts";
import { readConfig } from "../../control/config.ts";
import type { Context } from "../../control/context.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { operations } from "../../control/operations.ts";
import type { Provider } from "../../control/providers/provider.ts";
import { startReconciler } from "../../control/reconciler.ts";
import { openRequests, queueOf, submit } from "../../control/requests/run.ts";
import { openBalancers } from "../../control/services/balancing/balancers.ts";
import type { Processes } from "../../control/services/balancing/process.ts";
import { services } from "../../control/services/reconcile.ts";
import { replicas } from "../../control/services/replicas/reconcile.ts";
import { aCaller } from "../helpers/callers.ts";

/** A control plane in this process, as `control/main.ts` starts it; calls come without HTTP. */
export interface Program {
  readonly ctx: Context;
  /** Stores a request and has its queue work on it; resolves with its id. */
  call(operation: string, user: string, input: Record<string, unknown>): Promise<string>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

/** As pino numbers levels. */
const levels = { error: 50 };

/** That there is no room, or that another one has taken over, is said loudly, and is no bug. */
const isBug = ({ level, err }: { level: number; err?: { stack?: string } }): boolean =>
  level >= levels.error && !/^(DiskFullError|LeaseLostError)/.test(err?.stack ?? "");

/** What is heard of a program before it takes calls, and later. */
interface Heard {
  opened(ctx: Context): void;
  /** It logs a bug of its own. */
  failed(line: string): void;
}

/** What is there beside control, and outlives it. */
export interface Outside {
  readonly provider: Provider;
  /** The processes of balancers. */
  readonly processes: Processes;
}

/** Makes a home with an empty database. */
export async function makeHome(home: string): Promise<void> {
  const ctx = await openContext(readConfig({ OUTRIGGER_HOME: home }), pino({ level: "silent" }));
  await closeContext(ctx);
}

/** Starts control on a home. */
export async function startProgram(
  home: string,
  { provider, processes }: Outside,
  { opened, failed }: Heard,
): Promise<Program> {
  const write = (line: string) => isBug(JSON.parse(line)) && failed(line);
  const log = pino({ level: "error" }, { write });
  const config = readConfig({ OUTRIGGER_HOME: home });
  const balancers = openBalancers(() => ctx, undefined, processes);
  const ctx: Context = await openContext(config, log, { providers: [provider], balancers });
  opened(ctx);
  const requests = await openRequests(ctx, operations);
  const reconciling = [clusters, lateNodes, services, replicas].map((noun) =>
    startReconciler(ctx, noun),
  );
  requests.start();
  return {
    ctx,
    call: (operation, user, given) => store(ctx, boundOf(operation), user, given),
    async stop() {
      await requests.stop();
      await Promise.all(reconciling.map((noun) => noun.stop()));
      await closeContext(ctx);
    },
  };
}

function boundOf(name: string): Bound {
  const bound = operations.find(({ row }) => row.name === name);
  if (bound === undefined) throw new Error(`there is no operation ${name}`);
  return bound;
}

async function store(ctx: Context, { row, check }: Bound, user: string, given: object) {
  const input = row.input.body?.parse(given) as InputOf<Operation>;
  check?.(input as never);
  const caller = { ...aCaller({ user: { id: user, name: user } }), program: "sim" };
  const id = await submit(ctx, row, input, caller);
  ctx.queues.push(queueOf(row), id);
  return id;
}
