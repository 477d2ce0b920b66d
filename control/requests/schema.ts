import { toAppError } from "../../common/errors.ts";
import { type RequestStatus, requestMachine } from "../../contract/statuses.ts";

/** Who asks. The id also names folders. */
export interface User {
  readonly id: string;
  readonly name: string;
}

/** What is stored of an error; details hold no secret. */
export interface Failure {
  type: string;
  message: string;
  details: Readonly<Record<string, unknown>>;
}

/** What a caller asked for. Requests of older versions do not say by which program. */
export interface Asked {
  readonly input: unknown;
  readonly command: string;
  readonly program?: string;
}

/** A stored request, as lists have it. Instants are epoch milliseconds. */
export interface StoredRequest {
  id: string;
  name: string;
  status: RequestStatus;
  queue: "long" | "short";
  user: User;
  clusterName: string | null;
  clientApi: number | null;
  workspace: string;
  statusNote: string | null;
  createdAt: number;
  finishedAt: number | null;
}

/** A request that has ended, with its result: `returnValue` is JSON text. */
export interface EndedRequest extends StoredRequest {
  returnValue: string | null;
  failure: Failure | null;
}

/** How a request ended. */
export type Ending =
  | { status: "SUCCEEDED"; returnValue: string }
  | { status: "FAILED"; failure: Failure }
  | { status: "CANCELLED" };

/** Whether nothing more will happen to it. */
export const hasEnded = ({ status }: Pick<StoredRequest, "status">): boolean =>
  requestMachine.isFinal(status);

/** A thrown error as the ending of a request. */
export function failureOf(error: unknown): Ending {
  const { type, message, details } = toAppError(error);
  return { status: "FAILED", failure: { type, message, details } };
}

/** The key that wakes those who wait for a request, its log or its end. */
export const requestKey = (id: string): string => `request:${id}`;
