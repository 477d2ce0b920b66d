import { once } from "node:events";
import { connect } from "node:net";
import { addAbortSignal, Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { AuthContext, Connection, ParsedKey, ServerChannel, TcpipRequestInfo } from "ssh2";
import { fail } from "../../../common/errors.ts";
import { sshPorts } from "../../../contract/ssh-door.ts";
import type { Context } from "../../context.ts";
import type { Place } from "./place.ts";
import { leadSession } from "./session.ts";

/** Those within others are counted, too. */
const connectionsAtMost = 256;
const connections = new WeakMap<Context, number>();
const loginMs = 30_000;
const dialMs = 5_000;
const channelsAtMost = 64;

/** Throws `ConflictError` when no more connections may be open. */
export function refuseTooMany(ctx: Context): void {
  if ((connections.get(ctx) ?? 0) >= connectionsAtMost)
    fail("ConflictError", `${connectionsAtMost} SSH connections are open; close one of them`);
}

function count(ctx: Context, way: Duplex): void {
  const add = (change: number) => connections.set(ctx, (connections.get(ctx) ?? 0) + change);
  add(1);
  way.once("close", () => add(-1));
}

/**
 * Speaks SSH over a connection, as if at the node: shells, commands, SFTP where the node has it, and
 * forwarding to ports of the node. Needs no SSH server there.
 */
export async function serveSsh(ctx: Context, place: Place, way: Duplex): Promise<void> {
  count(ctx, way);
  // ssh2 tells of a client only once it has spoken.
  const late = setTimeout(() => way.destroy(), loginMs);
  way.once("close", () => clearTimeout(late));
  const { default: ssh2 } = await import("ssh2");
  const { host, user } = place.keys;
  const known = ssh2.utils.parseKey(user.publicText) as ParsedKey;
  const server = new ssh2.Server({ hostKeys: [host.privateText] }, (client) => {
    client.on("error", (error) => {
      ctx.log.debug({ err: error }, "SSH connection broke");
      // One that does not answer any more would not take a farewell either.
      way.destroy();
    });
    client.on("authentication", (login) => authenticate(login, known));
    client.on("ready", () => {
      clearTimeout(late);
      ctx.log.info({ cluster: place.cluster.name, rank: place.rank }, "SSH login");
      serveChannels(ctx, place, client);
    });
  });
  server.injectSocket(way as never);
}

/** Any user name will do: it is the key that lets in, and everyone is the node's user. */
function authenticate(login: AuthContext, known: ParsedKey): void {
  if (isKnown(login, known)) login.accept();
  else login.reject(["publickey"]);
}

/** A client may first ask whether a key would do, and signs then. */
function isKnown(login: AuthContext, known: ParsedKey): boolean {
  if (login.method !== "publickey") return false;
  if (!known.getPublicSSH().equals(login.key.data)) return false;
  const { signature, blob, hashAlgo } = login;
  if (signature === undefined || blob === undefined) return true;
  return known.verify(blob, signature, hashAlgo) === true;
}

function serveChannels(ctx: Context, place: Place, client: Connection): void {
  const gone = new AbortController();
  client.once("close", () => gone.abort());
  let open = 0;
  const leave = () => {
    open -= 1;
  };
  client.on("session", (accept, reject) => {
    if (open >= channelsAtMost) return reject();
    open += 1;
    const session = accept();
    session.once("close", leave);
    leadSession(ctx, place, session);
  });
  client.on("tcpip", (accept, reject, to) => {
    if (open >= channelsAtMost) return reject();
    open += 1;
    openWay(ctx, place, to, gone.signal).then(
      (lead) => {
        const channel = accept();
        channel.on("error", () => channel.destroy());
        channel.once("close", leave);
        lead(channel);
      },
      (error: unknown) => {
        ctx.log.debug({ err: error, to: to.destPort }, "cannot reach a port of a node");
        leave();
        reject();
      },
    );
  });
}

type Lead = (channel: ServerChannel) => void;

/** To another node of the cluster, as a jump host, or to a port of this one. */
async function openWay(
  ctx: Context,
  place: Place,
  to: TcpipRequestInfo,
  gone: AbortSignal,
): Promise<Lead> {
  const { cluster, rank } = place;
  const jump = to.destPort - sshPorts.first;
  if (jump >= 0 && jump < cluster.nodes) {
    refuseTooMany(ctx);
    return (channel) =>
      void serveSsh(ctx, { ...place, rank: jump }, apart(channel)).catch(() => channel.destroy());
  }
  const provider = ctx.provider(cluster.provider);
  const nodes = await provider.list(cluster, AbortSignal.timeout(dialMs));
  const node = nodes.find((one) => one.rank === rank);
  if (node === undefined) throw new Error("the node is gone");
  if (!loopback.test(to.destIP) && to.destIP !== node.address)
    throw new Error(`${to.destIP} is not the node`);
  const way = await (provider.dial?.(node, to.destIP, to.destPort) ??
    dial(await provider.endpoint(node, to.destPort)));
  addAbortSignal(gone, way).on("error", () => {});
  return (channel) => void pipeline(way, channel, way).catch(() => channel.destroy());
}

async function dial(address: string): Promise<Duplex> {
  const { hostname, port } = new URL(`http://${address}`);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(dialMs) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

const loopback = /^(localhost|127\.[\d.]+|::1)$/;

/**
 * A channel that another SSH connection runs over. Each connection of ssh2 works in buffers that all of
 * them share, so none may begin while the other is at it: what one writes the other sees a turn later.
 */
function apart(channel: Duplex): Duplex {
  let isOver = false;
  const way = new Duplex({
    allowHalfOpen: false,
    read: () => void channel.resume(),
    write: (chunk, _encoding, done) => void setImmediate(() => channel.write(chunk, done)),
    writev: (parts, done) => {
      const chunk = Buffer.concat(parts.map((part) => part.chunk));
      setImmediate(() => channel.write(chunk, done));
    },
    final: (done) => {
      channel.end();
      done();
    },
    destroy: (error, done) => {
      channel.destroy();
      done(error);
    },
  });
  const pass = (chunk: Buffer | null) =>
    setImmediate(() => {
      if (isOver || way.destroyed) return;
      isOver = chunk === null;
      if (!way.push(chunk)) channel.pause();
    });
  channel.on("data", pass);
  for (const end of ["end", "close"]) channel.once(end, () => pass(null));
  channel.on("error", (error) => way.destroy(error));
  return way;
}
