/** Inside of groups: which use is open and which of its copies, and what the report says of things by their path. */

import type {
  CheckedCapsule,
  CheckedConnection,
  CheckedUse,
  Connection,
  Group,
  Report,
  Structure,
  Use,
} from "../api/types";
import { type Drawing, isUse, vertexOf } from "./drawing";
import { type Finding, findingsOf } from "./findings";

/** A use that was opened, and the copy of it that is looked at, from 0. */
export interface Opened {
  use: string;
  copy: number;
}

/** An opened use with its group; ``path`` stands before the ids of what is inside. */
export interface Level extends Opened {
  group: Group;
  record: Use;
  repeat: number;
  path: string;
  /** The path of the use itself, which all its copies have in common. */
  at: string;
}

/** Follow the opened uses as far as they are still there. */
export function levelsOf(drawing: Drawing, scope: readonly Opened[]): Level[] {
  const levels: Level[] = [];
  let uses: readonly Use[] = [...drawing.use.values()];
  for (const { use: id, copy: wanted } of scope) {
    const use = uses.find((one) => one.id === id);
    const group = use && drawing.group.get(use.group);
    if (!use || !group) break;
    const repeat = use.repeat ?? 1;
    const copy = Math.max(0, Math.min(wanted, repeat - 1));
    const at = `${levels.at(-1)?.path ?? ""}${id}`;
    levels.push({ use: id, copy, group, record: use, repeat, at, path: repeat > 1 ? `${at}.${copy}.` : `${at}.` });
    uses = group.uses ?? [];
  }
  return levels;
}

/** The copies of an opened use that have errors, from 0. */
export function faultyCopies(report: Report | null, level: Level): number[] {
  if (!report || level.repeat < 2) return [];
  const found = new Set<number>();
  for (const one of report.diagnostics)
    for (const where of one.severity === "error" ? one.where : [])
      if (where.startsWith(`${level.at}.`)) found.add(Number.parseInt(where.slice(level.at.length + 1), 10));
  return [...found].filter(Number.isInteger).sort((a, b) => a - b);
}

/** Where the canvas looks: the report, and the path of what it shows. */
export interface Sight {
  report: Report | null;
  scene: Drawing;
  path: string;
}

export const findingsAt = ({ report, path }: Pick<Sight, "report" | "path">, id: string): readonly Finding[] =>
  findingsOf(report, `${path}${id}`);

export const capsuleAt = ({ report, path }: Sight, id: string): CheckedCapsule | undefined =>
  report?.structures.capsules[`${path}${id}`];

/** An input that stands for the capsule outside is none itself; what leaves it tells its structure. */
export function isDoor(sight: Sight, id: string): boolean {
  return sight.path !== "" && sight.report !== null && sight.scene.capsule.has(id) && !capsuleAt(sight, id);
}

/** What leaves a vertex of the scene. */
export function outputAt(sight: Sight, id: string): Structure | null | undefined {
  const vertex = vertexOf(sight.scene, id);
  if (!sight.report || !vertex) return undefined;
  if (isUse(vertex)) return checkedUse(sight, vertex)?.output;
  const checked = capsuleAt(sight, id);
  if (checked || !sight.path) return checked?.output;
  return throughDoor(sight.report, sight.scene, sight.path, [...sight.scene.connection.values()], id);
}

/** What an input that is no capsule of the network passes on, as the first line tells that leaves it and is one. */
function throughDoor(
  report: Report,
  scene: Drawing,
  path: string,
  lines: readonly Connection[],
  id: string,
  uses: readonly Use[] = [...scene.use.values()],
): Structure | null | undefined {
  for (const line of lines) {
    if (line.back !== id) continue;
    const told = report.structures.connections[`${path}${line.id}`];
    if (told) return told.back_end;
    // Into a group it goes as a wire: the input inside knows.
    const use = uses.find((one) => one.id === line.front);
    const group = use && scene.group.get(use.group);
    const door = group && (group.inputs?.[line.port ?? "in"] ?? Object.values(group.inputs ?? {})[0]);
    if (!use || !door) continue;
    const into = `${path}${use.id}.${(use.repeat ?? 1) > 1 ? "0." : ""}`;
    const found = throughDoor(report, scene, into, group.connections ?? [], door, group.uses ?? []);
    if (found) return found;
  }
  return undefined;
}

/** A line of the scene; one into all copies of a group is told for each of them, one into a bare input not at all. */
export function lineAt(sight: Sight, id: string): CheckedConnection | undefined {
  const { report, scene, path } = sight;
  const told = report?.structures.connections;
  const found = told?.[`${path}${id}`] ?? told?.[`${path}${id}.0`];
  const line = scene.connection.get(id);
  if (found || !report || line?.symbol !== "transfer") return found;
  const through = outputAt(sight, line.back);
  return through ? { back_end: through, front_end: through, weights: {}, parameters: 0, multiply_adds: 0 } : undefined;
}

interface Sum {
  parameters: number;
  multiply_adds: number;
}

const kept = new WeakMap<Report, Map<string, Sum>>();

/** Sum up what lies below every path, once for each report. */
function sumsOf(report: Report): Map<string, Sum> {
  const there = kept.get(report);
  if (there) return there;
  const sums = new Map<string, Sum>();
  const add = (path: string, parameters: number, multiplyAdds: number) => {
    for (let end = path.lastIndexOf("."); end > 0; end = path.lastIndexOf(".", end - 1)) {
      const sum = sums.get(path.slice(0, end)) ?? { parameters: 0, multiply_adds: 0 };
      sum.parameters += parameters;
      sum.multiply_adds += multiplyAdds;
      sums.set(path.slice(0, end), sum);
    }
  };
  for (const [path, one] of Object.entries(report.structures.capsules)) add(path, one.parameter_count ?? 0, 0);
  for (const [path, one] of Object.entries(report.structures.connections)) add(path, one.parameters, one.multiply_adds);
  kept.set(report, sums);
  return sums;
}

/** A use of the scene; of one inside of a group the page itself sums up what the report tells of its capsules. */
export function checkedUse({ report, scene, path }: Sight, use: Use): CheckedUse | undefined {
  if (!report) return undefined;
  const told = path ? undefined : report.structures.uses?.[use.id];
  if (told) return told;
  const sum = sumsOf(report).get(`${path}${use.id}`);
  const end = outputPath(scene, path, use);
  return sum && { ...sum, output: (end && report.structures.capsules[end]?.output) || null };
}

/** The path of the capsule that a use's first output is, in its last copy. */
export function outputPath(scene: Drawing, path: string, first: Use): string | undefined {
  let [use, before, port]: [Use, string, string | undefined] = [first, path, undefined];
  for (let depth = 0; depth < 32; depth++) {
    const group = scene.group.get(use.group);
    const repeat = use.repeat ?? 1;
    before = `${before}${use.id}.${repeat > 1 ? `${repeat - 1}.` : ""}`;
    const outputs: Record<string, string> = group?.outputs ?? {};
    const name: string | undefined = port !== undefined && port in outputs ? port : Object.keys(outputs)[0];
    const inner: string | undefined = name === undefined ? undefined : outputs[name];
    if (inner === undefined) return undefined;
    const nested: Use | undefined = group?.uses?.find((one) => one.id === inner);
    if (!nested) return `${before}${inner}`;
    [use, port] = [nested, name];
  }
  return undefined;
}
