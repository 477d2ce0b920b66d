import { AppError } from "../../common/errors.ts";

/** A signal that aborts with another one, or when no data was received for too long. */
export interface Silence extends Disposable {
  readonly signal: AbortSignal;
  /** Something was heard: the time starts again. */
  heard(): void;
}

/** Why a connection is given up that was quiet for so long. */
export const tooQuiet = (limitMs: number): AppError =>
  new AppError("UnreachableError", `no data was received for ${limitMs / 1000} s`);

/** Listens from now on; the reason of the signal is an `UnreachableError` once it was too quiet. */
export function openSilence(limitMs: number, signal: AbortSignal): Silence {
  const quiet = new AbortController();
  const abort = () => quiet.abort(tooQuiet(limitMs));
  let timer = setTimeout(abort, limitMs);
  return {
    signal: AbortSignal.any([signal, quiet.signal]),
    heard() {
      clearTimeout(timer);
      timer = setTimeout(abort, limitMs);
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
