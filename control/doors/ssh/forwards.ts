import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AppError, fail } from "../../../common/errors.ts";
import { within } from "./trouble.ts";

/** Listeners on this machine's loopback that lead to ports of nodes. */
export interface Forwards {
  /**
   * Where a port of a node is reached from here; a listener is opened when there is none. `dial` opens
   * the way to the port, once for each connection. Rejects with `NotSupportedError` when there are too many.
   */
  open(nodeId: string, port: number, dial: () => Promise<Duplex>): Promise<string>;
  /** Closes the listeners of a node and whatever goes over them. */
  close(nodeId: string): void;
  closeAll(): void;
}

interface Forward {
  readonly server: Server;
  readonly open: Set<Socket>;
  readonly address: Promise<string>;
}

const listenersAtMost = 32;
/** Each is a request under way where a balancer reaches a replica this way; one more breaks off. */
const connectionsAtMost = 512;
const directMs = 1_000;

/** Opens no listener yet. */
export function openForwards(): Forwards {
  const nodes = new Map<string, Map<number, Forward>>();

  function close(nodeId: string): void {
    for (const { server, open } of nodes.get(nodeId)?.values() ?? []) {
      server.close();
      for (const socket of open) socket.destroy();
    }
    nodes.delete(nodeId);
  }

  return {
    async open(nodeId, port, dial) {
      const ports = nodes.get(nodeId) ?? new Map<number, Forward>();
      nodes.set(nodeId, ports);
      const known = ports.get(port);
      if (known !== undefined) return known.address;
      if (ports.size >= listenersAtMost)
        fail(
          "NotSupportedError",
          `${listenersAtMost} ports of node ${nodeId} are forwarded through its SSH connection, and that is the maximum; make them reachable directly`,
        );
      const forward = listen(usualPortOf(nodeId, port), dial);
      ports.set(port, forward);
      forward.address.catch(() => ports.delete(port));
      return forward.address;
    },
    close,
    closeAll: () => [...nodes.keys()].forEach(close),
  };
}

/** Below those that systems give to whoever asks for any. Source: ip(7), ip_local_port_range. */
const usualPorts = { first: 16_384, count: 16_384 };

/** The same for a port of a node at all times: who knows it finds it again when control was restarted. */
function usualPortOf(nodeId: string, port: number): number {
  const digest = createHash("sha256").update(`${nodeId} ${port}`).digest();
  return usualPorts.first + (digest.readUInt32BE() % usualPorts.count);
}

/** Listens on a port, or on any where that one is taken. */
function listen(usualPort: number, dial: () => Promise<Duplex>): Forward {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    lead(socket, dial);
  });
  server.maxConnections = connectionsAtMost;
  const listenOn = (port: number) => once(server.listen(port, "127.0.0.1"), "listening");
  const address = listenOn(usualPort)
    .catch(() => listenOn(0))
    .then(() => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { server, open, address };
}

/** Whatever ends one side ends the other. */
function lead(socket: Socket, dial: () => Promise<Duplex>): void {
  socket.on("error", () => socket.destroy());
  dial().then(
    (channel) => {
      channel.on("error", () => socket.destroy());
      channel.once("close", () => socket.destroy());
      socket.once("close", () => channel.destroy());
      if (socket.destroyed) return void channel.destroy();
      socket.pipe(channel).pipe(socket);
    },
    () => socket.destroy(),
  );
}

/** Nothing listens there; a network that answers all the same does so for every address. Source: RFC 1078. */
const unusedPort = 1;

/** Whether something listens at an address that this machine reaches without help. */
export const isReachable = async (host: string, port: number): Promise<boolean> =>
  (await answers(host, port)) && !(await answers(host, unusedPort));

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  const late = () => new AppError("TimeoutError", `${host}:${port} does not answer`);
  return within(once(socket, "connect"), directMs, late)
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
