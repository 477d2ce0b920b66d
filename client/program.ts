import { Command, CommanderError, Option } from "commander";
import { AppError, errorTypes, fail, toAppError } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { originOf } from "./arguments.ts";
import { startIfNone } from "./autostart.ts";
import { includes, type OptionRow, type Parse, workspaceOption } from "./catalog/options.ts";
import type { CommandRow } from "./catalog/row.ts";
import { type CommandName, commands } from "./catalog.ts";
import { codeOf } from "./commands.ts";
import { Declined, interruptedExit } from "./declined.ts";
import { errorForm, wantsJson } from "./error-form.ts";
import { examples, groupNotes, groupSummaries, knownWords, otherWords, wrap } from "./help.ts";
import type { Client } from "./sdk.ts";
import { type Env, type Flags, readSettings, type Settings } from "./settings.ts";
import { openTerminal, quietened, type Streams, type Terminal } from "./terminal.ts";
import type { World } from "./world.ts";

/** What the process hands to the program. */
export interface Surroundings {
  readonly env: Env;
  readonly cwd: string;
  /** The words that start us again. */
  readonly program: readonly string[];
  readonly streams: Streams;
  readonly signal: AbortSignal;
}

/** Runs one command line to its end; never throws. Returns the exit code. */
export async function run(words: readonly string[], outer: Surroundings): Promise<number> {
  const terminal = openTerminal(outer.streams, outer.env);
  const json = wantsJson(words);
  let code = 0;
  const dispatch: Dispatch = async (row, operands, options, flags) => {
    const limit = openLimit(options, outer.signal);
    const { signal } = limit;
    const shown = flags.quiet ? quietened(terminal) : terminal;
    const { world, close } = openWorld(words, shown, { ...outer, signal }, { row, flags });
    const command = await codeOf[row.name as CommandName]();
    try {
      code = (await command(world, operands, options as never).finally(close)) ?? 0;
    } catch (error) {
      limit.check();
      throw error;
    }
    if (code === interruptedExit) limit.check();
  };
  try {
    refuseOtherWord(words);
    const itself = commands.find(({ name, readsItself }) => readsItself && name === words[0]);
    if (itself !== undefined) await dispatch(itself, words.slice(1), {}, {});
    else await parse(knownWords(words), dispatch, outer.streams, terminal, json);
    return code;
  } catch (error) {
    const isParsers = error instanceof CommanderError;
    if (isParsers && (error.exitCode === 0 || !json)) return error.exitCode && usageExit;
    return tell(terminal, isParsers ? asUsageError(error) : error, outer, json);
  }
}

/** The limit of `--timeout`; `check` throws `TimeoutError` once it was what ended the wait. */
function openLimit(options: { readonly timeout?: number }, interrupted: AbortSignal) {
  const { timeout } = options;
  if (timeout === undefined) return { signal: interrupted, check() {} };
  const late = AbortSignal.timeout(timeout * 1_000);
  return {
    signal: AbortSignal.any([interrupted, late]),
    check(): void {
      if (late.aborted && !interrupted.aborted)
        fail("TimeoutError", `--timeout: it took longer than ${timeout} s`);
    },
  };
}

/** Throws `UsageError` for a command that goes by another name here. */
function refuseOtherWord([word = ""]: readonly string[]): void {
  const name = Object.hasOwn(otherWords, word) ? otherWords[word] : undefined;
  const row = commands.find((one) => one.name === name);
  if (row === undefined) return;
  const hint = `${product.word} ${row.name}: ${row.summary}`;
  throw new AppError("UsageError", `unknown command '${word}'; try ${hint}`, { hint });
}

const usageExit = errorTypes.UsageError.exit;

/** What the parser refuses, with what it suggests as the hint. */
function asUsageError({ code, message }: CommanderError): AppError {
  const [first = "", ...suggested] = message.replace(/^error: /, "").split("\n");
  const isBare = code === "commander.help";
  const hint = suggested.join(" ").replace(/^\((.*)\)$/, "$1") || helpHint(product.word);
  return new AppError("UsageError", isBare ? "name a command" : first, { hint });
}

/** Writes the error for a person, or as JSON; returns its exit code. */
function tell(
  terminal: Terminal,
  error: unknown,
  { env, signal }: Surroundings,
  json: boolean,
): number {
  if (signal.aborted && !(error instanceof Declined)) return interruptedExit;
  if (json) {
    const form = errorForm(error);
    terminal.note(JSON.stringify(form));
    return form.error.exit_code;
  }
  if (error instanceof Declined) {
    terminal.note(error.message);
    return error.exit;
  }
  const known = toAppError(error);
  const shown = known.type === "InternalError" && error instanceof Error ? error : known;
  terminal.note(`${terminal.paintNote("red", "error:")} ${shown.message}`);
  if (env["LOG_LEVEL"] === "debug")
    terminal.note(String((shown.cause as Error)?.stack ?? shown.stack));
  return errorTypes[known.type].exit;
}

/** The width of help that goes to no terminal. */
const usualWidth = 80;

type Dispatch = (
  row: CommandRow,
  operands: readonly string[],
  options: object,
  flags: Flags,
) => Promise<void>;

