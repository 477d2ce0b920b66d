import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

const options = { skip: whyNoSlurm(), timeout: 180_000 };

test(
  "what an allocation leaves that Slurm has killed is removed by the next one there",
  options,
  async (t) => {
    const { slurm, scratch, control, untilNothingIsLeft } = await startOnSlurm(t);
    const [killed, next] = [clusterOf(control, "killed"), clusterOf(control, "next")];
    await killed.follow(await killed.launch(aTask("echo begun")));
    const kill = 'kill -KILL "$(ps -o ppid= "$(cat "$HOME/agent.pid")")"';

    await killed.exec(aTask(kill));

    await until(async () => (await slurm.run("squeue", "--noheader")) === "" || undefined);
    assert.equal(readdirSync(scratch).length, 1);
    const { text } = await next.follow(await next.launch(aTask("cd ~/.. && ls -d outrigger-*")));
    assert.equal(text.match(/outrigger-\d+-\d+-0/g)?.length, 1);
    await next.down();
    await untilNothingIsLeft();
  },
);
