/** What clients read from their environment, by the name after `OUTRIGGER_`. */
export const clientVariables = {
  ENDPOINT: "Address of the control plane; http://127.0.0.1:46580 when not set.",
  USER_ID: "Who calls; otherwise each user has an id of their own in `user_hash` of the home.",
  USER: "Name of the caller; otherwise the one of the operating system.",
} as const;
