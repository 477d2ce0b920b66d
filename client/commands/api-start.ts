import { count } from "../../common/count.ts";
import { fail } from "../../common/errors.ts";
import { envNames } from "../../common/product.ts";
import type { ControlProcess } from "../../contract/control-pid.ts";
import { userOperations } from "../../contract/operations/users.ts";
import {
  addressOf,
  controlEnv,
  findControl,
  listensAt,
  logFileOf,
  type WantedControl,
} from "../control-process.ts";
import { execProgram } from "../exec-program.ts";
import { isOfHome } from "../settings.ts";
import { startControl } from "../start-control.ts";
import type { Run, World } from "../world.ts";
import { directAction, tellActions } from "./actions.ts";
import { askHome, liveClusters } from "./api-stop.ts";

interface StartOptions extends WantedControl {
  readonly foreground?: boolean;
}

/** `outrigger api start`. */
export const start: Run<StartOptions> = async (world, _operands, options) => {
  const running = findControl(world.settings);
  if (running !== undefined) return tellRunning(world, running, options);
  const env = controlEnv(world.env, world.settings, options);
  if (options.foreground) execProgram("control", [], env);
  await startDetached(world, env);
};

/** Where the one that runs listens; throws `ConflictError` when something else was asked for. */
function tellRunning(world: World, running: ControlProcess, options: StartOptions): undefined {
  const { terminal, settings } = world;
  const address = addressOf(running);
  const isOther = options.foreground || options.firstAdmin !== undefined;
  if (isOther || !listensAt(running, options)) {
    const where = address === undefined ? "" : ` at ${address}`;
    const what = `a control plane of ${settings.home} is already running${where}, pid ${running.pid}`;
    fail("ConflictError", `${what}; stop it first: outrigger api stop`);
  }
  terminal.note(`A control plane is already running, pid ${running.pid}.`);
  tellStarted(world, address ?? settings.endpoint, "unchanged");
}

async function startDetached(world: World, env: Record<string, string>): Promise<void> {
  const { terminal, settings } = world;
  const address = await startControl(world, env);
  tellStarted(world, address, "done");
  terminal.note(`${terminal.paintNote("dim", "log   ")}${logFileOf(settings)}`);
  terminal.note(`${terminal.paintNote("dim", "stop  ")}outrigger api stop`);
  const admin = await adminWithoutPassword(world, address, env);
  if (admin !== undefined)
    terminal.note(`${admin} has no password yet: outrigger users update ${admin} --password`);
  const live = await liveClusters(world, address, "start");
  if (live.length > 0)
    terminal.note(`${count(live.length, "cluster")} kept running: ${live.join(", ")}`);
  tellElsewhere(world, address);
}

/** The first administrator, where passwords let people in and that user has none. */
async function adminWithoutPassword(
  world: World,
  address: string,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const [name, login] = ["FIRST_ADMIN", "LOGIN"].map((suffix) =>
    envNames(suffix)
      .map((variable) => env[variable])
      .find(Boolean),
  );
  if (name === undefined || !login?.split(",").some((method) => method.trim() === "password"))
    return undefined;
  const users = await askHome(world, address, "start", (client) =>
    client.call(userOperations.list, {}),
  );
  const isSo = users?.some((user) => user.name === name && user.has_password === false);
  return isSo ? name : undefined;
}

function tellStarted(world: World, endpoint: string, outcome: "done" | "unchanged"): void {
  if (!world.json) world.terminal.answer(endpoint);
  tellActions(world, [{ ...directAction("api start", null, outcome), endpoint }]);
}

/** Says how to use it where something names another control plane. */
function tellElsewhere({ settings, terminal }: World, address: string): void {
  const { kind, name } = settings.origins.endpoint;
  if (address === settings.endpoint || isOfHome(settings)) return;
  const what = kind === "context" ? `context ${name}` : name;
  terminal.note(`Commands go to ${settings.endpoint}, which ${what} sets. To use this one:`);
  terminal.note(
    kind === "context" ? "outrigger context use default" : `export OUTRIGGER_ENDPOINT=${address}`,
  );
}
