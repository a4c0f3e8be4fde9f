import { useEffect, useRef } from "react";
import { useStudio } from "../app/store";
import type { Theme } from "../glyphs/forms";
import type { Activation, Histogram, Picture } from "./api";
import { diverging, grey, type Rgb, sequential } from "./colour";
import { brief } from "./measures";

export type Kind = "diverging" | "grey" | "sequential";

/** The farthest number from nought. */
export function farthest(rows: readonly (readonly (number | null)[])[]): number {
  let far = 0;
  for (const row of rows) for (const value of row) if (value !== null) far = Math.max(far, Math.abs(value));
  return far;
}

type Rows = readonly (readonly (number | null)[])[];

function colourOf(value: number | null | undefined, { kind, far, theme }: Look): Rgb | null {
  if (value === null || value === undefined) return null;
  const share = far ? value / far : 0;
  if (kind === "grey") return grey(share, theme);
  return kind === "sequential" ? sequential(share, theme) : diverging(share, theme);
}

/** The screen's colour of three channels; channels of weights reach from below nought to above it. */
const mixed = (channels: readonly (number | null)[], { kind, far }: Look): Rgb =>
  channels.map((c) => {
    const share = far ? (c ?? 0) / far : 0;
    return Math.round(255 * Math.min(1, Math.max(0, kind === "diverging" ? (share + 1) / 2 : share)));
  }) as Rgb;

/** Put rows of numbers on a sheet of pixels, one for each cell. */
function stamp(image: ImageData, rows: Rows, channels: 1 | 3, at: [number, number], look: Look): void {
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length / channels; x++) {
      const colour = channels === 3 ? mixed(row.slice(3 * x, 3 * x + 3), look) : colourOf(row[x], look);
      const i = 4 * ((at[1] + y) * image.width + at[0] + x);
      if (colour) image.data.set([...colour, 255], i);
    }
  });
}

interface Look {
  kind: Kind;
  /** What the strongest colour stands for. */
  far: number;
  theme: Theme;
}

/** One picture: a pixel for each number, made larger without being smoothed. */
export function Raster({
  picture,
  label,
  kind = "diverging",
  far,
  className = "",
}: {
  picture: Pick<Picture, "rows"> & { channels?: 1 | 3 };
  label?: string;
  kind?: Kind;
  far?: number;
  className?: string;
}) {
  const theme = useStudio((s) => s.theme);
  const sheet = useRef<HTMLCanvasElement>(null);
  const { rows, channels = 1 } = picture;
  useEffect(() => {
    const [height, width] = [rows.length, (rows[0]?.length ?? 0) / channels];
    const pen = sheet.current?.getContext("2d");
    if (!sheet.current || !pen || !width || !height) return;
    [sheet.current.width, sheet.current.height] = [width, height];
    const image = pen.createImageData(width, height);
    stamp(image, rows, channels, [0, 0], { kind, far: far ?? farthest(rows), theme });
    pen.putImageData(image, 0, 0);
  }, [rows, channels, kind, far, theme]);
  return (
    <canvas
      ref={sheet}
      className={`raster ${className}`}
      {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}
    />
  );
}

const MOST_TILES = 9;

/** The rows of a strip of numbers, wrapped so that it is about as wide as high where it is long. */
export function wrapped(row: readonly (number | null)[], most = 64): (number | null)[][] {
  const step = Math.ceil(row.length / most);
  const few = step > 1 ? row.filter((_, i) => i % step === 0) : [...row];
  const across = few.length <= 12 ? few.length : Math.ceil(Math.sqrt(few.length * 2));
  const rows: (number | null)[][] = [];
  for (let i = 0; i < few.length; i += across) {
    const part = few.slice(i, i + across);
    rows.push([...part, ...Array<null>(across - part.length).fill(null)]);
  }
  return rows;
}

/** What an example becomes in a capsule, small: some of its maps beside each other, or its numbers. */
export function Mosaic({ activation }: { activation: Activation }) {
  const theme = useStudio((s) => s.theme);
  const sheet = useRef<HTMLCanvasElement>(null);
  const { maps, row } = activation;
  useEffect(() => {
    const pen = sheet.current?.getContext("2d");
    if (!sheet.current || !pen) return;
    const tiles = maps?.length ? maps.slice(0, MOST_TILES) : [{ rows: wrapped(row ?? []), channels: 1 as const }];
    const across = Math.ceil(Math.sqrt(tiles.length));
    const [high, wide] = [tiles[0]?.rows.length ?? 0, (tiles[0]?.rows[0]?.length ?? 0) / (tiles[0]?.channels ?? 1)];
    if (!high || !wide) return;
    const gap = tiles.length > 1 ? Math.max(1, Math.round(wide / 12)) : 0;
    const width = across * (wide + gap) - gap;
    const height = Math.ceil(tiles.length / across) * (high + gap) - gap;
    [sheet.current.width, sheet.current.height] = [width, height];
    const image = pen.createImageData(width, height);
    const far = Math.max(...tiles.map((tile) => farthest(tile.rows)));
    tiles.forEach(({ rows, channels }, i) => {
      const at: [number, number] = [(i % across) * (wide + gap), Math.floor(i / across) * (high + gap)];
      stamp(image, rows, channels, at, { kind: "diverging", far, theme });
    });
    pen.putImageData(image, 0, 0);
  }, [maps, row, theme]);
  return <canvas ref={sheet} className={`mosaic ${maps?.length ? "maps" : "row"}`} />;
}

/** How often values occur: bars, with the range below and a line at nought. */
export function Bars({ histogram, label }: { histogram: Histogram; label: string }) {
  const { edges, counts } = histogram;
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 0];
  const most = Math.max(1, ...counts);
  const wide = counts.length || 1;
  const nought = low < 0 && high > 0 ? (-low / (high - low)) * wide : null;
  const total = counts.reduce((sum, one) => sum + one, 0);
  return (
    <figure className="histogram">
      <svg
        viewBox={`0 0 ${wide} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${total}, ${brief(low)} – ${brief(high)}`}
      >
        {counts.map((count, i) => {
          const height = count ? Math.max(0.8, (38 * count) / most) : 0;
          const above = ((edges[i] ?? 0) + (edges[i + 1] ?? 0)) / 2 >= 0;
          return (
            <rect
              key={edges[i]}
              className={above ? "above" : "below"}
              x={i + 0.06}
              y={40 - height}
              width={0.88}
              height={height}
            />
          );
        })}
        {nought !== null && <line x1={nought} x2={nought} y1={0} y2={40} vectorEffect="non-scaling-stroke" />}
      </svg>
      <figcaption>
        <span>{brief(low)}</span>
        {nought !== null && nought > wide * 0.15 && nought < wide * 0.85 && (
          <span className="at-nought" style={{ left: `${(100 * nought) / wide}%` }}>
            0
          </span>
        )}
        <span>{brief(high)}</span>
      </figcaption>
    </figure>
  );
}
