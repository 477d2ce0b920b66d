import { AppError, errorCodeOf } from "../../../common/errors.ts";
import { balancerOperations as api, type BalancerHealth } from "../../../contract/balancer-api.ts";
import { type Agent, agentBehind } from "../../doors/agent.ts";
import { openUnixDoor } from "../../doors/unix.ts";
import type { Service } from "../schema.ts";

/** A balancer that answers, and the way to it. */
export interface Reached {
  readonly api: Agent;
  readonly socket: string;
  readonly health: BalancerHealth;
  close(): Promise<void>;
}

const healthTimeoutMs = 10_000;
/** How connecting fails where nobody listens; the last of them where nobody can, as the path is too long. */
const nobody = ["ENOENT", "ECONNREFUSED", "EINVAL"];

/** Over a connection of its own: undefined where nobody listens any more. */
export async function reach(
  { name }: Service,
  socket: string,
  signal: AbortSignal,
): Promise<Reached | undefined> {
  const door = openUnixDoor(socket);
  const behind = agentBehind(door, `the balancer of ${name}`);
  try {
    const health = await healthOf(behind, signal);
    if (health !== undefined) return { api: behind, socket, health, close: () => door.destroy() };
  } catch (error) {
    await door.destroy();
    throw error;
  }
  await door.destroy();
}

/**
 * How a balancer is; undefined when it is gone. One that does not answer may be busy: that throws
 * `UnreachableError`, as another in its place would take its socket from it.
 */
export async function healthOf(
  behind: Agent,
  signal: AbortSignal,
): Promise<BalancerHealth | undefined> {
  try {
    return await behind.call(api.health, {}, { signal, timeoutMs: healthTimeoutMs });
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof AppError ? errorCodeOf(error.cause) : undefined;
    if (nobody.includes(code ?? "")) return undefined;
    throw error;
  }
}
