import { spawn } from "node:child_process";
import type { World } from "./world.ts";

/** Shows a page in the user's browser, if there is one here; the page is named to the user anyway. */
export function openBrowser({ terminal, env }: Pick<World, "terminal" | "env">, url: string): void {
  const hasScreen = process.platform === "darwin" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
  if (!terminal.isLive || !hasScreen) return;
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.once("error", () => {});
  child.unref();
}
