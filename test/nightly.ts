import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Test files, another program with its arguments, or a script with its own. */
interface Row {
  readonly files?: readonly string[];
  readonly program?: readonly string[];
  readonly script?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What takes longer than a commit should wait for, and how long it goes on at night. */
const rows: Readonly<Record<string, Row>> = {
  "a million streams at the sidecar": {
    files: [
      "sidecar/differential.test.ts",
      "sidecar/authorize.test.ts",
      "sidecar/hostile-answers.test.ts",
    ],
    env: { SIDECAR_CASES: "1000000" },
  },
  "a key changed under 1,000 streams": {
    files: ["sidecar/rotation.test.ts"],
    env: { SIDECAR_STREAMS: "1000" },
  },
  "1,000 slow clients, 1,000 stalled uploads": {
    files: ["sidecar/slow.process.test.ts"],
    env: { SIDECAR_SLOW: "1000" },
  },
  "10,000 tasks of every property": {
    files: ["contract/task-properties.test.ts"],
    env: { TASK_CASES: "10000" },
  },
  "1,000 lifecycles": {
    files: ["agent/lifecycles/many.process.test.ts"],
    env: { LIFECYCLES: "1000" },
  },
  "200 kills of control and agents, 200 in a stop, 200 in a lifecycle": {
    files: [
      "e2e/killed-at-random.test.ts",
      "e2e/hooks-killed.test.ts",
      "agent/lifecycles/killed.process.test.ts",
    ],
    env: { KILL_ROUNDS: "200" },
  },
  "a copy of 2 GB from a bucket": {
    files: ["e2e/buckets.test.ts"],
    env: { COPY_TEST_MB: "2048" },
  },
  "50 managed jobs and a pool in two minutes of losses and kills": {
    files: ["e2e/jobs-storm.test.ts"],
    env: { STORM_JOBS: "50", STORM_SECONDS: "120" },
  },
  // It builds an older commit, which a shallow clone does not have.
  "an upgrade from an older build": { files: ["e2e/upgraded.ts"] },
  // It fetches a Debian with debootstrap, which has to be installed.
  "the archive in an empty root": { files: ["e2e/installed-chroot.ts"] },
  "faults and hooks of pods": {
    script: ["kubernetes/run", "test/kubernetes/{faults,hooks}.ts"],
  },
  "launches and jobs on pods": { script: ["kubernetes/run", "bench", "pods"] },
  "launches in containers, and 200 pods": {
    program: ["bench/run.ts", "containers", "kubernetes-pods"],
  },
  "20,000 seeds of the simulation": { program: ["sim/main.ts", "--seeds", "20000", "--jobs", "2"] },
};

const asked = process.argv.slice(2);
const isAsked = (what: string) => asked.length === 0 || asked.some((word) => what.includes(word));

// `npm run nightly` runs them all, `npm run nightly -- kills` those with the word.
const chosen = Object.entries(rows).filter(([what]) => isAsked(what));
if (chosen.length === 0) {
  console.error(`nothing is called so; there are:\n${Object.keys(rows).join("\n")}`);
  process.exitCode = 2;
}
const failed = chosen.filter(([what, row]) => !passes(what, row));
if (failed.length > 0) {
  console.error(`failed: ${failed.map(([what]) => what).join("; ")}`);
  process.exitCode = 1;
}

function passes(what: string, { files = [], program, script, env }: Row): boolean {
  console.log(`\n${what}`);
  const pathOf = (file: string) => join(import.meta.dirname, file);
  const [main = "", ...words] = program ?? script ?? [];
  const tests = ["--test", "--test-concurrency=1", ...files.map(pathOf)];
  const args = program ? [pathOf(main), ...words] : tests;
  const [file, given] = script ? [pathOf(main), words] : [process.execPath, args];
  const { status } = spawnSync(file, given, {
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  return status === 0;
}
