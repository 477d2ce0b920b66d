import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../control/config.ts";

test("a control plane listens on loopback and nowhere else", () => {
  for (const host of ["127.0.0.1", "::1", "127.1.2.3"])
    assert.equal(readConfig({ OUTRIGGER_HOST: host }).host, host);
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "example.org"])
    assert.throws(() => readConfig({ OUTRIGGER_HOST: host }), {
      name: "ConfigError",
      message: /^OUTRIGGER_HOST: .* is not a loopback address/,
    });
});

test("a variable of ours that nobody knows is refused by name", () => {
  assert.throws(() => readConfig({ OUTRIGGER_PROT: "80" }), { message: /setting OUTRIGGER_PROT/ });
  assert.equal(readConfig({ OUTRIGGER_ENDPOINT: "http://x", OUTRIGGER_USER: "ann" }).port, 46_580);
});

test("settings that make no sense are refused", () => {
  const wrong = {
    OUTRIGGER_PORT: "99999",
    OUTRIGGER_LONG_AT_ONCE: "0",
    OUTRIGGER_REQUEST_RETENTION_HOURS: "soon",
    OUTRIGGER_LOCAL_ACCELERATORS: "many",
  };
  for (const [name, value] of Object.entries(wrong))
    assert.throws(() => readConfig({ [name]: value }), { message: new RegExp(`^${name}: `) });
});

test("a range of ports begins before it ends, and has no port that there is not", () => {
  for (const range of ["5-3", "70000-80000", "-5-3", "0-9"])
    assert.throws(() => readConfig({ OUTRIGGER_BALANCER_PORTS: range }), {
      message: "OUTRIGGER_BALANCER_PORTS: write the first and the last port: 20000-29999",
    });
  assert.equal(readConfig({ OUTRIGGER_BALANCER_PORTS: "80-80" }).balancerPorts, "80-80");
});

test("a home that is told from where control starts is one for its nodes, too", () => {
  assert.equal(readConfig({ OUTRIGGER_HOME: "here" }).home, resolve("here"));
});

test("nodes of this machine reach the network as control does", () => {
  const given = { https_proxy: "http://proxy:1", NO_PROXY: "a,b", TZ: "UTC", SECRET: "x" };

  assert.deepEqual(readConfig(given).nodeEnv, {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    LANG: "C.UTF-8",
    https_proxy: "http://proxy:1",
    NO_PROXY: "a,b",
    TZ: "UTC",
  });
});

test("localhost is one address, of the one server that limits connections", () => {
  assert.equal(readConfig({ HOME: "/h", OUTRIGGER_HOST: "localhost" }).host, "127.0.0.1");
});
