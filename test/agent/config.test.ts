import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../agent/config.ts";

test("scripts see the proxies and certificates that their agent was given, and nothing else", () => {
  const given = { https_proxy: "http://proxy:1", SSL_CERT_FILE: "/ca.pem", SECRET: "x" };

  assert.deepEqual(readConfig({ HOME: "/home/ann", USER: "ann", ...given }).baseEnv, {
    HOME: "/home/ann",
    USER: "ann",
    LOGNAME: "ann",
    SHELL: "/bin/bash",
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    LANG: "C.UTF-8",
    https_proxy: "http://proxy:1",
    SSL_CERT_FILE: "/ca.pem",
    TERM: "dumb",
    PYTHONUNBUFFERED: "1",
  });
});

test("scripts see what Slurm says of their allocation, and nothing of the step that their agent runs in", () => {
  const job = { SLURM_JOB_ID: "7", SLURM_JOB_CPUS_PER_NODE: "8(x2)" };
  const step = { SLURM_STEP_ID: "0", SLURM_NTASKS: "2", SLURM_PROCID: "1", SLURM_MEM_BIND: "none" };
  const ofAgent = { SLURM_TASKS_PER_NODE: "1(x2)" };
  const { baseEnv } = readConfig({ HOME: "/home/ann", ...job, ...step, ...ofAgent });

  const seen = Object.entries(baseEnv).filter(([name]) => name.startsWith("SLURM_"));
  const ours = { SLURM_OVERLAP: "1", SLURM_TASKS_PER_NODE: "8(x2)" };
  assert.deepEqual(Object.fromEntries(seen), { ...job, ...ours });
});

test("a node without settings asks its provider, and takes a SIGTERM for its end", () => {
  const { onTerm, notices, graceMs, selfStopAfterMs, noticeFile, isService } = readConfig({
    HOME: "/home/ann",
  });

  assert.deepEqual([onTerm, notices, graceMs, selfStopAfterMs], ["auto", "auto", 30_000, 600_000]);
  assert.deepEqual([noticeFile, isService], [null, false]);
});

test("only the process that systemd started as a service takes itself for one", () => {
  const isService = (env: Record<string, string>) => readConfig({ HOME: "/", ...env }).isService;

  assert.equal(isService({ SYSTEMD_EXEC_PID: String(process.pid) }), true);
  assert.equal(isService({ SYSTEMD_EXEC_PID: "1", INVOCATION_ID: "a" }), false);
  assert.equal(isService({ INVOCATION_ID: "a", NOTIFY_SOCKET: "/run/systemd/notify" }), true);
});

test("a setting that makes no sense is refused by its name", () => {
  const wrong = { GRACE_SECONDS: "soon", NOTICES: "oracle", METADATA_URL: "https://a.b" };
  for (const [name, value] of Object.entries(wrong))
    assert.throws(
      () => readConfig({ HOME: "/", [`OUTRIGGER_${name}`]: value }),
      new RegExp(`OUTRIGGER_${name}`),
    );
});
