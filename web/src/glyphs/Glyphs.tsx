import { memo } from "react";
import type { ConnectionSymbol, Glyph } from "../api/types";
import { colours, extent, FORMS, shapeOf, type Theme } from "./forms";

interface CapsuleGlyphProps {
  glyph: Glyph;
  rank: number;
  theme: Theme;
  /** Stripes on the lower edge tell what a capsule wears. */
  worn?: number;
  /** Colours that tell a number instead of the function; without a fill there is no number. */
  paint?: { fill: string | null; ink: string } | undefined;
}

/** The outline of something unfinished. */
const BROKEN = { strokeDasharray: "4.5 3.2" };

/** Neutral ink, for capsules whose colour tells a number. */
const NEUTRAL = { light: "#636a7c", dark: "#a3a8ba" } as const;

/** A capsule as it is drawn: its shape tells the rank, its mark the function. */
export const CapsuleGlyph = memo(function CapsuleGlyph({ glyph, rank, theme, worn = 0, paint }: CapsuleGlyphProps) {
  const shape = shapeOf(rank);
  const form = FORMS[shape];
  const { width, height } = extent(form);
  const [own, wash] = colours(glyph, theme);
  const edge = paint ? NEUTRAL[theme] : own;
  const ink = paint ? (paint.fill ? paint.ink : NEUTRAL[theme]) : own;
  const [x, y] = [form.halfWidth, form.halfHeight + form.sheets];
  const line = {
    fill: paint ? (paint.fill ?? "transparent") : wash,
    stroke: edge,
    strokeWidth: 1.6,
    ...(glyph.broken ? BROKEN : {}),
  };
  const sheets = form.sheets ? [form.sheets, form.sheets / 2, 0] : [0];
  return (
    <svg
      className="glyph"
      width={width + 2}
      height={height + 2}
      viewBox={`-1 -1 ${width + 2} ${height + 2}`}
      aria-hidden="true"
    >
      {shape === "circle" && <circle cx={x} cy={y} r={form.halfWidth - 0.8} {...line} />}
      {shape === "pill" && (
        <rect x={0.8} y={0.8} width={width - 1.6} height={height - 1.6} rx={form.halfWidth - 0.8} {...line} />
      )}
      {(shape === "stack" || shape === "volume") &&
        sheets.map((off) => (
          <rect
            key={off}
            x={off + 0.8}
            y={form.sheets - off + 0.8}
            width={form.halfWidth * 2 - 1.6}
            height={form.halfHeight * 2 - 1.6}
            rx={shape === "stack" ? 5 : 2}
            {...line}
          />
        ))}
      {shape === "volume" && (
        <path
          d={`M0.8 ${form.sheets + 0.8}L${form.sheets} 0.8M${width - form.sheets} ${form.sheets + 0.8}L${width - 0.8} 0.8M${width - form.sheets} ${height - 0.8}L${width - 0.8} ${height - form.sheets}`}
          stroke={edge}
          strokeWidth={1.2}
          fill="none"
        />
      )}
      <path
        d={glyph.path}
        transform={`translate(${x} ${y}) scale(${form.mark})`}
        fill={glyph.filled ? ink : "none"}
        stroke={glyph.filled ? "none" : ink}
        strokeWidth={2.1 / form.mark}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      {worn > 0 && (
        <path
          d={Array.from({ length: worn }, (_, i) => `M${x - 8} ${height - 5 - i * 4}h16`).join("")}
          stroke={ink}
          strokeWidth={2}
          opacity={0.75}
        />
      )}
    </svg>
  );
});

const HEAVY: Record<string, number> = { "·": 3.4, "∷": 2.6 };

/** The sign of a connection, as strokes around the origin. */
export function Sign({ symbol }: { symbol: Pick<ConnectionSymbol, "sign" | "mark"> }) {
  return (
    <path
      className="sign"
      d={symbol.sign}
      fill="none"
      strokeWidth={HEAVY[symbol.mark] ?? 1.3}
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  );
}

/** A small glyph for lists: the capsule's own, made to fit. */
export function SmallGlyph({ glyph, rank, theme }: CapsuleGlyphProps) {
  return (
    <span className="small-glyph">
      <CapsuleGlyph glyph={glyph} rank={rank} theme={theme} />
    </span>
  );
}

export function SmallSign({ symbol }: { symbol: ConnectionSymbol }) {
  return (
    <svg className="small-sign" width="28" height="20" viewBox="-14 -10 28 20" aria-hidden="true">
      <path className="wire" d="M-13 0H13" />
      <circle className="badge" r="7.6" />
      <g transform="scale(.8)">
        <Sign symbol={symbol} />
      </g>
    </svg>
  );
}
