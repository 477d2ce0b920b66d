import { readFileSync } from "node:fs";
import { join } from "node:path";

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as it may stand in HTML, within quotes too. */
export const safe = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign);

/** A style or script that pages contain. */
export const pageFile = (name: string): string =>
  readFileSync(join(import.meta.dirname, "pages", name), "utf8");
