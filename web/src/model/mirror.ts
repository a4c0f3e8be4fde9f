/** The mirror: what the server has confirmed, with this tab's pending edits on top, so that nothing waits for an answer. */

import type { Attributes, DrawingFile, Edit } from "../api/types";
import { applyEdit, type Drawing, EMPTY, fromFile } from "./drawing";

export interface PendingEdit {
  number: number;
  /** The last state that this tab had seen, so that the server can tell what it only repeated. */
  base: number | null;
  edit: Edit;
}

export interface PendingCommand {
  number: number;
  base: number | null;
  command: string;
  arguments: Attributes;
}

export type Pending = PendingEdit | PendingCommand;

export const isEdit = (pending: Pending): pending is PendingEdit => "edit" in pending;

export class Mirror {
  private confirmed: Drawing = EMPTY;
  private waiting: Pending[];
  private shown: Drawing = EMPTY;
  /** The highest of this tab's numbers that the state has: what is pending up to it is in the state, or was refused. */
  private known = 0;
  seq: number | null = null;

  constructor(
    readonly client: string,
    waiting: Pending[] = [],
    private next = 1,
  ) {
    this.waiting = [...waiting].sort((a, b) => a.number - b.number);
    for (const { number } of this.waiting) this.next = Math.max(this.next, number + 1);
    this.show();
  }

  /** The drawing as this tab sees it. */
  get drawing(): Drawing {
    return this.shown;
  }

  get pending(): readonly Pending[] {
    return this.waiting;
  }

  get nextNumber(): number {
    return this.next;
  }

  /** Apply an edit of this tab at once and keep it until the server has it. */
  edit(edit: Edit): PendingEdit {
    const pending = { number: this.next++, base: this.seq, edit };
    this.waiting.push(pending);
    this.shown = applyEdit(this.shown, edit);
    return pending;
  }

  /** Keep a command until the server has run it; what it does is known only then. */
  command(command: string, given: Attributes): PendingCommand {
    const pending = { number: this.next++, base: this.seq, command, arguments: given };
    this.waiting.push(pending);
    return pending;
  }

  /**
   * Start from the server's state; what is pending stays on top.
   *
   * What the server has answered before stays pending too, unseen, until it is told again what became of it: an answer
   * that was lost with the line may have been a refusal.
   */
  reset(seq: number, document: DrawingFile, acknowledged = 0): void {
    this.known = acknowledged;
    this.next = Math.max(this.next, acknowledged + 1);
    this.seq = seq;
    this.confirmed = fromFile(document);
    this.show();
  }

  /** Take an edit that the server has applied; tell whether it answers something of this tab. */
  applied(seq: number, client: string, number: number | null, edit: Edit): boolean {
    const own = client === this.client && number !== null && this.settle(number);
    // An acknowledgement that is repeated after a reconnect stands in the state already.
    if (this.seq === null || seq > this.seq) {
      this.seq = seq;
      this.confirmed = applyEdit(this.confirmed, edit);
    }
    this.show();
    return own;
  }

  /** Forget what the server refused; the drawing is as if it had never been tried. */
  rejected(number: number): Pending | undefined {
    const refused = this.waiting.find((one) => one.number === number);
    this.settle(number);
    this.show();
    return refused;
  }

  private settle(number: number): boolean {
    const before = this.waiting.length;
    this.waiting = this.waiting.filter((one) => one.number !== number);
    return this.waiting.length < before;
  }

  private show(): void {
    this.shown = this.waiting
      .filter((one) => one.number > this.known)
      .filter(isEdit)
      .reduce((drawing, one) => applyEdit(drawing, one.edit), this.confirmed);
  }
}