async function parse(
  words: readonly string[],
  dispatch: Dispatch,
  { stdout, stderr }: Streams,
  terminal: Terminal,
  json: boolean,
): Promise<void> {
  const width = stdout.columns || usualWidth;
  const program = new Command(product.word)
    .description("Run AI workloads on clusters.")
    .usage("<command> [options]")
    .version(product.version, "-V, --version", "Print the version.")
    .option("--context <name>", "Context to use, before or after the command.")
    .option("-q, --quiet", "Print results and errors only, before or after the command.")
    .helpOption("-h, --help", "Show this.")
    .helpCommand(false)
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError(helpHint(product.word))
    .configureHelp({ subcommandTerm: termOf, minWidthToWrap: 10 })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void (json || stderr.write(text)),
      outputError: (text, write) =>
        write(text.replace(/^error:/, terminal.paintNote("red", "error:"))),
      getOutHelpWidth: () => width,
    })
    .addHelpText("after", () => wrap(examples, width));
  for (const row of commands) {
    const command = declare(program, row, dispatch, width);
    // Options take longer to declare than all else, and only a command that is named needs its own.
    if (words.some((word) => row.name.split(" ")[0] === word))
      for (const one of row.options) command.addOption(toOption(one));
  }
  await program.parseAsync(words, { from: "user" });
}

const helpHint = (command: string) => `Commands: ${command} --help`;

/** Name and operands: that a command has options goes without saying. */
const termOf = (command: Command) =>
  [command.name(), command.usage().replace("[options]", "")].join(" ").replace(/ +/g, " ").trim();

function declare(program: Command, row: CommandRow, dispatch: Dispatch, width: number): Command {
  const groups = row.name.split(" ");
  const own = groups.pop();
  const parent = groups.reduce(
    (above, _, at) => groupOf(above, groups.slice(0, at + 1).join(" "), row.group, width),
    program,
  );
  const { hidden = false, isDefault = false } = row;
  const command = parent
    .command(`${own} ${row.operands ?? ""}`.trim(), { hidden, isDefault })
    .description(row.summary)
    .showHelpAfterError(helpHint(`${product.word} ${row.name}`))
    .action(() => dispatch(row, command.args, command.opts(), flagsOf(row, program, command)));
  if (parent === program) command.helpGroup(row.group);
  const { more } = row;
  if (more !== undefined) command.addHelpText("after", () => `\n${wrap(more, width)}`);
  return command;
}

/** What the words say about the settings themselves. */
function flagsOf({ options }: CommandRow, program: Command, command: Command): Flags {
  const { workspace } = includes(options, workspaceOption) ? command.opts() : {};
  return { ...program.opts(), workspace };
}

/** The command that only groups others, such as `api` or `jobs pool`. */
function groupOf(above: Command, name: string, group: string, width: number): Command {
  const own = name.split(" ").at(-1) ?? "";
  const found = above.commands.find((command) => command.name() === own);
  if (found !== undefined) return found;
  const below = commands.filter((row) => row.name.startsWith(`${name} `));
  const words = below.map((row) => row.name.slice(name.length + 1));
  const made = above
    .command(own)
    .description(`${groupSummaries[name] ?? name}: ${words.join(", ")}.`)
    .usage("<command>")
    .showHelpAfterError(helpHint(`${product.word} ${name}`))
    .helpCommand(false)
    .addHelpText("after", () => wrap(groupNotes[name] ?? "", width).replace(/^(?=.)/, "\n"));
  return own === name ? made.helpGroup(group) : made;
}

function toOption({ flags, means, parse, choices, hidden }: OptionRow): Option {
  const option = new Option(flags, means);
  if (parse !== undefined) option.argParser(naming(`--${option.name()}`, parse));
  if (choices !== undefined) option.choices(choices);
  return hidden ? option.hideHelp() : option;
}

/** Puts the name of the option before what is wrong with its value. */
const naming =
  (name: string, parse: Parse): Parse =>
  (text, before) => {
    try {
      return parse(text, before);
    } catch (error) {
      return fail("UsageError", `${name}: ${toAppError(error).message}`);
    }
  };

/** The world of one command line, and how to close what was opened in it. */
function openWorld(
  words: readonly string[],
  terminal: Terminal,
  outer: Surroundings,
  { row, flags }: { readonly row: CommandRow; readonly flags: Flags },
) {
  const { env, cwd, program, streams, signal } = outer;
  let settings: Settings | undefined;
  let client: Client | undefined;
  const connect = async () => {
    if (row.startsControl && client === undefined && (await startIfNone(world)))
      settings = undefined;
    const { openClient } = await import("./sdk.ts");
    const { tokenFor } = await import("./token.ts");
    const { endpoint, workspace } = world.settings;
    const token = tokenFor(world.settings, endpoint);
    const origin = originOf(words);
    const onWait = (seconds: number) =>
      terminal.note(`The control plane limits how often you call; waiting ${seconds} s`);
    client ??= openClient({ endpoint, token, workspace, origin, signal, onWait });
    return client;
  };
  const now = () => new Date();
  const world: World = {
    ...{ env, cwd, program, terminal, streams, signal },
    ...{ json: wantsJson(words), now, connect },
    // Read by commands that use them: a sidecar, or a shell that completes, refuses no variable.
    get settings() {
      settings ??= readSettings(env, flags);
      return settings;
    },
  };
  return { world, close: async () => client?.close() };
}
