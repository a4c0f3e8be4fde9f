/** What is drawn on the pad: strokes that can be taken back one by one, and the picture that they make. */

export interface Stroke {
  /** The pen's width and the points, as shares of the pad's side. */
  pen: number;
  points: [number, number][];
}

/** How many cells a side of the picture has that is sent: enough for any digit, little to send. */
export const CELLS = 96;

export function paintStrokes(pen: CanvasRenderingContext2D, strokes: readonly Stroke[], side: number): void {
  pen.lineCap = pen.lineJoin = "round";
  for (const { pen: width, points } of strokes) {
    pen.lineWidth = width * side;
    pen.beginPath();
    points.forEach(([x, y], i) => {
      if (i === 0) pen.moveTo(x * side, y * side);
      else pen.lineTo(x * side, y * side);
    });
    // A dot is a stroke, too.
    if (points.length === 1 && points[0]) pen.lineTo(points[0][0] * side + 0.01, points[0][1] * side);
    pen.stroke();
  }
}

/** Ink from 0 to 1 for each cell, from the bytes of a sheet with red, green, blue and opacity. */
export function inkRows(bytes: ArrayLike<number>, side: number): number[][] {
  return Array.from({ length: side }, (_, y) =>
    Array.from({ length: side }, (_, x) => Math.round((100 * (bytes[4 * (y * side + x) + 3] ?? 0)) / 255) / 100),
  );
}

/** The picture of the strokes, as it is sent. */
export function rowsOf(strokes: readonly Stroke[]): number[][] {
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [CELLS, CELLS];
  const pen = sheet.getContext("2d", { willReadFrequently: true });
  if (!pen) return [];
  paintStrokes(pen, strokes, CELLS);
  return inkRows(pen.getImageData(0, 0, CELLS, CELLS).data, CELLS);
}
