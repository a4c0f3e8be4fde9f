/** Answers that follow what is looked at: the last one stays until the next has come, and what was asked once is kept. */

import { useEffect, useRef, useState } from "react";

export interface Fetched<T> {
  found: T | null;
  why: string;
  /** Whether what is shown is of an earlier question. */
  busy: boolean;
}

const MOST_KEPT = 120;
/** Answers about an epoch that is over do not change. */
const kept = new Map<string, unknown>();

function keep(name: string, answer: unknown): void {
  kept.set(name, answer);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

/** Ask whenever the key is another, after a moment of rest; no key asks nothing. */
export function useFetched<T>(kind: string, key: string | null, ask: () => Promise<T>, rest = 60): Fetched<T> {
  const [state, setState] = useState<Fetched<T>>({ found: null, why: "", busy: false });
  const asking = useRef(ask);
  asking.current = ask;
  const name = key === null ? null : `${kind} ${key}`;
  useEffect(() => {
    if (name === null) return setState({ found: null, why: "", busy: false });
    if (kept.has(name)) return setState({ found: kept.get(name) as T, why: "", busy: false });
    let current = true;
    setState((before) => ({ ...before, busy: true }));
    const timer = setTimeout(() => {
      asking.current().then(
        (found) => {
          keep(name, found);
          if (current) setState({ found, why: "", busy: false });
        },
        (error: Error) => current && setState({ found: null, why: error.message, busy: false }),
      );
    }, rest);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [name, rest]);
  return state;
}
