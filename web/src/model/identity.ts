/** Who this tab is: the name under which the server counts its edits and keeps its undo. */

import type { Pending } from "./mirror";
import type { Orphan } from "./outbox";

export interface Identity {
  client: string;
  pending: Pending[];
  next: number;
}

/** Hold a name for as long as the tab lives; a tab that was duplicated or is still open keeps its own. */
export async function hold(client: string): Promise<boolean> {
  if (!navigator.locks) return true;
  return new Promise((resolve) => {
    void navigator.locks.request(`inkcap-client-${client}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock ? new Promise<void>(() => undefined) : undefined;
    });
  });
}

/** Go on as before a reload, or for a tab that died with edits in its outbox, or as somebody new. */
export async function identify(drawing: string, left: Orphan[]): Promise<Identity> {
  const key = `inkcap-client-${drawing}`;
  const before = JSON.parse(sessionStorage.getItem(key) ?? "null") as { client: string; next: number } | null;
  const known = new Map(left.map((one) => [one.client, one.pending]));
  for (const client of new Set([...(before ? [before.client] : []), ...known.keys()])) {
    if (!(await hold(client))) continue;
    const pending = known.get(client) ?? [];
    const next = client === before?.client ? before.next : 1;
    return { client, pending, next: Math.max(next, ...pending.map((one) => one.number + 1)) };
  }
  const client = crypto.randomUUID();
  await hold(client);
  return { client, pending: [], next: 1 };
}

export function remember(drawing: string, client: string, next: number): void {
  sessionStorage.setItem(`inkcap-client-${drawing}`, JSON.stringify({ client, next }));
}
