/** Networks that tell what is where on a picture: detectors, whose outputs list boxes, and segmenters. */

import type { Report, Structure } from "../api/types";

const COLOURED = 3;

/** Height and width of the coloured pictures in which a network finds boxes or the classes of pixels; none for others. */
export function placedPictures(report: Report | null): string | null {
  const outputOf = (id: string) => report?.structures.capsules[id]?.output;
  const picture = report?.inputs.map(outputOf).find((one) => one?.shape.length === 3 && one.shape[0] === COLOURED);
  if (!report || !picture) return null;
  const [height, width] = picture.shape.slice(1).map(Number) as [number, number];
  const places = (output: Structure | null | undefined) =>
    output?.listed?.endsWith("boxes") ||
    (output?.shape.length === 3 && Number(output.shape[1]) === height && Number(output.shape[2]) === width);
  return report.outputs.some((id) => places(outputOf(id))) ? `${height}x${width}` : null;
}
