import { AppError, fail } from "../common/errors.ts";
import { clusterOperations } from "../contract/operations/clusters.ts";
import type { ClusterStatusRecord } from "../contract/records/clusters.ts";
import { isPattern } from "./arguments.ts";
import { Declined } from "./declined.ts";
import { count } from "./rendering.ts";
import type { Client } from "./sdk.ts";
import type { World } from "./world.ts";

export interface SelectionOptions {
  readonly all?: boolean;
  readonly yes?: boolean;
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

/** Throws `ClusterDoesNotExist` naming each plain word that no cluster answers to. */
export function requireAll(names: readonly string[], found: readonly { name: string }[]): void {
  const known = new Set(found.map(({ name }) => name));
  const missing = names.filter((name) => !isPattern(name) && !known.has(name));
  if (missing.length > 0)
    fail("ClusterDoesNotExist", `there is no cluster ${missing.join(", ")}; status lists them`);
}

/** What to say when there is nothing: that the patterns match none, or else that there is none. */
export const sayNone = (words: readonly string[], none: string): string =>
  words.length === 0 ? none : `No cluster matches ${words.join(", ")}.`;

/** What is to be done to clusters, for messages: `stop`. */
export interface Deed {
  readonly verb: string;
  /** Nobody can undo it, so an empty answer is a no. */
  readonly isFinal?: true;
}

/**
 * The clusters to act on, after asking. Throws `Declined` when the answer was no, and
 * `UsageError` when nothing is named, or nobody can be asked about what was not named one by one.
 */
export async function selectClusters(
  world: World,
  { verb, isFinal }: Deed,
  words: readonly string[],
  { all = false, yes = false }: SelectionOptions,
): Promise<ClusterStatusRecord[]> {
  if (words.length === 0 && !all) fail("UsageError", `name the clusters to ${verb}, or say --all`);
  const found = await listClusters(await world.connect(), all ? [] : words);
  requireAll(words, found);
  const names = found.map(({ name }) => name);
  if (names.length === 0) {
    world.terminal.note(sayNone(words, `No cluster to ${verb}.`));
    return [];
  }
  const sweeping = all || words.some(isPattern);
  if (!yes) await agree(world, `${capital(verb)} ${listed(names)}?`, { sweeping, isFinal });
  return found;
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
    fail("UsageError", `${question} Nobody can be asked here; say -y if you mean it`);
  }
}

/** Does one thing to each cluster; goes on after a failure and throws the first one at the end. */
export async function forEach(
  world: World,
  clusters: readonly ClusterStatusRecord[],
  act: (cluster: ClusterStatusRecord) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const isOne = clusters.length === 1;
  for (const cluster of clusters) {
    await act(cluster).catch((error: unknown) => {
      if (isOne || world.signal.aborted || !(error instanceof AppError)) throw error;
      const mark = world.terminal.paintNote("red", "✗");
      world.terminal.note(`${mark} ${cluster.name}: ${error.message}`);
      failures.push(error);
    });
  }
  if (failures.length > 0) throw failures[0];
}

const listed = (names: readonly string[]) =>
  names.length === 1 ? names.join() : `${count(names.length, "cluster")}: ${names.join(", ")}`;

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
