import { once } from "node:events";
import { renameSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";

/** Stands between control and an agent; the next job that control hands over is its last word. */
export interface Gate {
  /** Resolves once the agent has accepted a job; control is not told. */
  readonly accepted: Promise<void>;
  /** Goes away; the agent is reached as before. */
  close(): void;
}

/** Opens a gate before a node's agent, for whoever connects from now on. */
export async function openGate(nodeHome: string): Promise<Gate> {
  const door = join(nodeHome, ".outrigger/agent/agent.sock");
  const behind = `${door}-`;
  const { promise: accepted, resolve: accept } = Promise.withResolvers<void>();
  const open = new Set<Socket>();
  renameSync(door, behind);
  const server = createServer((control) => {
    const agent = createConnection(behind);
    let submits = false;
    for (const [socket, other] of [
      [control, agent],
      [agent, control],
    ] as const) {
      open.add(socket);
      socket.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
    // Every request begins a chunk, as a connection carries one at a time.
    control.on("data", (chunk) => {
      submits = chunk.toString("latin1").startsWith("POST /jobs ") || submits;
      agent.write(chunk);
    });
    agent.on("data", (chunk) => {
      if (submits) accept();
      else control.write(chunk);
    });
  }).listen(door);
  await once(server.unref(), "listening");
  return {
    accepted,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
      renameSync(behind, door);
    },
  };
}
