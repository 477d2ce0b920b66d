import { randomBytes } from "node:crypto";
import { createWriteStream, existsSync, renameSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { count } from "../../common/count.ts";
import { AppError, fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { Command } from "../catalog.ts";
import { interruptedExit } from "../declined.ts";
import { entrypointOf } from "../entrypoint.ts";
import { mapInputs } from "../map/follow.ts";
import { readInputs } from "../map/inputs.ts";
import { type Chunk, type Journal, openJournal } from "../map/journal.ts";
import type { Range } from "../map/ranges.ts";
import { type MapTask, mapTaskText } from "../map/task.ts";
import { mapForm } from "../output/managed-jobs.ts";
import { openProgress } from "../progress.ts";
import { agree } from "../selection.ts";
import { withSourcePositions } from "../source-positions.ts";
import { absolutePath, type Entrypoint, textIn } from "../task-text.ts";
import { tellCommands } from "../ways.ts";
import type { World } from "../world.ts";
import { answerOne, type OutputOptions } from "./answers.ts";
import { taskOf, withFiles } from "./launch.ts";

const usualJobs = 32;
const usualRetries = 2;

/** `outrigger jobs map`: runs a task for each line of a file, and collects the results. */
export const jobsMap: Command<"jobs map"> = async (world, operands, options) => {
  const { cwd, terminal } = world;
  const { pool, retries = usualRetries, numJobs = usualJobs } = options;
  if (operands.length === 0) fail("UsageError", "name what to run for each input");
  const inputsFile = absolutePath(named(options.inputs, "--inputs"), cwd);
  const results = absolutePath(named(options.results, "--results"), cwd);
  if (existsSync(results))
    fail("ConflictError", `${results} exists; move it away, or name other results`);
  if (!existsSync(inputsFile)) fail("UsageError", `--inputs: there is no file ${inputsFile}`);
  const inputs = readInputs(inputsFile);
  const source = await entrypointOf(world, operands);
  const mapped = { task: await taskOf(world, source, options, "all"), inputsFile };
  mapTaskText({ ...mapped, tag: "" }, []);
  const where = pool === undefined ? "" : ` in pool ${pool}`;
  const what = `${count(inputs.count, "input")}${where}`;
  if (terminal.canAsk && !options.yes) await agree(world, `Run it for ${what}?`);

  const journal = openJournal(`${results}.partial`, inputs, { newTag, retries });
  const launch = launcherOf(world, journal, { ...mapped, source, pool });
  const progress = openProgress(terminal);
  progress.step(`Mapping ${what}`);
  const tell = () => progress.reword(`Mapping ${what}: ${textOf(journal.counts())}`);
  try {
    await mapInputs(world, { journal, launch, tell }, numJobs);
    progress.end("done");
    return await finish(world, journal, results, options);
  } catch (error) {
    progress.end(world.signal.aborted ? "left" : "failed");
    if (!world.signal.aborted) throw error;
    tellOpen(world, journal);
    return interruptedExit;
  } finally {
    journal.close();
  }
};

const newId = (): string => randomBytes(6).toString("hex");
const newTag = (): string => `${product.word}-map-${newId()}`;

const named = (file: string | undefined, flag: string): string =>
  file ?? fail("UsageError", `name a file: ${flag} FILE`);

interface Launched extends Omit<MapTask, "tag"> {
  readonly source: Entrypoint;
  readonly pool: string | undefined;
}

/** Launches jobs that have a chunk of inputs each. */
const launcherOf =
  (world: World, journal: Journal, { source, pool, ...mapped }: Launched) =>
  async (chunks: readonly (readonly Range[])[], id = newId()): Promise<Chunk[]> => {
    const { inputsFile } = mapped;
    if (readInputs(inputsFile).digest !== journal.digest)
      fail(
        "ConflictError",
        `${inputsFile} has changed; restore it, then run the same command again`,
      );
    const text = mapTaskText({ ...mapped, tag: journal.tag }, chunks);
    const sent = await withFiles(world, text, "all");
    const client = await world.connect();
    return withSourcePositions(source, sent.task, async () => {
      const input = {
        ...sent,
        name: textIn(text, "name") ?? "map",
        pool: pool ?? null,
        num_jobs: chunks.length,
        submission_id: id,
      };
      // Where the answer is lost, the same command sends the same launch again.
      journal.add({ launch: id, chunks });
      const { job_id: jobs } = await client
        .callAndGet(jobOperations.launch, input)
        .catch((error) => {
          if (isRefusal(error)) journal.add({ dropped: id });
          throw error;
        });
      journal.add({ submitted: id, jobs: jobs ?? [] });
      tellCommands(world.terminal, [["jobs", `${product.word} jobs queue --skip-finished`]]);
      return journal.jobs().filter(({ job }) => jobs?.includes(job));
    });
  };

/** Whether control said that it launched nothing. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && jobOperations.launch.errors.some((type) => type === error.type);

/** Writes the results, unless jobs were cancelled: then the same command goes on. */
async function finish(
  world: World,
  journal: Journal,
  results: string,
  options: OutputOptions,
): Promise<number> {
  const { terminal, json } = world;
  const counts = journal.counts();
  const isWhole = counts.succeeded + counts.failed === counts.inputs;
  if (isWhole) {
    const part = `${results}.part`;
    await pipeline(Readable.from(journal.findings()), createWriteStream(part, { mode: 0o600 }));
    renameSync(part, results);
    journal.remove();
  }
  if (json) answerOne(world, options, mapForm, { ...counts, results: isWhole ? results : null });
  else terminal.note(`${count(counts.inputs, "input")}: ${textOf(counts)}`);
  if (!isWhole) {
    terminal.note("Jobs were cancelled. Run the same command again to continue.");
    return jobExitCodes.CANCELLED;
  }
  if (!json) terminal.answer(results);
  return counts.failed > 0 ? jobExitCodes.FAILED : jobExitCodes.SUCCEEDED;
}

const textOf = ({ succeeded, failed }: ReturnType<Journal["counts"]>): string =>
  `${succeeded} succeeded, ${failed} failed`;

function tellOpen({ terminal }: World, journal: Journal): void {
  const jobs = journal.jobs().map(({ job }) => job);
  terminal.note("\nRun the same command again to continue.");
  if (jobs.length === 0) return;
  terminal.note("The jobs keep running. To cancel them:");
  terminal.note(`  ${product.word} jobs cancel ${jobs.join(" ")}`);
}
