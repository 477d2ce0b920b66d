import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Client } from "ssh2";
import { AppError } from "../../../common/errors.ts";
import { openTurns } from "../../../common/turns.ts";
import { dial, logIn } from "./connection.ts";
import type { KnownHosts } from "./host-keys.ts";
import { machineOf, nameOf, type SshTarget } from "./target.ts";
import { codes, isTurnedAway, persist, sshTrouble, within } from "./trouble.ts";

/** Begins a channel on a connection; the callback has it, or why there is none. */
export type Opening<Channel extends Duplex> = (
  client: Client,
  done: (error: Error | undefined, channel: Channel) => void,
) => unknown;

/** Connections to machines: one a login, whatever goes over it. */
export interface SshConnections {
  /** A new channel to a machine; the connection is opened when there is none, within ten seconds. */
  channel<Channel extends Duplex>(
    target: SshTarget,
    open: Opening<Channel>,
    signal?: AbortSignal,
  ): Promise<Channel>;
  /** Closes the connection to a machine, with everything that goes over it. */
  drop(target: SshTarget): void;
  /** Closes the connection to a machine as soon as nothing goes over it. */
  retire(target: SshTarget): void;
  close(): void;
}

/** A connection that nothing goes over is closed after so long. */
const idleMs = 60_000;
const channelMs = 5_000;
/** More at once would starve one another of the processor, and servers turn many at once away. */
const loginsAtOnce = 64;

interface Link {
  readonly client: Promise<Client>;
  /** Those that are being opened count, too. */
  channels: number;
  idle: NodeJS.Timeout | undefined;
  /** How long it stays open while nothing goes over it. */
  idleMs: number;
  /** Has whoever comes next open another. */
  forget(): void;
}

/** Opens no connection yet. */
export function openSshConnections(knownHosts: KnownHosts): SshConnections {
  const links = new Map<string, Link>();
  const inTurn = openTurns(loginsAtOnce);

  /** A busy server drops connections before they begin; those are tried again, not all at once. */
  const connect = (target: SshTarget) => persist(isTurnedAway, () => connectOnce(target));

  async function connectOnce(target: SshTarget): Promise<Client> {
    const { address, port, jump } = target;
    if (jump === null) return inTurn(async () => logIn(target, await dial(target), knownHosts));
    const way = await channel(jump, (client, done) =>
      client.forwardOut("127.0.0.1", 0, address, port, done as never),
    );
    return logIn(target, way, knownHosts);
  }

  function linkTo(target: SshTarget): Link {
    const key = keyOf(target);
    const known = links.get(key);
    if (known !== undefined) return known;
    const link: Link = { client: connect(target), channels: 0, idle: undefined, idleMs, forget };
    links.set(key, link);
    function forget() {
      clearTimeout(link.idle);
      if (links.get(key) === link) links.delete(key);
    }
    link.client.then((client) => client.once("close", forget), forget);
    return link;
  }

  async function channel<Channel extends Duplex>(
    target: SshTarget,
    open: Opening<Channel>,
    signal?: AbortSignal,
  ): Promise<Channel> {
    const link = linkTo(target);
    // From now on: a connection that is still being opened must not be closed before it is used.
    hold(link);
    link.client.catch(() => release(link));
    const opened = link.client.then((client) => openOn(client, target, open, link));
    return within(opened, limitMs, () => late(target), signal).catch((error) => {
      destroyOnceOpen(opened);
      throw signal?.aborted ? error : sshTrouble(target, error);
    });
  }

  return {
    channel,
    drop(target) {
      const link = links.get(keyOf(target));
      links.delete(keyOf(target));
      void link?.client.then((client) => client.destroy()).catch(() => {});
    },
    retire(target) {
      const link = links.get(keyOf(target));
      if (link === undefined) return;
      link.idleMs = 0;
      if (link.channels === 0) closeLater(link);
    },
    close() {
      const all = [...links.values()];
      links.clear();
      for (const { idle } of all) clearTimeout(idle);
      // One that is still being opened is not waited for.
      for (const { client } of all) client.then((opened) => opened.destroy()).catch(() => {});
    },
  };
}

/** How long a host has to end its side of a connection. */
const endMs = 3_000;

/** Each step has a limit of its own; a way through another machine has twice as many. */
const limitMs = 30_000;

/** Nobody uses a connection that was opened with what others know. */
function keyOf(target: SshTarget): string {
  const { user, keys, password, agentSocket, hostKey, jump } = target;
  const secrets = [...keys.map(({ text }) => text.reveal()), password?.reveal() ?? null];
  const login = JSON.stringify([user, secrets, agentSocket, hostKey, jump && keyOf(jump)]);
  return `${machineOf(target)} ${createHash("sha256").update(login).digest("base64")}`;
}

const late = (target: SshTarget): AppError =>
  new AppError("TimeoutError", `host ${nameOf(target)}: it opened no channel`);

function openOn<Channel extends Duplex>(
  client: Client,
  target: SshTarget,
  open: Opening<Channel>,
  link: Link,
): Promise<Channel> {
  const { promise, resolve, reject } = Promise.withResolvers<Channel>();
  promise.catch(() => release(link));
  const closed = () => reject(Object.assign(new Error("it was lost"), { code: codes.lost }));
  client.once("close", closed);
  try {
    open(client, (error, channel) => {
      if (error) return reject(error);
      channel.once("close", () => release(link));
      resolve(channel);
    });
  } catch (error) {
    reject(error);
  }
  return within(promise, channelMs, () => late(target))
    .catch((error) => {
      destroyOnceOpen(promise);
      throw error;
    })
    .finally(() => client.off("close", closed));
}

/** Whoever does not wait any more must not leave an open channel behind. */
const destroyOnceOpen = (opened: Promise<Duplex>): void =>
  void opened.then((late) => late.destroy()).catch(() => {});

function hold(link: Link): void {
  link.channels += 1;
  clearTimeout(link.idle);
}

function release(link: Link): void {
  link.channels -= 1;
  if (link.channels === 0) closeLater(link);
}

function closeLater(link: Link): void {
  clearTimeout(link.idle);
  link.idle = setTimeout(() => {
    link.forget();
    link.client.then(end).catch(() => {});
  }, link.idleMs);
  link.idle.unref();
}

/** Ends a connection in order, and at once where the host does not end its side. */
function end(client: Client): void {
  client.end();
  // Once it has ended its own side, `destroy` of the library does nothing.
  const { _sock: way } = client as unknown as { _sock?: Duplex };
  const limit = setTimeout(() => way?.destroy(), endMs).unref();
  client.once("close", () => clearTimeout(limit));
}
