/** The drawing in the browser: records by kind and id, changed only by edits, never in place. */

import type {
  Capsule,
  Connection,
  DrawingFile,
  Edit,
  Group,
  Kind,
  Patch,
  Plain,
  Point,
  Records,
  Use,
} from "../api/types";

export type Drawing = { readonly [K in Kind]: ReadonlyMap<string, Records[K]> };
export type Vertex = Capsule | Use;

export const EMPTY: Drawing = fromFile({ name: "" });

export function fromFile(file: DrawingFile): Drawing {
  const byId = <T extends { id: string }>(list: T[] | undefined) => new Map((list ?? []).map((one) => [one.id, one]));
  return {
    meta: new Map([["meta", { name: file.name, dtype: file.dtype ?? "float32" }]]),
    capsule: byId(file.capsules),
    connection: byId(file.connections),
    group: byId(file.groups),
    use: byId(file.uses),
    note: byId(file.notes),
    position: new Map(Object.entries(file.positions ?? {})),
    plain: new Map<string, Plain>(file.plain ? [["plain", file.plain]] : []),
  };
}

/** Records of one kind while an edit changes them: their order is kept beside them, so that a thousand cost no more than one each. */
class Ordered {
  private order: string[] | null = null;

  constructor(readonly records: Map<string, unknown>) {}

  put(id: string, record: unknown, index: number | undefined): void {
    if (!this.records.has(id)) {
      if (index !== undefined && index < this.records.size) {
        this.order ??= [...this.records.keys()];
        this.order.splice(index, 0, id);
      } else this.order?.push(id);
    }
    this.records.set(id, record);
  }

  remove(id: string): void {
    this.close();
    this.records.delete(id);
  }

  close(): void {
    if (!this.order) return;
    const ordered = this.order.map((id) => [id, this.records.get(id)] as const);
    this.records.clear();
    for (const [id, record] of ordered) this.records.set(id, record);
    this.order = null;
  }
}

/** Apply an edit and give the new drawing; removing what is gone already does nothing, because a server may have done it. */
export function applyEdit(drawing: Drawing, edit: Edit): Drawing {
  const changed: Partial<Record<Kind, Ordered>> = {};
  const open = (kind: Kind): Ordered => {
    changed[kind] ??= new Ordered(new Map<string, unknown>(drawing[kind] as ReadonlyMap<string, unknown>));
    return changed[kind];
  };
  for (const patch of edit.patches) {
    if ("remove" in patch) open(patch.remove).remove(patch.id);
    else open(patch.put).put(patch.id, patch.record, patch.index);
  }
  const made: Partial<Record<Kind, Map<string, unknown>>> = {};
  for (const [kind, ordered] of Object.entries(changed)) {
    ordered.close();
    made[kind as Kind] = ordered.records;
  }
  return { ...drawing, ...(made as Partial<Drawing>) };
}

/** The edit that takes an edit back, for the drawing as it is before it. */
export function inverse(drawing: Drawing, edit: Edit): Edit {
  const patches: Patch[] = [];
  let now = drawing;
  for (const patch of edit.patches) {
    const kind = "remove" in patch ? patch.remove : patch.put;
    const old = now[kind].get(patch.id);
    if (old !== undefined) {
      const index = "remove" in patch ? [...now[kind].keys()].indexOf(patch.id) : undefined;
      const put = { put: kind, id: patch.id, record: old } as Patch;
      patches.push(index === undefined ? put : ({ ...put, index } as Patch));
    } else if ("put" in patch) patches.push({ remove: kind, id: patch.id });
    now = applyEdit(now, { label: "", patches: [patch] });
  }
  return { label: edit.label, patches: patches.reverse() };
}

export const nameOf = (drawing: Drawing): string => drawing.meta.get("meta")?.name ?? "";

export const isUse = (vertex: Vertex): vertex is Use => "group" in vertex;

export function vertexOf(drawing: Drawing, id: string): Vertex | undefined {
  return drawing.capsule.get(id) ?? drawing.use.get(id);
}

