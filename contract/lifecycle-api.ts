import * as z from "zod";
import { innerOperations } from "../common/operation.ts";
import { Health } from "./agent-shapes.ts";
import { hookEvents } from "./hooks.ts";
import { HookSet, Lifecycle, LifecycleOrder } from "./lifecycle-shapes.ts";

const path = z.object({ id: z.string() });
const one = { path };

/** The part of the agent's API that is about hooks and the end of the node. */
export const lifecycleOperations = innerOperations({
  putHooks: {
    route: "PUT /hooks",
    summary: "Replace the hooks of the node; a lifecycle under way keeps those it began with.",
    input: { body: HookSet },
    output: Health,
  },
  beginLifecycle: {
    route: "POST /lifecycles",
    summary:
      "Begin a lifecycle, or join or escalate the one in progress, whatever its id, and return it. A stop is refused during a teardown.",
    input: { body: LifecycleOrder },
    output: Lifecycle,
    errors: ["ConflictError"],
  },
  listLifecycles: {
    route: "GET /lifecycles",
    summary: "The latest lifecycles of the node, newest first.",
    output: z.array(Lifecycle),
  },
  getLifecycle: {
    route: "GET /lifecycles/{id}",
    summary: "One lifecycle.",
    input: one,
    output: Lifecycle,
    errors: ["NotFoundError"],
  },
  cancelLifecycle: {
    route: "POST /lifecycles/{id}/cancel",
    summary:
      "Cancel a lifecycle: no further hook starts, a running one finishes, jobs are accepted again. A READY one becomes DONE. If it met a preemption, the preemption continues.",
    input: one,
    output: Lifecycle,
    errors: ["NotFoundError"],
  },
  confirmLogs: {
    route: "POST /lifecycles/{id}/confirm-logs",
    summary: "Say that the whole log was fetched: an agent that is about to leave need not wait.",
    input: one,
    output: Lifecycle,
    errors: ["NotFoundError"],
  },
  readHookLog: {
    route: "GET /lifecycles/{id}/logs/{event}",
    mode: "stream",
    summary:
      "What the hooks of an event wrote in a lifecycle, from a byte offset, secrets masked at their length; with `follow` until no more can come. Bytes that were left out are skipped: the header `log-offset` has the offset of the first byte, so a reader stops and asks again where `gapOf` says that bytes are missing.",
    input: {
      path: path.extend({ event: z.enum(hookEvents) }),
      query: z.object({
        offset: z.coerce.number().int().min(0).default(0),
        follow: z.stringbool().default(false),
      }),
    },
    output: z.unknown(),
    errors: ["NotFoundError"],
  },
  preempt: {
    route: "POST /preempt",
    summary:
      "Send the node a preemption notice. Without `deadlineAt`, its configured grace applies.",
    input: {
      // People type this one: a name that is not known would be a deadline that nobody keeps.
      body: z.strictObject({
        because: z.string().default("asked for on the node"),
        deadlineAt: z.int().min(0).nullable().default(null),
      }),
    },
    output: Lifecycle,
  },
});
