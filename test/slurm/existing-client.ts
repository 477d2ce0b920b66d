import { test } from "node:test";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { playLines } from "../interop/play.ts";
import { startOnSlurm } from "./bed.ts";

test(
  "the existing client sees what Slurm has and launches there",
  {
    skip: whyNoSlurm(),
    timeout: 600_000,
  },
  (t) => playLines(t, "slurm.txt", async () => (await startOnSlurm(t)).control),
);
