import type { ChildProcess } from "node:child_process";
import { type ErrorType, fail, toAppError } from "../../common/errors.ts";
import type { Forwarder } from "../forwarder.ts";

/** What the primary process asks of a worker. */
export type Calls = Omit<Forwarder, "isServing">;

interface Call {
  readonly id: number;
  readonly name: keyof Calls;
  readonly args: readonly unknown[];
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly type: ErrorType; readonly message: string };
}

/** Calls one function in a worker; throws what it threw, or that there was no answer in time. */
export type CallWorker = <Name extends keyof Calls>(
  name: Name,
  args: Parameters<Calls[Name]>,
  withinMs: number,
) => ReturnType<Calls[Name]>;

/** Calls what a child process answers with `answerCalls`, in the order of the calls. */
export function callsTo(child: ChildProcess): CallWorker {
  const waiting = new Map<number, (reply: Reply) => void>();
  let calls = 0;
  child.on("message", (reply: Reply) => waiting.get(reply.id)?.(reply));
  child.once("disconnect", () => {
    for (const [id, settle] of waiting) settle(failure(id, "the worker ended"));
  });
  async function call(name: keyof Calls, args: readonly unknown[], withinMs: number) {
    const id = calls++;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    waiting.set(id, resolve);
    const timer = setTimeout(() => resolve(failure(id, "the worker did not answer")), withinMs);
    const sent: Call = { id, name, args };
    if (child.connected) child.send(sent, (error) => error && resolve(failure(id, error.message)));
    else resolve(failure(id, "the worker ended"));
    const { error, value } = await promise;
    clearTimeout(timer);
    waiting.delete(id);
    if (error !== undefined) fail(error.type, error.message);
    return value;
  }
  return call as CallWorker;
}

const failure = (id: number, message: string): Reply => ({
  id,
  error: { type: "InternalError", message },
});

/** Has the parent process call these functions. */
export function answerCalls(functions: Calls): void {
  process.on("message", async (call: Call) => {
    const reply = await answerTo(functions, call);
    // Nobody waits for it when the parent is gone.
    if (process.connected) process.send?.(reply, () => {});
  });
}

async function answerTo(functions: Calls, { id, name, args }: Call): Promise<Reply> {
  const called = functions[name] as (...args: readonly unknown[]) => Promise<unknown>;
  try {
    return { id, value: await called(...args) };
  } catch (thrown) {
    const { type, message } = toAppError(thrown);
    return { id, error: { type, message } };
  }
}
