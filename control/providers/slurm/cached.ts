/** What was read in the last while; callers at the same time share one answer. */
export function cached<T>(ms: number, read: () => Promise<T>) {
  let last: { at: number; answer: Promise<T> } | undefined;
  return {
    read(): Promise<T> {
      if (last !== undefined && performance.now() - last.at < ms) return last.answer;
      const answer = read();
      const now = { at: performance.now(), answer };
      last = now;
      answer.catch(() => {
        if (last === now) last = undefined;
      });
      return answer;
    },
    forget(): void {
      last = undefined;
    },
  };
}
