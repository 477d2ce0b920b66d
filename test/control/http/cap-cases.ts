import type { RefusedCase } from "./refused-cases.ts";

/** Inputs that exceed a cap of their row, by what there is too much of. */
export const capCases: Record<string, RefusedCase> = {
  "more ids than one request cancels": {
    send: ["POST", "/api/cancel", { request_ids: Array(1_001).fill("a") }],
    status: 422,
    loc: ["body", "request_ids"],
    says: /must have at most 1000 items/,
  },
  "a name without end": {
    send: ["POST", "/stop", { cluster_name: "c".repeat(1_025) }],
    status: 422,
    loc: ["body", "cluster_name"],
    says: /must have at most 1024 characters/,
  },
  "a variable's name without end": {
    send: ["POST", "/status", { env_vars: { ["v".repeat(1_025)]: "" } }],
    status: 422,
    loc: ["body", "env_vars", "v".repeat(80)],
    says: /the name must have at most 1024 characters/,
  },
  "more variables than a caller has": {
    send: [
      "POST",
      "/status",
      { env_vars: Object.fromEntries([...Array(1_001).keys()].map((at) => [at, ""])) },
    ],
    status: 422,
    loc: ["body", "env_vars"],
    says: /must have at most 1000 entries/,
  },
  "more values than any row takes": {
    send: ["POST", "/job_status", { cluster_name: "c", job_ids: Array(300_000).fill(1) }],
    status: 422,
    loc: ["body"],
    says: /has more than 50000 values/,
  },
  "no limit at all": {
    send: ["GET", "/api/status?limit=-1"],
    status: 422,
    loc: ["query", "limit"],
    says: /must be at least 0/,
  },
  "a name of events over the cap": {
    send: ["GET", `/events?name=${"x".repeat(1_025)}`],
    status: 422,
    loc: ["query", "name"],
    says: /must have at most 1024 characters/,
  },
  "an id of an event over the cap": {
    send: ["GET", "/events?since=1125899906842625"],
    status: 422,
    loc: ["query", "since"],
    says: /must be at most 1125899906842624/,
  },
  "an id of an event below zero": {
    send: ["GET", "/events", undefined, { "last-event-id": "-1" }],
    status: 422,
    loc: ["header", "last-event-id"],
    says: /expected the id of an event, a number/,
  },
  "a limit over the cap": {
    send: ["GET", "/api/status?limit=1001"],
    status: 422,
    loc: ["query", "limit"],
    says: /must be at most 1000/,
  },
};
