import { fail } from "../../common/errors.ts";
import { serveOperations } from "../../contract/operations/serve.ts";
import type { ServiceStatusRecord, UpdateMode } from "../../contract/records/services.ts";
import type { Command } from "../catalog.ts";
import { entrypointOf } from "../entrypoint.ts";
import { agree, requireAll } from "../selection.ts";
import { listServices, services } from "../services.ts";
import { withSourcePositions } from "../source-positions.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";
import { taskOf, withFiles } from "./launch.ts";
import { followService, type Verdict } from "./serve-following.ts";
import { inShort, isReady } from "./serve-reasons.ts";
import { judgeUp } from "./serve-up.ts";

/** `outrigger serve update`: another task for a service. */
export const serveUpdate: Command<"serve update"> = async (
  world,
  [name = "", ...words],
  options,
) => {
  const { terminal } = world;
  const { mode = "rolling" } = options;
  const source = await entrypointOf(world, words);
  const task = await taskOf(world, source, options, "service");
  if (terminal.canAsk && !options.yes) await agreeToUpdate(world, name, mode);
  const input = { ...(await withFiles(world, task, "service")), service_name: name, mode };
  const more = { title: `Updating ${name}`, name, later: options.async };
  await withSourcePositions(source, input.task, (reword) =>
    carryOut(world, serveOperations.update, input, { ...more, reword }),
  );
  if (options.async) return 0;
  if (options.detach) {
    terminal.note(`Check its progress: outrigger serve status ${name}`);
    return 0;
  }
  const title = `Waiting for the new version of ${name}`;
  const service = await followService(world, { name, title, judge: judgeUpdate });
  if (typeof service === "number") return service;
  terminal.note(terminal.paintNote("green", `Service ${name} runs version ${service.version}`));
  return 0;
};

async function agreeToUpdate(world: World, name: string, mode: UpdateMode): Promise<void> {
  const found = await listServices(await world.connect(), [name]);
  await requireAll(world, [name], found, services);
  const { version } = found[0] ?? fail("NotFoundError", `there is no service ${name}`);
  await agree(world, `Update service '${name}', which runs version ${version} (${mode})?`);
}

/** Whether the newest version has taken over, or will not. */
export function judgeUpdate(service: ServiceStatusRecord): Verdict {
  const { name, version, given_up: givenUp, replica_info: replicas } = service;
  if (givenUp)
    return {
      failed: `version ${version} of ${name} failed, and the previous version continues: ${inShort(givenUp)}`,
    };
  const verdict = judgeUp(service);
  if (verdict !== "reached" || service.status === "NO_REPLICA") return verdict;
  const fresh = replicas.filter((one) => one.version === version && isReady(one)).length;
  const isOver = replicas.every((one) => one.version === version || !isReady(one));
  return isOver && fresh >= (service.target_num_replicas ?? 1) ? "reached" : undefined;
}
