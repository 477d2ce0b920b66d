import { type Ending, type Handler, type Routes, sendJson } from "./fake-control.ts";

export const cluster = (name: string, status = "UP") => ({
  ...{ name, status, launched_at: 1_700_000_000, autostop: 30, to_down: true, nodes: 1 },
  ...{ user_name: "ana", workspace: "default", resources_str: "1x[CPU:2]", cloud: "Local" },
});
/** Two clusters of which one is up. */
export const two: Ending = { result: [cluster("dev"), cluster("dev-2", "STOPPED")] };
const oneOf: Ending = { result: [cluster("dev")] };
const jobLog: Handler = (_seen, res) => {
  res.writeHead(200, { "x-skypilot-request-id": "log-1", "log-offset": "0" }).end("hello\n");
};

/** Every route that commands call, each with its usual answer. */
export const usual: Routes = {
  "POST /launch": { result: { job_id: 1, handle: null } },
  "POST /exec": { result: { job_id: 2, handle: null } },
  "POST /status": oneOf,
  "POST /queue": { result: [] },
  "POST /logs": jobLog,
  "POST /hook_logs": { log: "saving\n", result: 0 },
  "POST /provision_logs": (_seen, res) => void res.end("made\n"),
  "POST /job_status": { result: { 1: "SUCCEEDED", 2: "SUCCEEDED", 7: "SUCCEEDED" } },
  "POST /cost_report": { result: [] },
  "POST /cluster_events": { result: [{ reason: "made", transitioned_at: 1_700_000_000 }] },
  "POST /check": { log: "local: enabled\n", result: {} },
  "GET /api/status": (_seen, res) => sendJson(res, 200, [{ request_id: "1234-5678" }]),
  "POST /api/cancel": { result: [] },
  ...Object.fromEntries(
    ["cancel", "stop", "down", "start", "autostop"].map((name) => [`POST /${name}`, {}]),
  ),
};
