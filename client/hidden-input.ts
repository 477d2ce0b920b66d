import { createInterface } from "node:readline";
import { type Readable, Writable } from "node:stream";

/** What was typed, an answer each; or that there was none. */
export type Answers = readonly string[] | "no" | "interrupted";

/** What is typed as answers to questions, one after the other; nothing of it is shown or kept. */
export function askHidden(
  stdin: Readable & { isTTY?: boolean },
  stderr: Writable,
  questions: readonly string[],
  signal: AbortSignal,
): Promise<Answers> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const isTyped = stdin.isTTY === true;
  const lines = createInterface({
    ...{ input: stdin, output: nowhere, terminal: isTyped, historySize: 0, signal },
  });
  const answers: string[] = [];
  const { promise, resolve } = Promise.withResolvers<Answers>();
  const ask = () => stderr.write(questions[answers.length] ?? "");
  lines.on("line", (line) => {
    stderr.write("\n");
    answers.push(line);
    if (answers.length < questions.length) ask();
    else end(answers);
  });
  const end = (said: Answers) => {
    resolve(said);
    lines.off("close", leave).close();
  };
  const leave = (said: "no" | "interrupted" = signal.aborted ? "interrupted" : "no") => {
    stderr.write("\n");
    end(said);
  };
  lines.once("SIGINT", () => leave("interrupted")).once("close", leave);
  ask();
  return promise;
}
