import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { readSettings } from "../../common/config.ts";

const Settings = z.object({
  homeFolder: z.string().default("/home"),
  port: z.coerce.number().int().min(0).max(65_535).default(1),
  logLevel: z.enum(["debug", "info"]).default("info"),
});
const read = (env: Record<string, string>) => readSettings(Settings, env, ["OUTRIGGER_ENDPOINT"]);

test("a setting is read from the variable of its name; the rest has defaults", () => {
  const env = { OUTRIGGER_HOME_FOLDER: "/x", OUTRIGGER_PORT: "80", LOG_LEVEL: "debug" };

  assert.deepEqual(read(env), { homeFolder: "/x", port: 80, logLevel: "debug" });
  assert.deepEqual(read({ OUTRIGGER_PORT: "" }), {
    homeFolder: "/home",
    port: 1,
    logLevel: "info",
  });
});

test("variables of others are left alone", () => {
  assert.equal(read({ PATH: "/bin", HOME: "/root", OUTRIGGER_ENDPOINT: "x" }).port, 1);
});

test("what is wrong is refused by the name of its variable", () => {
  const wrong = {
    OUTRIGGER_PROT: /unknown setting OUTRIGGER_PROT; expected one of .*OUTRIGGER_PORT/,
    OUTRIGGER_LOG_LEVEL: /unknown setting OUTRIGGER_LOG_LEVEL; expected one of .*, LOG_LEVEL/,
  };
  for (const [name, message] of Object.entries(wrong))
    assert.throws(() => read({ [name]: "1" }), { name: "ConfigError", message });
  for (const port of ["web", "1.5", "-1", "70000"])
    assert.throws(() => read({ OUTRIGGER_PORT: port }), {
      name: "ConfigError",
      message: /^OUTRIGGER_PORT: /,
    });
  assert.throws(() => read({ LOG_LEVEL: "loud" }), {
    name: "ConfigError",
    message: /^LOG_LEVEL: /,
  });
});
