import { AppError, type ErrorType, fail, isErrorType } from "../../../common/errors.ts";
import { envNames } from "../../../common/product.ts";
import {
  ContainerNews,
  containerOperations,
  imageAt,
  type RegistryLogin,
} from "../../../contract/containers-api.ts";
import { linesOf, parseLine } from "../../../contract/frames.ts";
import type { Task } from "../../../contract/task.ts";
import type { Agent } from "../../doors/agent.ts";
import { openSilence } from "../../doors/silence.ts";
import { candidateOf } from "../../needs.ts";
import { secretsOf } from "../../task.ts";
import type { Cluster } from "../schema.ts";
import type { AttachedCargo, ContainerParcel } from "./parcels.ts";

const silenceMs = 30_000;

/**
 * The container that a task has scripts of its cluster run in. It comes last: what is outside of a node's home must
 * be there when it is made. None where the cluster has none, or the task does not ask for it and only runs there.
 */
export function containerCargo(
  cluster: Cluster,
  task: Task,
  { withSetup }: { withSetup: boolean },
): AttachedCargo[] {
  const { image } = cluster.machine;
  const isAsked = candidateOf(task.resources, cluster.offer)?.image !== undefined;
  if (image?.kind !== "container" || !(withSetup || isAsked)) return [];
  const login = loginOf(task);
  const container = {
    clusterId: cluster.id,
    image: imageAt(image.name, login),
    runOptions: runOptionsOf(task),
    login,
  };
  const parcel: ContainerParcel = { name: "image", destination: "the container", container };
  return [{ parcel, attach: running(parcel) }];
}

/** How a node comes to run a container; its news are told at once. */
export const running =
  ({ container }: ContainerParcel): AttachedCargo["attach"] =>
  async (agent: Agent, signal, { tell, heard }) => {
    using silence = openSilence(silenceMs, signal);
    const { body } = await agent.open(containerOperations.putContainer, container, silence.signal);
    for await (const text of linesOf(body)) {
      const news = parseLine(ContainerNews, text);
      silence.heard();
      heard();
      if (news === undefined) continue;
      if ("done" in news) return news.done;
      if ("problem" in news) throw errorOf(container.image, news.problem);
      if (news.line !== null) tell(`image: ${news.line}`);
    }
    return fail("UnreachableError", "the agent broke off while it got the image");
  };

function errorOf(image: string, { type, message }: { type: string; message: string }): AppError {
  const known = isErrorType(type) ? type : "RuntimeError";
  return new AppError(known, `image ${image}: ${message}`, { image });
}

/** The image or its options are refused; any other trouble of a node or a registry may pass. */
const refusals: readonly string[] = [
  "NotFoundError",
  "PermissionDeniedError",
  "NotSupportedError",
  "ValueError",
] satisfies ErrorType[];

/** Whether a node could not make its container. */
export const isOfContainer = (error: unknown): error is AppError =>
  error instanceof AppError && error.details["image"] !== undefined;

/** Whether it refuses to, however often it is asked. */
export const isRefusal = ({ type }: AppError): boolean => refusals.includes(type);

/** User, password and server of a registry: all are there, or none is. */
export function loginOf(task: Task): RegistryLogin | null {
  const given: Record<string, string | undefined> = { ...task.envs, ...secretsOf(task) };
  const find = (part: string) => envNames(`DOCKER_${part}`).flatMap((name) => given[name] || [])[0];
  const [user, password, server] = ["USERNAME", "PASSWORD", "SERVER"].map(find);
  return user && password && server ? { user, password, server } : null;
}

/** As docker takes them in a shell: `--shm-size=8g`, `-v /data:/data`. */
function runOptionsOf({ config, resources }: Task): string[] {
  const { docker } = { ...resources.configOverrides, ...config } as {
    docker?: { run_options?: unknown };
  };
  return [docker?.run_options ?? []].flat().flatMap((option) => String(option).trim().split(/\s+/));
}
