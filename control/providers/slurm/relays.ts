import type { Duplex } from "node:stream";
import { connect as secure } from "node:tls";
import { AppError, fail } from "../../../common/errors.ts";
import { within } from "../../doors/ssh/trouble.ts";
import type { Login } from "./login.ts";
import { relaysScript, relayTls } from "./scripts.ts";

/** A node of an allocation that runs. */
export interface RelayedNode {
  /** The cluster's folder. */
  readonly folder: string;
  readonly rank: number;
  readonly address: string;
}

interface Known {
  readonly key: Buffer;
  readonly ports: ReadonlyMap<number, number>;
}

const handshakeMs = 10_000;

/** Connections to agents, through the relay that each node of an allocation has: no process on the login node. */
export function openRelays(login: Pick<Login, "run" | "dial">) {
  /** By the folder of their cluster. */
  const known = new Map<string, Promise<Known>>();

  function read(folder: string): Promise<Known> {
    const found = known.get(folder) ?? login.run(relaysScript, [folder]).then(readRelays);
    known.set(folder, found);
    return found;
  }

  return {
    /** Throws `CloudError` until the node's relay listens; what was read is read anew after that. */
    async connect(node: RelayedNode): Promise<Duplex> {
      try {
        const { key, ports } = await read(node.folder);
        const port = ports.get(node.rank) ?? fail("CloudError", "its agent has not begun yet");
        return await handshake(await login.dial(node.address, port), key);
      } catch (error) {
        known.delete(node.folder);
        throw error;
      }
    },
    forget: (folder: string) => void known.delete(folder),
  };
}

/** The key, then `port-RANK:PORT` for each node. */
function readRelays(text: string): Known {
  const [key = "", ...lines] = text.trim().split("\n");
  const ports = lines.map((line) => line.replace("port-", "").split(":").map(Number));
  return { key: Buffer.from(key), ports: new Map(ports as [number, number][]) };
}

async function handshake(socket: Duplex, psk: Buffer): Promise<Duplex> {
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const way = secure({
    ...{ socket, ...relayTls },
    // The key shows who they are.
    checkServerIdentity: () => undefined,
    pskCallback: () => ({ psk, identity: "control" }),
  });
  way.once("secureConnect", resolve).on("error", reject);
  way.once("close", () => reject(new Error("the relay of the node closed the connection")));
  const late = () => new AppError("TimeoutError", "the relay of the node does not answer");
  return within(ready, handshakeMs, late).then(
    () => way,
    (error) => {
      way.destroy();
      socket.destroy();
      throw error;
    },
  );
}
