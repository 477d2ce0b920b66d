import { performance } from "node:perf_hooks";
import type { ModelClient } from "./model-client.ts";

/** What came of the requests of a load. */
export interface Answers {
  /** What was wrong with those that failed. */
  readonly failed: string[];
  /** In the order of their ends. */
  readonly answered: Answered[];
}

export interface Answered {
  readonly model: string;
  readonly beganMs: number;
  /** When all of it was there. */
  readonly endedMs: number;
}

/** Requests that come whatever the answers are. */
export interface Load extends Answers {
  /** Sends no more, and waits for what is under way. */
  stop(): Promise<Answers>;
}

type Ask = (client: ModelClient) => Promise<string>;

const list: Ask = async (client) => (await client.who()).model;

/** What a load may consist of. What is only listed may be asked again when its server dies. */
export const kinds = {
  listed: [list],
  mixed: [list, (client) => client.complete(true), (client) => client.complete(false)],
} satisfies Record<string, Ask[]>;

/** Begins to ask so many times a second, in turns of the kind. */
export function startLoad(client: ModelClient, perSecond: number, of: keyof typeof kinds): Load {
  const failed: string[] = [];
  const answered: Answered[] = [];
  const open = new Set<Promise<void>>();
  const since = performance.now();
  const asks: readonly Ask[] = kinds[of];
  let sent = 0;

  async function one(ask: Ask): Promise<void> {
    const beganMs = performance.now() - since;
    try {
      const model = await ask(client);
      answered.push({ model, beganMs, endedMs: performance.now() - since });
    } catch (error) {
      failed.push(`${Math.round(beganMs)} ms: ${error}`);
    }
  }

  function send(): void {
    for (const due = ((performance.now() - since) * perSecond) / 1_000; sent < due; sent += 1) {
      const asked = one(asks[sent % asks.length] ?? list).finally(() => open.delete(asked));
      open.add(asked);
    }
  }

  const timer = setInterval(send, 1_000 / perSecond);
  return {
    failed,
    answered,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      return { failed, answered };
    },
  };
}
