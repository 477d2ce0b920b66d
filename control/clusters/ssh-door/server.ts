import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { AuthContext, Connection, ParsedKey, ServerChannel, TcpipRequestInfo } from "ssh2";
import { sshPorts } from "../../../contract/ssh-door.ts";
import type { Context } from "../../context.ts";
import type { Cluster } from "../schema.ts";
import { apart } from "./apart.ts";
import { readKeys } from "./keys.ts";
import { leadSession } from "./session.ts";

/** Where somebody wants to get: a node of a cluster. */
export interface Place {
  readonly cluster: Cluster;
  readonly rank: number;
}

const loginMs = 30_000;
const dialMs = 5_000;
const channelsAtMost = 64;

/**
 * Speaks SSH over a connection, as if at the node: shells, commands, SFTP where the node has it, and
 * forwarding to ports of the node. Needs no SSH server there.
 */
export async function serveSsh(ctx: Context, place: Place, way: Duplex): Promise<void> {
  const { default: ssh2 } = await import("ssh2");
  const { host, user } = await readKeys(ctx.config);
  const known = ssh2.utils.parseKey(user.publicText) as ParsedKey;
  const server = new ssh2.Server({ hostKeys: [host.privateText] }, (client) => {
    const late = setTimeout(() => way.destroy(), loginMs);
    client.on("error", (error) => ctx.log.debug({ err: error }, "SSH connection broke"));
    client.on("close", () => clearTimeout(late));
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
  let open = 0;
  const counted = (channel: Duplex) => {
    open += 1;
    channel.once("close", () => {
      open -= 1;
    });
  };
  client.on("session", (accept, reject) => {
    if (open >= channelsAtMost) reject();
    else leadSession(ctx, place, accept(), counted);
  });
  client.on("tcpip", (accept, reject, to) => {
    if (open >= channelsAtMost) reject();
    else
      openWay(ctx, place, to).then(
        (lead) => {
          const channel = accept();
          channel.on("error", () => channel.destroy());
          counted(channel);
          lead(channel);
        },
        (error: unknown) => {
          ctx.log.debug({ err: error, to: to.destPort }, "no way to a port of a node");
          reject();
        },
      );
  });
}

type Lead = (channel: ServerChannel) => void;

/** To another node of the cluster, as a jump host, or to a port of this one. */
async function openWay(ctx: Context, place: Place, to: TcpipRequestInfo): Promise<Lead> {
  const { cluster, rank } = place;
  const jump = to.destPort - sshPorts.first;
  if (jump >= 0 && jump < cluster.nodes)
    return (channel) => void serveSsh(ctx, { cluster, rank: jump }, apart(channel));
  const provider = ctx.provider(cluster.provider);
  const nodes = await provider.list(cluster, AbortSignal.timeout(dialMs));
  const node = nodes.find((one) => one.rank === rank);
  if (node === undefined) throw new Error("the node is gone");
  if (!loopback.test(to.destIP) && to.destIP !== node.address)
    throw new Error(`${to.destIP} is not the node`);
  const { hostname, port } = new URL(`http://${await provider.endpoint(node, to.destPort)}`);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) });
  await once(socket, "connect", { signal: AbortSignal.timeout(dialMs) });
  return (channel) => void pipeline(socket, channel, socket).catch(() => channel.destroy());
}

const loopback = /^(localhost|127\.[\d.]+|::1)$/;
