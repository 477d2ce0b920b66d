import { fail } from "../common/errors.ts";
import type { Restoration } from "../contract/restoration.ts";
import { readConfig } from "./config.ts";
import { copyNow, copySubcommand } from "./db/copies.ts";
import { restore } from "./db/restore.ts";
import { databaseOf } from "./home.ts";
import { lockHome } from "./lock.ts";

type Env = Parameters<typeof readConfig>[0];

/** What control does instead of serving, by the first word of its command line. */
const subcommands: Readonly<Record<string, (words: readonly string[], env: Env) => Promise<void>>> =
  {
    [copySubcommand]: async ([file = "", to = ""]) => copyNow(file, to),
    restore: async ([name], env) => restoreDatabase(readConfig(env).home, name),
  };

/** Runs what the command line asks for. Throws `UsageError` for an unknown word. */
export async function runSubcommand(
  word: string,
  words: readonly string[],
  env: Env,
): Promise<void> {
  const subcommand = Object.hasOwn(subcommands, word) ? subcommands[word] : undefined;
  if (subcommand === undefined) fail("UsageError", `control takes no argument ${word}`);
  await subcommand(words, env);
}

/** Restores the database, and prints what it did as JSON for the command line to show. */
async function restoreDatabase(home: string, name: string | undefined): Promise<void> {
  const lock = lockHome(home);
  try {
    const file = databaseOf(home);
    const { copy, aside } = await restore(file, name, new Date());
    const restored: Restoration = {
      ...{ database: file, copy: copy.name, copied_at: copy.at.toISOString() },
      previous_database: aside,
    };
    console.log(JSON.stringify(restored));
  } finally {
    lock.release();
  }
}
