import { Command, CommanderError, Option } from "commander";
import { errorTypes, fail, toAppError } from "../common/errors.ts";
import { product } from "../common/product.ts";
import { originOf } from "./arguments.ts";
import type { OptionRow, Parse } from "./catalog/options.ts";
import type { CommandRow } from "./catalog/row.ts";
import { commands } from "./catalog.ts";
import { Declined, interruptedExit } from "./declined.ts";
import { examples, groupNotes, groupSummaries, knownWords, wrap } from "./help.ts";
import type { Client } from "./sdk.ts";
import { type Env, readSettings } from "./settings.ts";
import { openTerminal, type Streams, type Terminal } from "./terminal.ts";
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
  let code = 0;
  const dispatch: Dispatch = async (row, operands, options) => {
    const { world, close } = openWorld(words, terminal, outer);
    const command = await row.load();
    code = (await command(world, operands, options as never).finally(close)) ?? 0;
  };
  try {
    const itself = commands.find(({ name, readsItself }) => readsItself && name === words[0]);
    if (itself !== undefined) await dispatch(itself, words.slice(1), {});
    else
      await toProgram(dispatch, outer.streams, terminal).parseAsync(knownWords(words), {
        from: "user",
      });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExit;
    return tell(terminal, error, outer);
  }
}

const usageExit = errorTypes.UsageError.exit;

/** Writes the error for a person; returns its exit code. */
function tell(terminal: Terminal, error: unknown, { env, signal }: Surroundings): number {
  if (error instanceof Declined) {
    terminal.note(error.message);
    return error.exit;
  }
  if (signal.aborted) return interruptedExit;
  const known = toAppError(error);
  const shown = known.type === "InternalError" && error instanceof Error ? error : known;
  terminal.note(`${terminal.paintNote("red", "error:")} ${shown.message}`);
  if (env["LOG_LEVEL"] === "debug")
    terminal.note(String((shown.cause as Error)?.stack ?? shown.stack));
  return errorTypes[known.type].exit;
}

/** The width of help that goes to no terminal. */
const usualWidth = 80;

type Dispatch = (row: CommandRow, operands: readonly string[], options: object) => Promise<void>;

function toProgram(dispatch: Dispatch, { stdout, stderr }: Streams, terminal: Terminal): Command {
  const width = stdout.columns || usualWidth;
  const program = new Command(product.word)
    .description("Run AI workloads on clusters: launch, watch, stop.")
    .usage("<command> [options]")
    .version(product.version, "-V, --version", "Print the version.")
    .helpOption("-h, --help", "Show this.")
    .helpCommand(false)
    .exitOverride()
    .showSuggestionAfterError()
    .showHelpAfterError(helpHint(product.word))
    .configureHelp({ subcommandTerm: termOf, minWidthToWrap: 10 })
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: (text, write) =>
        write(text.replace(/^error:/, terminal.paintNote("red", "error:"))),
      getOutHelpWidth: () => width,
    })
    .addHelpText("after", () => wrap(examples, width));
  for (const row of commands) declare(program, row, dispatch, width);
  return program;
}

const helpHint = (command: string) => `What there is: ${command} --help`;

/** Name and operands: that a command has options goes without saying. */
const termOf = (command: Command) =>
  [command.name(), command.usage().replace("[options]", "")].join(" ").replace(/ +/g, " ").trim();

function declare(program: Command, row: CommandRow, dispatch: Dispatch, width: number): void {
  const [first = "", second] = row.name.split(" ");
  const parent = second === undefined ? program : groupOf(program, first, row.group, width);
  const command = parent
    .command(`${second ?? first} ${row.operands ?? ""}`.trim(), { hidden: row.hidden ?? false })
    .description(row.summary)
    .showHelpAfterError(helpHint(`${product.word} ${row.name}`))
    .action(() => dispatch(row, command.args, command.opts()));
  if (second === undefined) command.helpGroup(row.group);
  const { more } = row;
  if (more !== undefined) command.addHelpText("after", () => `\n${wrap(more, width)}`);
  for (const one of row.options) command.addOption(toOption(one));
}

/** The command that only groups others, such as `api`. */
function groupOf(program: Command, name: string, group: string, width: number): Command {
  const found = program.commands.find((command) => command.name() === name);
  if (found !== undefined) return found;
  const below = commands.filter((row) => row.name.startsWith(`${name} `));
  const words = below.map((row) => row.name.slice(name.length + 1));
  return program
    .command(name)
    .description(`${groupSummaries[name] ?? name}: ${words.join(", ")}.`)
    .usage("<command>")
    .showHelpAfterError(helpHint(`${product.word} ${name}`))
    .helpCommand(false)
    .helpGroup(group)
    .addHelpText("after", () => wrap(groupNotes[name] ?? "", width).replace(/^(?=.)/, "\n"));
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
function openWorld(words: readonly string[], terminal: Terminal, outer: Surroundings) {
  const { env, cwd, program, streams, signal } = outer;
  const settings = readSettings(env);
  let client: Client | undefined;
  const connect = async () => {
    const { openClient } = await import("./sdk.ts");
    const { readIdentity } = await import("./identity.ts");
    const { tokenFor } = await import("./token.ts");
    const { endpoint } = settings;
    const [identity, token] = [readIdentity(settings), tokenFor(settings, endpoint)];
    client ??= openClient({ endpoint, identity, token, origin: originOf(words), signal });
    return client;
  };
  const now = () => new Date();
  const world: World = {
    ...{ env, cwd, program, settings, terminal, streams, signal },
    ...{ now, connect },
  };
  return { world, close: async () => client?.close() };
}