export function vertices(drawing: Drawing): Vertex[] {
  return [...drawing.capsule.values(), ...drawing.use.values()];
}

export const touching = (drawing: Drawing, ids: ReadonlySet<string>): Connection[] =>
  [...drawing.connection.values()].filter((c) => ids.has(c.back) || ids.has(c.front));

/** The inside of a group as a drawing of its own, so that one canvas shows both. */
export function inside(drawing: Drawing, group: Group): Drawing {
  const file: DrawingFile = { name: group.label || group.id };
  if (group.capsules) file.capsules = group.capsules;
  if (group.connections) file.connections = group.connections;
  if (group.uses) file.uses = group.uses;
  if (group.positions) file.positions = group.positions;
  return { ...fromFile(file), group: drawing.group };
}

/** Fold an edit of a group's inside back into the group's record. */
export function foldIntoGroup(drawing: Drawing, group: Group, edit: Edit): Edit {
  const after = applyEdit(inside(drawing, group), edit);
  const record: Group = {
    ...group,
    capsules: [...after.capsule.values()],
    connections: [...after.connection.values()],
    uses: [...after.use.values()],
    positions: Object.fromEntries(after.position),
  };
  const there = (id: string) => after.capsule.has(id) || after.use.has(id);
  // A port whose capsule is gone is no port.
  for (const ports of ["inputs", "outputs"] as const)
    if (group[ports]) record[ports] = Object.fromEntries(Object.entries(group[ports]).filter(([, id]) => there(id)));
  return { label: `${edit.label} in ${group.id}`, patches: [{ put: "group", id: group.id, record }] };
}

/** Every use of a group, in the drawing and inside of other groups. */
export const usesOf = (drawing: Drawing, group: string): Use[] =>
  [...drawing.use.values(), ...[...drawing.group.values()].flatMap((one) => one.uses ?? [])].filter(
    (use) => use.group === group,
  );

/** The selected part as a drawing file's text: what copy puts on the clipboard and paste reads. */
export function excerpt(drawing: Drawing, ids: ReadonlySet<string>, where: ReadonlyMap<string, Point>): DrawingFile {
  const capsules = [...drawing.capsule.values()].filter((c) => ids.has(c.id));
  const uses = [...drawing.use.values()].filter((u) => ids.has(u.id));
  const connections = [...drawing.connection.values()].filter((c) => ids.has(c.back) && ids.has(c.front));
  const notes = [...drawing.note.values()].filter((n) => ids.has(n.id));
  const positions: Record<string, Point> = {};
  for (const id of ids) {
    const at = where.get(id);
    if (at) positions[id] = at;
  }
  const needed = groupsOf(drawing, uses);
  const file: DrawingFile = { format: 1, name: "selection", dtype: drawing.meta.get("meta")?.dtype ?? "float32" };
  file.capsules = capsules;
  file.connections = connections;
  if (needed.length) file.groups = needed;
  if (uses.length) file.uses = uses;
  if (notes.length) file.notes = notes;
  file.positions = positions;
  return file;
}

function groupsOf(drawing: Drawing, uses: Use[]): Group[] {
  const found = new Map<string, Group>();
  const look = [...uses];
  for (let use = look.pop(); use; use = look.pop()) {
    const group = drawing.group.get(use.group);
    if (!group || found.has(group.id)) continue;
    found.set(group.id, group);
    look.push(...(group.uses ?? []));
  }
  return [...found.values()].reverse();
}

/** The name that a drawing file states, or that of the file itself. */
export function titleOf(file: string, text: string): string {
  const stem = file.replace(/(\.inkcap)?\.(json|svg|png|onnx)$/i, "").slice(0, 200) || "drawing";
  try {
    const { name } = JSON.parse(text) as { name?: unknown };
    return typeof name === "string" && name.trim() ? name.trim() : stem;
  } catch {
    return stem;
  }
}
