/** Drafts: what is being written into a note and is no edit yet, in IndexedDB, so that a browser that dies keeps it. */

import { done, write } from "./outbox";

const NAME = "inkcap-drafts";
const STORE = "draft";

export interface Draft {
  drawing: string;
  /** The tab that writes: nobody takes the draft of one that lives. */
  client: string;
  note: string;
  /** What the note said before: a note that says something else by now is left as it is. */
  before: string;
  text: string;
}

export class Drafts {
  private constructor(private readonly database: IDBDatabase) {}

  static async open(factory: IDBFactory = indexedDB): Promise<Drafts> {
    const request = factory.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: ["drawing", "client", "note"] });
    return new Drafts(await done(request));
  }

  async keep(draft: Draft): Promise<void> {
    await write(this.store("readwrite"), (store) => store.put(draft));
  }

  async forget({ drawing, client, note }: Pick<Draft, "drawing" | "client" | "note">): Promise<void> {
    await write(this.store("readwrite"), (store) => store.delete([drawing, client, note]));
  }

  /** What a tab was writing into the notes of a drawing. */
  async of(drawing: string, client: string): Promise<Draft[]> {
    const all = IDBKeyRange.bound([drawing, client], [drawing, client, []]);
    return done<Draft[]>(this.store("readonly").getAll(all));
  }

  private store(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(STORE, mode).objectStore(STORE);
  }
}
