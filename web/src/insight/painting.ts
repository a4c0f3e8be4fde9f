/** The colours of a scene: which numbers belong to each drawn thing, and what they look like in one epoch. */

import type { Report } from "../api/types";
import type { Theme } from "../glyphs/forms";
import { type Drawing, isUse, type Vertex, vertexOf, vertices } from "../model/drawing";
import { outputPath } from "../model/within";
import type { Signals } from "./api";
import { css, inkOn, sequential } from "./colour";
import {
  type Domain,
  domainOf,
  groupSeries,
  type Measure,
  reading,
  type Series,
  seriesOf,
  shareOf,
  within,
} from "./measures";

/** How one drawn thing is painted; without a fill it is there, but has no such number. */
export interface Paint {
  fill: string | null;
  ink: string;
  /** How much, from 0 to 1. */
  share: number;
  text: string;
  /** Whether the run knows the thing at all. */
  known: boolean;
}

export interface SceneSeries {
  series: ReadonlyMap<string, Series>;
  /** Drawn things that the run does not have. */
  strange: ReadonlySet<string>;
  domain: Domain | null;
}

export const NO_SERIES: SceneSeries = { series: new Map(), strange: new Set(), domain: null };
export const NO_PAINTS: ReadonlyMap<string, Paint> = new Map();

/** The things of the network that a drawn one stands for: itself, its copies, or all that is in a closed group. */
export function itemsOf(signals: Signals, path: string, id: string): readonly string[] {
  const whole = `${path}${id}`;
  return whole in signals.capsules || whole in signals.connections ? [whole] : within(signals, whole);
}

function vertexSeries(signals: Signals, path: string, vertex: Vertex, measure: Measure): Series | undefined {
  const whole = `${path}${vertex.id}`;
  return isUse(vertex) ? groupSeries(signals, whole, measure) : seriesOf(signals, whole, measure);
}

/** What a line carries: forwards what leaves its back end, backwards the error of its front end, else its own weight. */
function lineSeries(
  signals: Signals,
  scene: Drawing,
  path: string,
  line: { id: string; back: string; front: string },
  measure: Measure,
): Series | undefined {
  if (measure === "weight" || measure === "update")
    return (
      seriesOf(signals, `${path}${line.id}`, measure) ??
      (scene.use.has(line.front) ? groupSeries(signals, `${path}${line.id}`, measure) : undefined)
    );
  if (measure !== "output" && measure !== "delta") return undefined;
  const end = vertexOf(scene, measure === "output" ? line.back : line.front);
  if (!end) return undefined;
  const leaves = isUse(end) && measure === "output" ? outputPath(scene, path, end) : undefined;
  return leaves ? seriesOf(signals, leaves, measure) : vertexSeries(signals, path, end, measure);
}

/** The numbers of all that the canvas shows, over all epochs. */
export function sceneSeries(signals: Signals, scene: Drawing, path: string, measure: Measure): SceneSeries {
  const series = new Map<string, Series>();
  const strange = new Set<string>();
  for (const vertex of vertices(scene)) {
    const found = vertexSeries(signals, path, vertex, measure);
    if (found) series.set(vertex.id, found);
    if (!itemsOf(signals, path, vertex.id).length && !isDoorOf(scene, path, vertex)) strange.add(vertex.id);
  }
  for (const line of scene.connection.values()) {
    const found = lineSeries(signals, scene, path, line, measure);
    if (found) series.set(line.id, found);
  }
  return { series, strange, domain: domainOf(series.values(), measure) };
}

/** Inside of a group an input stands for what is outside: the run has it there. */
const isDoorOf = (scene: Drawing, path: string, vertex: Vertex): boolean =>
  path !== "" && ![...scene.connection.values()].some((line) => line.front === vertex.id);

/** How all that is shown looks at one of the epochs. */
export function paintsAt(
  { series, strange, domain }: SceneSeries,
  scene: Drawing,
  measure: Measure,
  index: number,
  theme: Theme,
): Map<string, Paint> {
  const paints = new Map<string, Paint>();
  const bare = { fill: null, ink: "", share: 0, text: "" };
  const paint = (id: string, known: boolean) => {
    const value = series.get(id)?.[index];
    if (!domain || typeof value !== "number") return paints.set(id, { ...bare, known });
    const share = shareOf(value, domain);
    const fill = sequential(share, theme);
    return paints.set(id, {
      fill: css(fill),
      ink: css(inkOn(fill)),
      share,
      text: reading(value, measure),
      known: true,
    });
  };
  for (const { id } of vertices(scene)) paint(id, !strange.has(id));
  for (const id of scene.connection.keys()) if (series.has(id)) paint(id, true);
  return paints;
}

/** The drawn thing that shows a thing of the network: itself, or the closed group around it; none where it is elsewhere. */
export function shownAs(scene: Drawing, path: string, item: string): string | null {
  if (!item.startsWith(path)) return null;
  const rest = item.slice(path.length);
  if (scene.capsule.has(rest) || scene.connection.has(rest)) return rest;
  const first = rest.split(".", 1)[0] ?? rest;
  return scene.use.has(first) || scene.connection.has(first) ? first : null;
}

/** How many things the drawing has that the run has not, and the other way round; lines count that have weights. */
export function apart(signals: Signals, report: Report): { strange: number; gone: number } {
  const { capsules, connections } = report.structures;
  const weighing = Object.keys(connections).filter((id) => Object.keys(connections[id]?.weights ?? {}).length > 0);
  const now = new Set([...Object.keys(capsules), ...weighing]);
  const then = new Set([...Object.keys(signals.capsules), ...Object.keys(signals.connections)]);
  return {
    strange: [...now].filter((id) => !then.has(id)).length,
    gone: [...then].filter((id) => !now.has(id)).length,
  };
}
