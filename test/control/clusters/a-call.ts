import type { Call, Progress } from "../../../control/bind.ts";

/** A call that nothing waits for, for tests of what comes in the middle of one. */
export interface TestCall extends Call {
  /** Why it waited, each time it did. */
  readonly notes: string[];
}

export function aCall(progress: Progress = {}): TestCall {
  const notes: string[] = [];
  const call = {
    id: "a-call",
    user: { id: "u1", name: "ada" },
    clientApi: null,
    command: "",
    signal: new AbortController().signal,
    body: null,
    progress,
    print() {},
    async remember() {},
    aside: <T>(wait: Promise<T>) => wait,
    async note(text: string | null) {
      if (text !== null) notes.push(text);
    },
    notes,
  };
  return call;
}
