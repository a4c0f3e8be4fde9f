/** How lines run between capsules. */

import type { Point } from "../api/types";

export interface Route {
  path: string;
  /** Where the badge sits. */
  middle: Point;
}

const round = (n: number) => Math.round(n * 10) / 10;
const at = ([x, y]: Point) => `${round(x)} ${round(y)}`;

/** A line through its bends, with soft corners. */
function through(points: Point[]): Route {
  let path = `M${at(points[0] as Point)}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, corner, after] = [points[i - 1], points[i], points[i + 1]] as [Point, Point, Point];
    const enter = toward(corner, before, 26);
    const leave = toward(corner, after, 26);
    path += `L${at(enter)}Q${at(corner)} ${at(leave)}`;
  }
  return { path: `${path}L${at(points.at(-1) as Point)}`, middle: halfway(points) };
}

function toward(from: Point, to: Point, most: number): Point {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy) || 1;
  const share = Math.min(most, length / 2) / length;
  return [from[0] + dx * share, from[1] + dy * share];
}

function halfway(points: Point[]): Point {
  const lengths = points.slice(1).map((p, i) => Math.hypot(p[0] - (points[i]?.[0] ?? 0), p[1] - (points[i]?.[1] ?? 0)));
  let left = lengths.reduce((sum, one) => sum + one, 0) / 2;
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i] ?? 0;
    const [from, to] = [points[i], points[i + 1]] as [Point, Point];
    if (left <= length) {
      const share = length ? left / length : 0;
      return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    }
    left -= length;
  }
  return points.at(-1) as Point;
}

function cubic(from: Point, first: Point, second: Point, to: Point): Route {
  const mix = (i: 0 | 1) => (from[i] + 3 * first[i] + 3 * second[i] + to[i]) / 8;
  return { path: `M${at(from)}C${at(first)} ${at(second)} ${at(to)}`, middle: [mix(0), mix(1)] };
}

export const straight = (from: Point, to: Point): Route => ({
  path: `M${at(from)}L${at(to)}`,
  middle: [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2],
});

/** Find the way of a line; ``lift`` takes it over what lies between its ends. */
export function route(from: Point, to: Point, bends: readonly Point[], lift: number): Route {
  if (bends.length) return through([from, ...bends, to]);
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  if (lift && dx > 0) {
    const high = Math.min(from[1], to[1]) - lift;
    return cubic(from, [from[0] + Math.min(dx * 0.18, 90), high], [to[0] - Math.min(dx * 0.18, 90), high], to);
  }
  if (Math.abs(dy) < 1.5 && dx > 0) return { path: `M${at(from)}L${at(to)}`, middle: [from[0] + dx / 2, from[1]] };
  const reach = dx > 0 ? Math.max(dx * 0.45, 24) : Math.min(60 + Math.abs(dx) * 0.35, 220);
  if (dx > 0) return cubic(from, [from[0] + reach, from[1]], [to[0] - reach, to[1]], to);
  // Back to the start of another row the line runs between the rows, else below both ends.
  const under = Math.abs(dy) > 110 ? from[1] + dy / 2 + Math.sign(dy) * 12 : Math.max(from[1], to[1]) + 70;
  return through([from, [from[0] + 34, from[1]], [from[0] + 34, under], [to[0] - 34, under], [to[0] - 34, to[1]], to]);
}

/** How high a level line must rise to pass over the vertices between its ends; 0 where the way is free. */
export function liftOver(back: Point, front: Point, others: Iterable<Point>): number {
  const [low, high] = [back[0] + 45, front[0] - 45];
  if (high <= low) return 0;
  const slope = (front[1] - back[1]) / (front[0] - back[0]);
  for (const [x, y] of others)
    if (x > low && x < high && Math.abs(y - (back[1] + slope * (x - back[0]))) < 34)
      return 70 + Math.min((high - low) * 0.12, 90);
  return 0;
}

/** The line that is nearest to a place among those of things that lie still, or none within reach. */
export function nearestLine(at: number, lines: Iterable<number>, reach: number): number | null {
  let best: number | null = null;
  for (const line of lines)
    if (Math.abs(line - at) <= reach && (best === null || Math.abs(line - at) < Math.abs(best - at))) best = line;
  return best;
}
