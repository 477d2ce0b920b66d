import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../../common/errors.ts";
import { type FilesOffered, fileOperations } from "../../../contract/files-api.ts";
import type { Context } from "../../context.ts";
import { nudge } from "../../reconciler.ts";
import type { Cluster } from "../schema.ts";
import { findCluster } from "../store.ts";
import type { Cargo, FileCargo, Load } from "./parcels.ts";
import { bringContents, type Receiver } from "./send.ts";
import { describeDone, describeOffer } from "./text.ts";

/** How long an agent may be away; one that crashed is started again within that. */
const patienceMs = 60_000;
const pauseMs = 200;
/** Comparing a manifest may mean reading every file. */
const offerMs = 15 * 60_000;
const mostRounds = 5;

/** Who gets files, and who hears of it. */
interface Addressees {
  readonly ranks: readonly number[];
  /** Waits for agents that are away; it is for others to bring them back. */
  readonly isPatient?: boolean;
  /** Takes a line for people. */
  tell(line: string): void;
}

/** One node on its way to have its files. */
interface Delivery {
  readonly ctx: Context;
  readonly cluster: Cluster;
  readonly rank: number;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
  /** Something moved. */
  readonly heard: () => void;
}

/**
 * Has files on nodes of a cluster, side by side; only contents that a node lacks are sent. Says what
 * changed. Goes on where it was after control or an agent was away.
 */
export async function deliverFiles(
  ctx: Context,
  cluster: Cluster,
  cargoes: readonly Cargo[],
  { ranks, isPatient = false, tell }: Addressees,
  until: AbortSignal,
): Promise<void> {
  if (cargoes.length === 0) return;
  const failed = new AbortController();
  const signal = AbortSignal.any([until, failed.signal]);
  for (const cargo of cargoes) {
    const deliveries = ranks.map((rank) => {
      const node = { ctx, cluster, rank, tell, signal };
      const work = (heard: () => void) => deliver({ ...node, heard }, cargo);
      return isPatient ? persistently(node, work) : work(() => {});
    });
    const done = await Promise.all(deliveries).catch(async (error: unknown) => {
      failed.abort(error);
      await Promise.allSettled(deliveries);
      throw error;
    });
    describeDone(cargo.parcel.name, done, { ranks, nodes: cluster.nodes }).forEach(tell);
  }
}

/** Attaches a cargo, or offers its files until nothing is missing; says what there was to do. */
async function deliver(delivery: Delivery, cargo: Cargo): Promise<string> {
  const { parcel } = cargo;
  const agent = delivery.ctx.agent(delivery.cluster, delivery.rank);
  if ("attach" in cargo) return cargo.attach(agent, delivery.signal, delivery);
  const receiver = { ...delivery, agent, name: parcel.name };
  const again = await offerAgain(receiver, cargo);
  if (again?.missing.length === 0) return describeOffer(again);
  const load = await cargo.open(agent, delivery.signal);
  let first: FilesOffered | undefined;
  for (let round = 1; round <= mostRounds; round += 1) {
    const offered = await offer(receiver, cargo, load);
    delivery.heard();
    first ??= offered;
    if (offered.missing.length === 0) return describeOffer(first);
    await bringContents(receiver, load, offered.missing);
  }
  return fail(
    "RuntimeError",
    `node ${delivery.rank} is missing files that were sent to it; try again`,
  );
}

/** Offers what the node was brought last, without saying what that is; undefined when it was something else. */
async function offerAgain(
  { agent, signal }: Receiver,
  { parcel: { destination }, digest }: FileCargo,
): Promise<FilesOffered | undefined> {
  if (digest === undefined) return undefined;
  const order = { destination, manifest: digest };
  const options = { signal, timeoutMs: offerMs };
  return agent.call(fileOperations.offerAgain, order, options).catch((error: unknown) => {
    if (error instanceof AppError && error.type === "NotFoundError") return undefined;
    throw error;
  });
}

function offer(
  { agent, signal }: Receiver,
  { parcel: { destination }, digest }: FileCargo,
  { entries }: Load,
) {
  const lines = Iterator.from(entries).map((entry) => Buffer.from(`${JSON.stringify(entry)}\n`));
  const bytes = Readable.from(inBlocks(lines), { objectMode: false });
  const options = { signal, timeoutMs: offerMs, bytes };
  return agent.call(fileOperations.offerFiles, { destination, manifest: digest }, options);
}

const blockBytes = 64 * 1024;

/** Many short lines cost more than few long ones. */
function* inBlocks(lines: Iterable<Buffer>): Generator<Buffer> {
  let block: Buffer[] = [];
  let size = 0;
  for (const line of lines) {
    block.push(line);
    size += line.length;
    if (size < blockBytes) continue;
    yield Buffer.concat(block);
    block = [];
    size = 0;
  }
  yield Buffer.concat(block);
}

/** Works again while an agent is away for a moment, as long as the cluster is wanted. */
async function persistently<T>(
  { ctx, cluster, signal }: Omit<Delivery, "heard">,
  work: (heard: () => void) => Promise<T>,
): Promise<T> {
  let heardAt = performance.now();
  const heard = () => {
    heardAt = performance.now();
  };
  for (;;) {
    try {
      return await work(heard);
    } catch (error) {
      const isAway = error instanceof AppError && error.type === "UnreachableError";
      if (!isAway || signal.aborted || performance.now() - heardAt > patienceMs) throw error;
      if ((await findCluster(ctx.db, cluster.id))?.wanted !== "UP") throw error;
    }
    void nudge(ctx, "cluster", cluster.id);
    await sleep(pauseMs, undefined, { signal });
  }
}
