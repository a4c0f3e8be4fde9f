/** Who this tab is: the name under which the server counts its edits and keeps its undo. */

import type { Pending } from "./mirror";
import type { Known } from "./names";
import type { Orphan } from "./outbox";

export interface Identity {
  client: string;
  pending: Pending[];
  next: number;
}

const mine = new Set<string>();

/** Hold a name for as long as the tab lives; a tab that was duplicated or is still open keeps its own. */
export async function hold(client: string): Promise<boolean> {
  // Who leaves a drawing and comes back in the same tab has its name still.
  if (!navigator.locks || mine.has(client)) return true;
  return new Promise((resolve) => {
    void navigator.locks.request(`inkcap-client-${client}`, { ifAvailable: true }, (lock) => {
      if (lock) mine.add(client);
      resolve(lock !== null);
      return lock ? new Promise<void>(() => undefined) : undefined;
    });
  });
}

/** Go on as before a reload, or for the tab that was there last and is gone, or as somebody new. */
export async function identify(drawing: string, left: Orphan[], known: Known[] = []): Promise<Identity> {
  const key = `inkcap-client-${drawing}`;
  const before = JSON.parse(sessionStorage.getItem(key) ?? "null") as { client: string; next: number } | null;
  const waiting = new Map(left.map((one) => [one.client, one.pending]));
  // Without locks nobody can tell whether the owner of a name still lives.
  const names = new Map(navigator.locks ? known.map((one) => [one.client, one.next]) : []);
  if (before) names.set(before.client, Math.max(before.next, names.get(before.client) ?? 1));
  for (const client of new Set([...(before ? [before.client] : []), ...names.keys(), ...waiting.keys()])) {
    if (!(await hold(client))) continue;
    const pending = waiting.get(client) ?? [];
    const next = names.get(client) ?? 1;
    return { client, pending, next: Math.max(next, ...pending.map((one) => one.number + 1)) };
  }
  const client = crypto.randomUUID();
  await hold(client);
  return { client, pending: [], next: 1 };
}

export function remember(drawing: string, client: string, next: number): void {
  sessionStorage.setItem(`inkcap-client-${drawing}`, JSON.stringify({ client, next }));
}
