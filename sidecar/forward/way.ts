import type { Refusal } from "../refusals.ts";
import type { Outcome, Passage } from "./passage.ts";
import type { Address, Choose, DeadEnd, Forget, Route } from "./route.ts";

const none: readonly DeadEnd[] = [];

/** The way of the request that is under way: every route that is chosen is told of its end, once. */
export class Way {
  readonly #choose: Choose;
  readonly #request: Passage;
  readonly #found: (to: Address | Refusal) => void;
  #route: Route | undefined;
  #forget: Forget | undefined;
  #deadEnds = none;

  /** `found` is told of each choice that is not made at once. */
  constructor(choose: Choose, request: Passage, found: (to: Address | Refusal) => void) {
    this.#choose = choose;
    this.#request = request;
    this.#found = found;
  }

  /** Where the request goes, or why it does not; undefined when that is told later. */
  find(): Address | Refusal | undefined {
    const choice = this.#choose(this.#request, this.#deadEnds, this.#tell);
    if (typeof choice !== "function") return this.#take(choice);
    this.#forget = choice;
    return undefined;
  }

  /** Whether it was chosen, and leads nowhere any more. */
  get isLost(): boolean {
    return this.#route?.isLost === true;
  }

  /** Whether a choice is to come. */
  get isOpen(): boolean {
    return this.#forget !== undefined;
  }

  readonly #tell = (choice: Route | Refusal): void => {
    this.#forget = undefined;
    this.#found(this.#take(choice));
  };

  #take(choice: Route | Refusal): Address | Refusal {
    if (typeof choice === "string") return choice;
    this.#route = choice;
    this.#request.way = choice.name ?? "";
    return choice.to;
  }

  /** No answer began on this way; `find` tries another. */
  turn(why: Refusal, wasConnected: boolean): void {
    if (this.#route !== undefined)
      this.#deadEnds = [...this.#deadEnds, { to: this.#route.to, why, wasConnected }];
    this.#leave(why);
  }

  /** The request is over. */
  end(outcome: Outcome): void {
    this.#deadEnds = none;
    this.#forget?.();
    this.#forget = undefined;
    this.#leave(outcome);
  }

  #leave(outcome: Outcome): void {
    const route = this.#route;
    this.#route = undefined;
    route?.done(outcome);
  }
}
