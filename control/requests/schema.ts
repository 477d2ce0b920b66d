import { toAppError } from "../../common/errors.ts";
import { type RequestStatus, requestMachine } from "../../contract/statuses.ts";

/** Who asks. Without a login layer it is whom the caller says it is. */
export interface User {
  id: string;
  name: string;
}

/** Whether an id can name a user: it names folders, and is shown to others. */
export const isUserId = (id: string): boolean => /^[a-zA-Z0-9][\w.@+-]{0,127}$/.test(id);

/** What is stored of an error; details hold no secret. */
export interface Failure {
  type: string;
  message: string;
  details: Readonly<Record<string, unknown>>;
}

/** A stored request. Instants are epoch milliseconds; `returnValue` is JSON text. */
export interface StoredRequest {
  id: string;
  name: string;
  status: RequestStatus;
  queue: "long" | "short";
  user: User;
  clusterName: string | null;
  clientApi: number | null;
  statusNote: string | null;
  returnValue: string | null;
  failure: Failure | null;
  createdAt: number;
  finishedAt: number | null;
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
