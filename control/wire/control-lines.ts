import { protocol } from "../../common/product.ts";
import { neutraliseText } from "./neutralise.ts";

/** What a line inside a stream may tell the client instead of being printed. */
export const controlCodes = {
  rich_init: "makes a spinner with this text",
  rich_start: "shows the spinner",
  rich_update: "changes its text",
  rich_stop: "pauses it",
  rich_exit: "takes it away",
  heartbeat: "nothing: keeps the connection alive",
  instant: "says when the lines after it began, or nothing; sent on request only",
  retry: "opens the stream again at once",
} as const;
export type ControlCode = keyof typeof controlCodes;

/**
 * One control line, newline included. It must begin at the start of a line, or the client swallows
 * what stands before it. Source: the protocol's existing clients read the JSON text between tags.
 */
export function controlLine(code: ControlCode, text = ""): string {
  const tag = protocol.payloadTag;
  const json = JSON.stringify(`<${code}>${neutraliseText(text)}</${code}>`);
  return `<${tag}>${json.replaceAll(`</${tag}`, `<\\/${tag}`)}</${tag}>\n`;
}
