import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { keepDatabase } from "./database.ts";
import { absenceOf } from "./job-wishes.ts";
import { installFiles, installPorts } from "./machine.ts";
import { play } from "./play.ts";
import { makeHome } from "./program.ts";
import { regressions } from "./regressions.ts";
import { scriptOf } from "./script.ts";
import { isAlike, shrink } from "./shrink.ts";
import type { Numbered } from "./stage.ts";

const { values } = parseArgs({
  options: {
    /** The first seed; alone it is played with its trace. */
    seed: { type: "string", default: "1" },
    seeds: { type: "string" },
    /** Plays only these steps of the seed. */
    only: { type: "string" },
    jobs: { type: "string", default: "1" },
    /** Of as many processes, this one plays one seed in so many. */
    every: { type: "string", default: "1" },
    /** Plays what once failed. */
    regressions: { type: "boolean", default: false },
    "fail-fast": { type: "boolean", default: false },
  },
});

/** Where a flush costs nothing, on the systems that have such a place. */
const inMemory = "/dev/shm";
const folder = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), "sim-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const first = Number(values.seed);
const jobs = Number(values.jobs);
if (values.regressions) await repeat();
else if (values.seeds === undefined) await show(first);
else if (jobs > 1) await share(Number(values.seeds));
else await search(Number(values.seeds), Number(values.every));

/** Plays one seed, and prints what happened. */
async function show(seed: number): Promise<void> {
  const places = await prepare();
  const only = values.only?.split(",").map(Number);
  const steps = stepsOf(seed).filter(([number]) => only?.includes(number) ?? true);
  const { trace, hash, failure } = await play(seed, steps, places);
  console.log(trace.join("\n"));
  console.log(
    `seed ${seed}: ${failure === null ? "passed" : "FAILED"}, trace ${hash.slice(0, 16)}`,
  );
  process.exitCode = failure === null ? 0 : 1;
}

/** Plays many seeds; one that fails is shrunk and printed. */
async function search(count: number, every: number): Promise<void> {
  // Nobody reads where an error of a search came from, which costs more than the error.
  Error.stackTraceLimit = 0;
  const places = await prepare();
  for (let seed = first; seed < first + count; seed += every) {
    const steps = stepsOf(seed);
    const outcome = await play(seed, steps, places);
    if (outcome.failure === null) continue;
    process.exitCode = 1;
    const { message, detail } = outcome.failure;
    console.log(`seed ${seed}: ${message}: ${detail}`);
    const fails = async (fewer: readonly Numbered[]) =>
      isAlike(outcome, await play(seed, fewer, places));
    const few = await shrink(steps, fails);
    for (const [number, step] of few) console.log(`  ${number} ${JSON.stringify(step)}`);
    const numbers = few.map(([number]) => number).join(",");
    console.log(`  again: npm run sim -- --seed ${seed} --only ${numbers}`);
    if (values["fail-fast"]) return;
  }
}

/** Plays what once failed; prints what fails again. */
async function repeat(): Promise<void> {
  const places = await prepare();
  for (const { showed, seed, steps } of regressions) {
    const numbered = steps.map((step, number): Numbered => [number, step]);
    const { failure } = await play(seed, numbered, places);
    if (failure === null) continue;
    process.exitCode = 1;
    console.log(`${showed}: ${failure.message}: ${failure.detail}`);
  }
}

/** Has several processes search, each its share of the seeds. */
async function share(count: number): Promise<void> {
  const since = performance.now();
  const codes = await Promise.all(
    Array.from({ length: jobs }, async (_, job) => {
      const words = ["--seed", first + job, "--seeds", count - job, "--every", jobs];
      const [code] = await once(fork(import.meta.filename, words.map(String)), "exit");
      return code;
    }),
  );
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  console.log(
    `${count} seeds in ${seconds} s, ${codes.every((code) => code === 0) ? "passed" : "FAILED"}`,
  );
  if (codes.some((code) => code !== 0)) process.exitCode = 1;
}

/** Makes the home that every run begins with, and takes over what else could decide an order. */
async function prepare() {
  const template = join(folder, "template");
  await makeHome(template);
  installFiles();
  installPorts();
  return { folder, template, reset: keepDatabase() };
}

function stepsOf(seed: number): Numbered[] {
  return (absenceOf(seed) ?? scriptOf(seed)).map((step, number) => [number, step]);
}
