import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ServiceStatusRecord } from "../../contract/records/services.ts";
import { commandLine } from "./command-line.ts";
import { fakeControl, type Routes } from "./fake-control.ts";

export const endpoint = "http://127.0.0.1:30001";
export const key = "sk-very-secret";
const document = `name: chat
resources: { ports: 8080 }
secrets: { API_KEY: null }
service:
  replicas: 2
  readiness_probe: { path: /health, headers: { Authorization: Bearer $API_KEY } }
  auth: { api_key: $API_KEY }
run: serve
`;

/**
 * A control plane, and a command line beside the document of a service, which is one after another what
 * is given; the last one stays.
 */
export async function serving(
  t: TestContext,
  looks: readonly ServiceStatusRecord[],
  more: Routes = {},
) {
  let look = 0;
  const control = await fakeControl(t, {
    "POST /serve/up": { result: ["chat", endpoint] },
    "POST /serve/update": {},
    "POST /optimize": { log: "any machine\n" },
    ...more,
    get "POST /serve/status"() {
      const now = looks[Math.min(look, looks.length - 1)];
      look += 1;
      return { result: now === undefined ? [] : [now] };
    },
  });
  const outrigger = await commandLine(t, control.endpoint);
  writeFileSync(join(outrigger.folder, "chat.yaml"), document);
  return { control, outrigger, looked: () => look };
}

/** Brings up the service of the document. */
export const up = ["serve", "up", "chat.yaml", "--secret", `API_KEY=${key}`];
