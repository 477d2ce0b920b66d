import { availableParallelism } from "node:os";
import { fail } from "../common/errors.ts";

export type Address = { readonly host: string; readonly port: number };

/** One setting: how its text is read, what holds without it, and what its help says. */
export interface Setting<T> {
  /** What stands for the value in the help; none for a switch. */
  readonly word: string | undefined;
  readonly isList: boolean;
  readonly fallback: T;
  readonly means: string;
  /** The value of the texts given; fails with what they should be. */
  read(texts: readonly string[]): T;
}

const last = (texts: readonly string[]): string => texts.at(-1) ?? "";

/** A value that is given once; `check` fails, or turns the text into it. */
function single<T>(
  word: string,
  fallback: T,
  means: string,
  check: (text: string) => T,
): Setting<T> {
  return { word, fallback, means, isList: false, read: (texts) => check(last(texts)) };
}

/** What may be given several times. */
export const list = (word: string, means: string): Setting<readonly string[]> => ({
  word,
  means,
  fallback: [],
  isList: true,
  read: (texts) => texts,
});

/** What is on or off; as a flag it is on by being there. */
export const toggle = (means: string): Setting<boolean> => ({
  word: undefined,
  means,
  fallback: false,
  isList: false,
  read(texts) {
    const text = last(texts);
    if (text !== "true" && text !== "false") fail("ConfigError", "must be true or false");
    return text === "true";
  },
});

export const text = (word: string, fallback: string, means: string): Setting<string> =>
  single(word, fallback, means, (given) => given);

export const choice = <const Name extends string>(
  names: readonly Name[],
  fallback: NoInfer<Name>,
  means: string,
): Setting<Name> =>
  single(names.join("|"), fallback, means, (given) => {
    const name = names.find((one) => one === given);
    return name ?? fail("ConfigError", `must be one of ${names.join(", ")}`);
  });

export const count = (fallback: number, means: string): Setting<number> =>
  single("N", fallback, means, (given) =>
    /^[1-9]\d{0,8}$/.test(given) ? Number(given) : fail("ConfigError", "must be a number above 0"),
  );

const coresAtMost = 256;

export const cores = (fallback: number, means: string): Setting<number> =>
  single("N|auto", fallback, means, (given) => {
    if (given === "auto") return Math.min(availableParallelism(), coresAtMost);
    return /^[1-9]\d{0,2}$/.test(given) && Number(given) <= coresAtMost
      ? Number(given)
      : fail("ConfigError", `must be a number from 1 to ${coresAtMost}, or auto`);
  });

export const port = (means: string): Setting<number | undefined> =>
  single<number | undefined>("PORT", undefined, means, (given) =>
    /^[1-9]\d{0,4}$/.test(given) && Number(given) <= 65_535
      ? Number(given)
      : fail("ConfigError", "must be a port from 1 to 65535"),
  );

export const seconds = (fallback: number, means: string): Setting<number> =>
  single("SECONDS", fallback, means, (given) =>
    /^\d{1,6}(\.\d+)?$/.test(given) && Number(given) > 0
      ? Number(given)
      : fail("ConfigError", "must be seconds above 0"),
  );

export const address = <Fallback extends Address | undefined>(
  fallback: Fallback,
  means: string,
): Setting<Address | Fallback> =>
  single<Address | Fallback>("HOST:PORT", fallback, means, (given) => {
    const { host, port } = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/.exec(given)?.groups ?? {};
    if (host === undefined || Number(port) > 65_535) fail("ConfigError", "must be HOST:PORT");
    return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
  });
