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
