import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../common/errors.ts";
import type { Answer, Question } from "./transport.ts";

type Send = (question: Question) => Promise<Answer>;

/** A control plane that wants more patience than this is not waited for. */
const longestSeconds = 60;
const waitsAtMost = 5;

/** Sends again what came too often, after the time that the control plane says; `tell` hears of each wait. */
export const patient =
  (send: Send, tell: (seconds: number) => void): Send =>
  async (question) => {
    for (let waits = 0; ; waits += 1)
      try {
        return await send(question);
      } catch (error) {
        const seconds = secondsIn(error);
        if (seconds === undefined || seconds > longestSeconds || waits === waitsAtMost) throw error;
        tell(seconds);
        await sleep(seconds * 1_000, undefined, { signal: question.signal });
      }
  };

/** How long to wait because of an error; undefined where that would not help. */
function secondsIn(error: unknown): number | undefined {
  if (!(error instanceof AppError) || error.type !== "RateLimitError") return undefined;
  const { retry_after: seconds } = error.details;
  return typeof seconds === "number" ? seconds : undefined;
}
