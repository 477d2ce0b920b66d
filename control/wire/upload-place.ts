import { posix } from "node:path";

/** The path of what lies at a place of an upload: clients put a slash before it, or behind. */
export const pathInUpload = (place: string): string =>
  posix.normalize(place).replace(/^\/+|\/+$/g, "");
