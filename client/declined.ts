import type { Said } from "./terminal.ts";

/** What shells report for a program that Ctrl-C ended. */
export const interruptedExit = 130;

/** The end of a command whose question was not answered with yes. */
export class Declined extends Error {
  readonly exit: number;

  constructor(said: Exclude<Said, "yes">) {
    super("Nothing was changed.");
    this.exit = said === "interrupted" ? interruptedExit : 1;
  }
}
