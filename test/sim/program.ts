import { pino } from "pino";
import type { InputOf, Operation } from "../../common/operation.ts";
import type { Bound } from "../../control/bind.ts";
import { clusters } from "../../control/clusters/reconcile.ts";
import { readConfig } from "../../control/config.ts";
import type { Context } from "../../control/context.ts";
import { closeContext, openContext } from "../../control/open.ts";
import { operations } from "../../control/operations.ts";
import type { Provider } from "../../control/providers/provider.ts";
import { startReconciler } from "../../control/reconciler.ts";
import { openRequests, queueOf, submit } from "../../control/requests/run.ts";

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

/** What is heard of a program before it takes calls, and later. */
interface Heard {
  opened(ctx: Context): void;
  /** It logs a bug of its own. */
  failed(line: string): void;
}

/** Makes a home with an empty database. */
export async function makeHome(home: string): Promise<void> {
  const ctx = await openContext(readConfig({ OUTRIGGER_HOME: home }), pino({ level: "silent" }));
  await closeContext(ctx);
}

/** Starts control on a home. */
export async function startProgram(
  home: string,
  provider: Provider,
  { opened, failed }: Heard,
): Promise<Program> {
  const write = (line: string) => JSON.parse(line).level >= levels.error && failed(line);
  const log = pino({ level: "error" }, { write });
  const config = readConfig({ OUTRIGGER_HOME: home });
  const ctx = await openContext(config, log, { providers: [provider] });
  opened(ctx);
  const requests = await openRequests(ctx, operations);
  const reconciling = startReconciler(ctx, clusters);
  requests.start();
  return {
    ctx,
    call: (operation, user, given) => store(ctx, boundOf(operation), user, given),
    async stop() {
      await requests.stop();
      await reconciling.stop();
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
  const caller = { user: { id: user, name: user }, command: "", program: "sim", clientApi: null };
  const id = await submit(ctx, row, input, caller);
  ctx.queues.push(queueOf(row), id);
  return id;
}
