import type { Agent } from "../context.ts";
import { addEvent } from "../events.ts";
import { findNode } from "../node.ts";
import { describeWriteBack, type WriteBack } from "./unwritten.ts";

/** Reports files that were or were not written. */
export function tellWriteBack(agent: Agent, result: WriteBack): void {
  const status = result.left.length > 0 ? "UNWRITTEN" : "WRITTEN";
  tell(agent, status, describeWriteBack(result));
}

/** Reports what became of a mount: in the log, and as an event of the node. */
export function tell(agent: Agent, status: string, text: string): void {
  agent.log[status === "MOUNTED" || status === "WRITTEN" ? "info" : "warn"]({ text }, "mounts");
  if (findNode(agent.journal) !== undefined) addEvent(agent, { kind: "mount", status, text });
}
