import { realpath } from "node:fs/promises";
import { join, posix, resolve } from "node:path";
import { count } from "../../common/count.ts";
import { errorCodeOf, fail } from "../../common/errors.ts";
import { isFolder } from "../../common/files.ts";
import { product } from "../../common/product.ts";
import { bytesText } from "../../contract/sizes.ts";
import type { Command } from "../catalog.ts";
import { fetchFiles, type Watcher } from "../fetch.ts";
import type { FetchPlan, Target } from "../fetch-plan.ts";
import { downloadForm } from "../output/files.ts";
import { openProgress, type Progress } from "../progress.ts";
import type { World } from "../world.ts";
import { answerOne } from "./answers.ts";
import { isLost } from "./detached.ts";

/** `outrigger download`. Prints where the files are; 1 when some could not come along. */
export const download: Command<"download"> = async (world, [place = "", given], { rank = 0 }) => {
  const { terminal, signal } = world;
  const target = targetOf(world, nameOf(place), given);
  const progress = openProgress(terminal);
  const source = { client: await world.connect(), place, rank, signal };
  try {
    const plan = await fetchFiles(source, target, watch(progress, place));
    progress.end("done");
    for (const { path, why } of plan.left)
      terminal.warn(`${terminal.paintNote("red", "✗")} left out ${path || place}: ${why}`);
    if (world.json) answerOne(world, {}, downloadForm, resultOf(plan));
    else terminal.answer(plan.root);
    return plan.left.length > 0 ? 1 : 0;
  } catch (error) {
    const isOpen = signal.aborted || isLost(error);
    progress.end(isOpen ? "left" : "failed");
    if (isOpen) terminal.note("Partial files are kept; run the same command again to continue.");
    throw error;
  }
};

const resultOf = (plan: FetchPlan) => ({
  ...{ path: plan.root, files: plan.listed, transferred: plan.files.length },
  ...{ transferred_bytes: sizeOf(plan) },
  left_out: plan.left.map(({ path, why: reason }) => ({ path, reason })),
});

function watch(progress: Progress, place: string): Watcher {
  const looking = `Looking at ${place}`;
  let total = 0;
  let title = "";
  let shown = "";
  progress.step(looking);
  const tell = (text: string) => {
    if (text !== shown) progress.reword(text);
    shown = text;
  };
  return {
    looking: (listed) => {
      if (listed > 0 && listed % 100 === 0) tell(`${looking}: ${count(listed, "file")}`);
    },
    begins(plan) {
      title = describe(plan);
      total = sizeOf(plan);
      progress.step(title);
    },
    came: (bytes) => tell(`${title}: ${Math.floor((100 * bytes) / Math.max(1, total))} %`),
  };
}

function describe({ listed, files, modes, links }: FetchPlan): string {
  const changed = files.length + modes.length + links.length;
  if (changed === 0) return `${count(listed, "file")}, all up to date`;
  return `Fetching ${changed} of ${count(listed, "file")}, ${bytesText(sizeOf({ files }))}`;
}

const sizeOf = ({ files }: Pick<FetchPlan, "files">) =>
  files.reduce((sum, { size }) => sum + size, 0);

/** What the last part of `CLUSTER:PATH` is called here. */
function nameOf(place: string): string {
  const [, cluster, path = ""] = /^([^:/~]+):(.*)$/s.exec(place) ?? [];
  if (cluster === undefined)
    fail("UsageError", `name what to fetch: ${product.word} download CLUSTER:PATH`);
  const name = posix.basename(path);
  return ["", "~", ".", ".."].includes(name) ? cluster : name;
}

/** A folder becomes the one that is given; a file goes into one that is there. */
function targetOf({ cwd }: World, name: string, given: string | undefined): Target {
  const here = resolve(cwd, given ?? name);
  return async (kind) => {
    const isInto = kind === "file" && given !== undefined;
    if (isInto && (given.endsWith("/") || (await isFolder(here)))) return join(here, name);
    return kind === "folder" ? followed(here) : here;
  };
}

/** Whoever names a link to a folder means the folder. */
const followed = (path: string): Promise<string> =>
  realpath(path).catch((error: unknown) => {
    if (errorCodeOf(error) === "ENOENT") return path;
    throw error;
  });
