import { AppError, messageOf } from "../../common/errors.ts";

type Duty = (...given: never[]) => Promise<unknown>;

/** The same duties, but each of their errors is one that we meant; `place` is what failed us. */
export function wrapErrors<Duties extends Record<string, Duty>>(
  place: string,
  duties: Duties,
): Duties {
  const own = (error: unknown): never => {
    if (error instanceof AppError || isAbort(error)) throw error;
    const why = messageOf(error);
    throw new AppError("CloudError", `${place} is not available now: ${why}`, {}, error);
  };
  const kept = Object.entries(duties).map(([name, duty]): [string, Duty] => [
    name,
    (...given) => duty(...given).catch(own),
  ]);
  return Object.fromEntries(kept) as Duties;
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === "AbortError";
