/** What the report says of each drawn thing. */

import type { Diagnostic, Report, Structure } from "../api/types";
import type { Drawing } from "./drawing";

export interface Finding extends Diagnostic {
  index: number;
}

const NONE: readonly Finding[] = [];
const kept = new WeakMap<Report, Map<string, Finding[]>>();

function byId(report: Report): Map<string, Finding[]> {
  const there = kept.get(report);
  if (there) return there;
  const made = new Map<string, Finding[]>();
  report.diagnostics.forEach((diagnostic, i) => {
    const finding = { ...diagnostic, index: diagnostic.index ?? i };
    for (const id of new Set(diagnostic.where.flatMap((where) => [where, ...above(where)])))
      made.set(id, [...(made.get(id) ?? []), finding]);
  });
  kept.set(report, made);
  return made;
}

/** A thing inside the use of a group is marked on every use around it: ``stage.0.block.b`` on ``stage`` too. */
function above(where: string): string[] {
  const parts = where.split(".");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("."));
}

const outermost = (where: string): string => where.split(".", 1)[0] ?? where;

export function findingsOf(report: Report | null, id: string): readonly Finding[] {
  return (report && byId(report).get(id)) || NONE;
}

/** Findings that no drawn thing carries, such as an empty drawing. */
export function homeless(report: Report | null, drawing: Drawing): Finding[] {
  if (!report) return [];
  const drawn = (id: string) => drawing.capsule.has(id) || drawing.use.has(id) || drawing.connection.has(id);
  return report.diagnostics
    .map((diagnostic, i) => ({ ...diagnostic, index: diagnostic.index ?? i }))
    .filter((one) => !one.where.some((where) => drawn(where) || drawn(outermost(where))));
}

/** A structure as people read it: height × width × channels. */
export function structureText(structure: Structure | null | undefined): string {
  if (!structure) return "";
  if (structure.text) return structure.text;
  const [first, ...rest] = structure.shape;
  if (first === undefined) return "1";
  return [...rest, first].join("×");
}

export function shortNumber(n: number): string {
  if (n < 1e6) return grouped(n);
  const [size, unit] = n < 1e9 ? [1e6, "M"] : [1e9, "G"];
  return `${(n / size).toPrecision(3)} ${unit}`;
}

export const grouped = (n: number): string =>
  Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

/** Take a report of what is different into the one before. */
export function mergeReport(before: Report | null, next: Report): Report {
  if (!next.partial || !before) return next;
  const merged = <T>(old: Record<string, T> = {}, fresh: Record<string, T> = {}, gone: string[] = []) => {
    const all = { ...old, ...fresh };
    for (const id of gone) delete all[id];
    return all;
  };
  const { capsules, connections, uses } = before.structures;
  const { structures, gone } = next;
  return {
    ...next,
    structures: {
      capsules: merged(capsules, structures.capsules, gone?.capsules),
      connections: merged(connections, structures.connections, gone?.connections),
      uses: merged(uses, structures.uses, gone?.uses),
    },
  };
}

type Packed = Report & { alike?: unknown[] };

/** A large report tells every description once; each thing has the number of its own. */
export function unpacked(report: Report): Report {
  const { alike, ...rest } = report as Packed;
  if (!alike) return report;
  const open = (numbers: Record<string, unknown> | undefined) => {
    const told: Record<string, unknown> = {};
    for (const id in numbers) told[id] = alike[numbers[id] as number];
    return told;
  };
  const { capsules, connections, uses } = report.structures;
  const structures = { capsules: open(capsules), connections: open(connections), uses: open(uses) };
  return { ...rest, structures: structures as unknown as Report["structures"] };
}
