import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { settingName } from "../../common/config.ts";
import { AppError, fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { buildOf, nodeProgram, programArgs, unitFileOf } from "../../common/programs.ts";
import { systemUser } from "../../common/system-user.ts";
import type { OptionsOf } from "../catalog.ts";
import type { Action } from "../output/actions.ts";
import { fitUnit } from "../service-unit.ts";
import type { World } from "../world.ts";
import { directAction, tellActions } from "./actions.ts";

type InstallOptions = OptionsOf<"agent install">;

/** Which systemd an agent is installed in. */
interface Place {
  readonly file: string;
  /** Whom the agent runs as. */
  readonly user: string;
  readonly isUsers: boolean;
}

const name = `${product.word}-agent`;
const run = promisify(execFile);

/** `outrigger agent install`: again it is an upgrade, which no job notices. */
export const install = atPlace("agent install", async (world, place, isDryRun) => {
  const { terminal } = world;
  const text = unitFor(place);
  const steps = [["daemon-reload"], ["enable", name], ["restart", name]];
  if (isDryRun) {
    terminal.note(`Would write ${place.file}, then: ${typed(place, steps)}`);
    if (!world.json) terminal.answer(text);
    return "planned";
  }
  checkForSystemd(place);
  mkdirSync(dirname(place.file), { recursive: true });
  writeFileSync(place.file, `${text}\n`);
  terminal.note(`Wrote ${place.file}.`);
  for (const step of steps) await systemctl(place, step);
  terminal.note(`The agent runs as ${place.user}, and systemd restarts it if it ends.`);
  tellHints(world, place);
  return "done";
});

/** `outrigger agent uninstall`. */
export const uninstall = atPlace("agent uninstall", async ({ terminal }, place, isDryRun) => {
  if (!existsSync(place.file)) {
    terminal.note(`${name} is not installed: there is no ${place.file}.`);
    return "unchanged";
  }
  const stop = ["disable", "--now", name];
  if (isDryRun) {
    const then = typed(place, [["daemon-reload"]]);
    terminal.note(`Would run: ${typed(place, [stop])}; remove ${place.file}; ${then}`);
    return "planned";
  }
  checkForSystemd(place);
  await systemctl(place, stop);
  rmSync(place.file);
  await systemctl(place, ["daemon-reload"]);
  terminal.note(`Removed ${place.file}. Running jobs continue without it; files are kept.`);
  return "done";
});

/** A command that works on one of the places. */
function atPlace(
  action: string,
  work: (world: World, place: Place, isDryRun: boolean) => Promise<Action["outcome"]>,
) {
  return async (
    world: World,
    _operands: readonly string[],
    options: InstallOptions,
  ): Promise<undefined> => {
    const outcome = await work(world, placeOf(world, options), options.dryRun ?? false);
    return tellActions(world, [directAction(action, name, outcome)]);
  };
}

function unitFor({ user, isUsers }: Place): string {
  const file = unitFileOf("agent");
  const text = fitUnit(readFileSync(file, "utf8"), {
    command: [nodeProgram, ...programArgs("agent")],
    user: isUsers ? null : user,
    env: { [settingName("build")]: buildOf("agent") },
  });
  return `# Written by: outrigger agent install. The reasons stand in ${file}.\n\n${text}`;
}

/** Root's agent is the machine's, and runs as whoever called sudo; another's is its own. */
function placeOf({ env }: World, { user: wantsUsers = false }: InstallOptions): Place {
  const { uid, name: own, home } = systemUser();
  if (uid === 0 && !wantsUsers)
    return {
      file: join("/etc/systemd/system", `${name}.service`),
      user: env["SUDO_USER"] || own,
      isUsers: false,
    };
  const config = env["XDG_CONFIG_HOME"] || join(env["HOME"] || home, ".config");
  const file = join(config, "systemd/user", `${name}.service`);
  return { file, user: own, isUsers: true };
}

/** Source: sd_booted(3). */
function checkForSystemd({ isUsers }: Place): void {
  if (!existsSync("/run/systemd/system"))
    fail(
      "RuntimeError",
      "this machine does not run systemd; have something else start what this shows: outrigger agent install --dry-run",
    );
  const folder = `/run/user/${systemUser().uid}/systemd`;
  if (isUsers && !existsSync(folder))
    fail(
      "RuntimeError",
      "you have no systemd of your own here; run it as root, or log in anew after: loginctl enable-linger",
    );
}

async function systemctl(place: Place, words: readonly string[]): Promise<void> {
  const [command = "", ...args] = commandOf(place, words);
  try {
    await run(command, args);
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    const why = stderr.trim().split("\n")[0];
    const log = ["journalctl", ...scopeOf(place), "-n", "20", "-u", name].join(" ");
    throw new AppError("RuntimeError", `${typed(place, [words])}: ${why}; see: ${log}`, {}, error);
  }
}

const scopeOf = ({ isUsers }: Place) => (isUsers ? ["--user"] : []);
const commandOf = (place: Place, words: readonly string[]) => [
  "systemctl",
  ...scopeOf(place),
  ...words,
];
const typed = (place: Place, steps: readonly (readonly string[])[]) =>
  steps.map((step) => commandOf(place, step).join(" ")).join("; ");

function tellHints({ terminal }: World, place: Place): void {
  const log = ["journalctl", ...scopeOf(place), "-f", "-u", name].join(" ");
  terminal.note(`${terminal.paintNote("dim", "log   ")}${log}`);
  if (place.isUsers && !existsSync(join("/var/lib/systemd/linger", place.user)))
    terminal.note("It ends when you log out, unless you run: loginctl enable-linger");
}
