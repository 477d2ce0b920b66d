import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { portOf, start } from "./program.ts";

const skip = process.platform === "linux" ? false : "needs /proc/net";
/** As /proc/net/tcp numbers states. Source: include/net/tcp_states.h of Linux. */
const listening = "0A";

test("sixteen sockets listen on the port, so that a crowd waits behind none", {
  skip,
}, async (t) => {
  const sidecar = start(t, ["--key", "secret", "--upstream", "127.0.0.1:9", "--access-log", "off"]);

  const port = await portOf(sidecar);

  assert.equal(countListeners(port), 16);
});

function countListeners(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = ["tcp", "tcp6"].flatMap((file) =>
    readFileSync(`/proc/net/${file}`, "utf8").split("\n"),
  );
  const fields = rows.map((row) => row.trim().split(/\s+/));
  return fields.filter(([, at = "", , state]) => at.endsWith(local) && state === listening).length;
}
