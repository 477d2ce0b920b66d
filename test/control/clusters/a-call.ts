import type { Call, Progress } from "../../../control/bind.ts";
import type { Context } from "../../../control/context.ts";
import type { Connection } from "../../../control/db/open.ts";
import { anIdentity } from "../../helpers/callers.ts";

/** A call that nothing waits for, for tests of what comes in the middle of one. */
export interface TestCall extends Call {
  /** Why it waited, each time it did. */
  readonly notes: string[];
}

export function aCall({ batch }: Pick<Context, "batch">, progress: Progress = {}): TestCall {
  const notes: string[] = [];
  const call = {
    ...anIdentity(),
    id: "a-call",
    workspace: "default",
    origin: null,
    program: "outrigger",
    clientApi: null,
    command: "",
    signal: new AbortController().signal,
    body: null,
    progress,
    print() {},
    async remember(_added: Progress, also?: (tx: Connection) => Promise<void>) {
      if (also !== undefined) await batch(also);
    },
    aside: <T>(wait: Promise<T>) => wait,
    async note(text: string | null) {
      if (text !== null) notes.push(text);
    },
    notes,
  };
  return call;
}
