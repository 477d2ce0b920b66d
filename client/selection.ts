import { matchesGlob } from "node:path";
import { count } from "../common/count.ts";
import { type ErrorType, fail } from "../common/errors.ts";
import { clusterOperations } from "../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../contract/records/clusters.ts";
import { hintOf, listedBy } from "../contract/spelling.ts";
import { isPattern } from "./arguments.ts";
import { Declined } from "./declined.ts";
import type { Client } from "./sdk.ts";
import type { World } from "./world.ts";

export interface SelectionOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
  /** Names and patterns that nothing answers to are no error. */
  readonly ignoreNotFound?: boolean;
}

/** The clusters that the words name; all of the caller's when there are no words. */
export function listClusters(
  client: Client,
  names: readonly string[],
  allUsers = false,
): Promise<ClusterStatusRecord[]> {
  return client.callAndGet(clusterOperations.status, {
    cluster_names: names.length > 0 ? [...names] : null,
    all_users: allUsers || names.length > 0,
    include_credentials: false,
    include_handle: false,
    summary_response: true,
  });
}

/** A sort of things that command lines name. */
export interface Kind<Row extends Named> {
  readonly noun: string;
  /** The error for one that there is not. */
  readonly missing: ErrorType;
  /** The command that lists them. */
  readonly lister: string;
  /** Those that the words name; all of the caller's when there are no words. */
  readonly list: (client: Client, names: readonly string[]) => Promise<Row[]>;
}

interface Named {
  readonly name: string;
}

/** A sort of things that control lists as a whole. */
export const kindOf = <Row extends Named>(
  noun: string,
  lister: string,
  listAll: (client: Client) => Promise<readonly Row[]>,
  missing: ErrorType = "NotFoundError",
): Kind<Row> => ({
  ...{ noun, lister, missing },
  list: async (client, names) => namedBy(names, await listAll(client)),
});

const clusters: Kind<ClusterStatusRecord> = {
  noun: "cluster",
  missing: "ClusterDoesNotExist",
  lister: "status",
  list: listClusters,
};

/** Those that the words name, as they are or as patterns; all when there are no words. */
export const namedBy = <Row extends Named>(words: readonly string[], rows: readonly Row[]): Row[] =>
  rows.filter(
    ({ name }) =>
      words.length === 0 || words.some((word) => word === name || matchesGlob(name, word)),
  );

/** Throws the kind's own error naming each plain word that none answers to, and what is spelled so. */
export async function requireAll(
  { connect }: Pick<World, "connect">,
  names: readonly string[],
  found: readonly Named[],
  { noun, missing: type, lister, list }: Kind<Named> = clusters,
): Promise<void> {
  const met = new Set(found.map(({ name }) => name));
  const missing = names.filter((name) => !isPattern(name) && !met.has(name));
  const [first] = missing;
  if (first === undefined) return;
  const known = (await list(await connect(), [])).map(({ name }) => name);
  const hint = hintOf(first, known, listedBy(lister));
  fail(type, `there is no ${noun} ${missing.join(", ")}; ${hint}`);
}

/** What to say when there is nothing: that the patterns match none, or else that there is none. */
export const sayNone = (words: readonly string[], none: string, noun = "cluster"): string =>
  words.length === 0 ? none : `No ${noun} matches ${words.join(", ")}.`;

/** What is to be done, for messages: `stop`. */
export interface Purpose<Row> {
  readonly verb: string;
  /** Nobody can undo it, so an empty answer is a no. */
  readonly isFinal?: true;
  /** What whoever is asked should know; nothing where all is as usual. */
  readonly warning?: (row: Row) => string | undefined | Promise<string | undefined>;
}

/** The clusters to act on, after asking; throws as `select` does. */
export const selectClusters = (
  world: World,
  purpose: Purpose<ClusterStatusRecord>,
  words: readonly string[],
  options: SelectionOptions,
): Promise<ClusterStatusRecord[]> => select(world, clusters, purpose, words, options);

/**
 * Those of a kind to act on, after asking. Throws `Declined` when the answer was no, and
 * `UsageError` when nothing is named, or nobody can be asked about what was not named one by one.
 */
export async function select<Row extends Named>(
  world: World,
  kind: Kind<Row>,
  { verb, isFinal, warning = () => undefined }: Purpose<Row>,
  words: readonly string[],
  { all = false, yes = false, ignoreNotFound = false }: SelectionOptions,
): Promise<Row[]> {
  const { noun, missing } = kind;
  if (words.length === 0 && !all) fail("UsageError", `name the ${noun}s to ${verb}, or say --all`);
  const unordered = await kind.list(await world.connect(), all ? [] : words);
  if (!ignoreNotFound) await requireAll(world, words, unordered, kind);
  const found = all ? unordered : inOrderOf(words, unordered);
  const names = found.map(({ name }) => name);
  if (names.length === 0 && !all && !ignoreNotFound)
    fail(missing, `no ${noun} matches ${words.join(", ")}`);
  if (names.length === 0) {
    world.terminal.note(`No ${noun} to ${verb}.`);
    return [];
  }
  const sweeping = all || words.some(isPattern);
  if (yes) return found;
  if (world.terminal.canAsk)
    for (const text of await Promise.all(found.map(warning)))
      if (text !== undefined) world.terminal.note(text);
  await agree(world, `${capital(verb)} ${listed(names, noun)}?`, { sweeping, isFinal });
  return found;
}

/** The rows in the order of the words that name them; those of a pattern stand where it does. */
function inOrderOf<Row extends Named>(words: readonly string[], rows: readonly Row[]): Row[] {
  const placeOf = ({ name }: Named) => words.findIndex((word) => matchesGlob(name, word));
  return namedBy(words, rows).toSorted((a, b) => placeOf(a) - placeOf(b));
}

/**
 * Asks on a terminal; throws `Declined` when the answer was no. Elsewhere it is a yes, unless that
 * would be `sweeping`: `UsageError` then. What sweeps or is final is not done for an empty answer.
 */
export async function agree(
  { terminal, signal }: World,
  question: string,
  { sweeping = false, isFinal = false }: { sweeping?: boolean; isFinal?: boolean | undefined } = {},
): Promise<void> {
  if (terminal.canAsk) {
    const said = await terminal.confirm(question, {
      usual: sweeping || isFinal ? "no" : "yes",
      signal,
    });
    if (said !== "yes") throw new Declined(said);
  } else if (sweeping) {
    fail("UsageError", `${question} There is no terminal to ask on; pass -y to confirm`);
  }
}

const listed = (names: readonly string[], noun: string) =>
  names.length === 1 ? names.join() : `${count(names.length, noun)}: ${names.join(", ")}`;

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
