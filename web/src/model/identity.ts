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
const lockOf = (client: string) => `inkcap-client-${client}`;

/** Hold a name for as long as the tab lives; a tab that was duplicated or is still open keeps its own. */
export async function hold(client: string): Promise<boolean> {
  // Who leaves a drawing and comes back in the same tab has its name still.
  if (!navigator.locks || mine.has(client)) return true;
  return new Promise((resolve) => {
    void navigator.locks.request(lockOf(client), { ifAvailable: true }, (lock) => {
      if (lock) mine.add(client);
      resolve(lock !== null);
      return lock ? new Promise<void>(() => undefined) : undefined;
    });
  });
}

/** Tell which of some names no other tab holds. */
export async function free(clients: string[]): Promise<string[]> {
  const held = new Set((await navigator.locks?.query())?.held?.map((lock) => lock.name));
  return clients.filter((client) => mine.has(client) || !held.has(lockOf(client)));
}

/** What this browser has kept of a drawing: what tabs have left of it, and the names that they had. */
export interface Memory {
  left(): Promise<Orphan[]>;
  known(): Promise<Known[]>;
}

/** Go on as before a reload, or for the tab that was there last and is gone, or as somebody new. */
export async function identify(drawing: string, memory: Memory): Promise<Identity> {
  const key = `inkcap-client-${drawing}`;
  const before = JSON.parse(sessionStorage.getItem(key) ?? "null") as { client: string; next: number } | null;
  // Without locks nobody can tell whether the owner of a name still lives.
  const names = navigator.locks ? (await memory.known()).map((one) => one.client) : [];
  const left = (await memory.left()).map((one) => one.client);
  for (const client of new Set([...(before ? [before.client] : []), ...names, ...left])) {
    if (!(await hold(client))) continue;
    // Only now nobody else edits under this name: its owner may have lived a moment ago.
    const pending = (await memory.left()).find((one) => one.client === client)?.pending ?? [];
    const numbers = (await memory.known()).filter((one) => one.client === client).map((one) => one.next);
    if (before?.client === client) numbers.push(before.next);
    return { client, pending, next: Math.max(1, ...numbers, ...pending.map((one) => one.number + 1)) };
  }
  const client = crypto.randomUUID();
  await hold(client);
  return { client, pending: [], next: 1 };
}

export function remember(drawing: string, client: string, next: number): void {
  sessionStorage.setItem(`inkcap-client-${drawing}`, JSON.stringify({ client, next }));
}
