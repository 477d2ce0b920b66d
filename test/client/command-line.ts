import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import { run } from "../../client/program.ts";
import type { Env } from "../../client/settings.ts";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandLine {
  /** A folder of its own, gone with the test; also the home folder. */
  readonly folder: string;
  /** Runs one command line in this process. */
  (words: readonly string[], more?: Partial<Conditions>): Promise<Outcome>;
}

interface Conditions {
  readonly env: Env;
  readonly signal: AbortSignal;
  /** What is typed at the terminal; without it there is no terminal. */
  readonly typed: string;
  /** What comes on stdin from elsewhere, while a terminal shows what is asked. */
  readonly piped: string;
  readonly columns: number;
  /** Called with all of stdout when more was written to it. */
  readonly onAnswer: (text: string) => void;
}

/** The command line against one endpoint. */
export async function commandLine(t: TestContext, endpoint: string): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-client-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const runHere = async (words: readonly string[], more: Partial<Conditions> = {}) => {
    const { typed, piped, columns } = more;
    const live = [typed, piped, columns].some((one) => one !== undefined);
    const stdout = collector(live, columns, more.onAnswer);
    const stderr = collector(live, columns);
    const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined });
    stdin.end(typed ?? piped);
    const code = await run(words, {
      cwd: folder,
      program: ["outrigger"],
      streams: { stdin, stdout: stdout.stream, stderr: stderr.stream },
      signal: more.signal ?? new AbortController().signal,
      env: {
        OUTRIGGER_ENDPOINT: endpoint,
        OUTRIGGER_HOME: folder,
        OUTRIGGER_USER: "ana",
        ...more.env,
      },
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  };
  return Object.assign(runHere, { folder });
}

function collector(isTTY: boolean, columns = 80, onText?: (text: string) => void) {
  const chunks: Buffer[] = [];
  const stream = new PassThrough();
  const text = () => Buffer.concat(chunks).toString();
  stream.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    onText?.(text());
  });
  return {
    stream: Object.assign(stream, isTTY ? { isTTY, columns } : {}),
    text,
  };
}

/** The words of a line as a shell would see them; single quotes keep words together. */
export const wordsOf = (line: string) =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
