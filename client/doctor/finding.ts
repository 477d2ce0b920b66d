/** What a look at this installation found. */
export interface Finding {
  readonly check: string;
  /** A warning leaves everything usable but what its hint names; what is missing is needed. */
  readonly status: "ok" | "warning" | "missing";
  readonly found: string;
  /** What to do. */
  readonly hint?: string;
}

export const ok = (check: string, found: string): Finding => ({ check, status: "ok", found });

export const warning = (check: string, found: string, hint: string): Finding => ({
  ...{ check, status: "warning", found, hint },
});

export const missing = (check: string, found: string, hint: string): Finding => ({
  ...{ check, status: "missing", found, hint },
});
