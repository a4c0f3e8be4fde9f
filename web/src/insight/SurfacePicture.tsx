import { type MouseEvent, useEffect, useRef } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import type { Theme } from "../glyphs/forms";
import { colourOf } from "../runs/curves";
import { fill } from "../theory/words";
import { Answers } from "./Answers";
import { insightApi, type Surface } from "./api";
import { diverging, type Rgb, sequential } from "./colour";
import { useFetched } from "./fetching";
import { brief } from "./measures";
import { ask, frameOf, useInsight } from "./mode";

const CELLS = 64;
/** Pixels of a side of the picture. */
const SIDE = 640;
const PAPER: Record<Theme, Rgb> = { light: [250, 249, 245], dark: [22, 24, 34] };

const channels = (hex: string): Rgb => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16)) as Rgb;

/** The colour of a class, the stronger the surer: at an even chance it is paper. */
export function surely(number: number, share: number, classes: number, theme: Theme): Rgb {
  const even = 1 / Math.max(2, classes);
  const strength = 0.12 + 0.63 * Math.min(1, Math.max(0, (share - even) / (1 - even)));
  const [paper, own] = [PAPER[theme], channels(colourOf(number, theme))];
  return paper.map((c, i) => Math.round(c + ((own[i] ?? 0) - c) * strength)) as Rgb;
}

function cellColours(surface: Surface, theme: Theme): Rgb[][] {
  const { winner, share, value, classes } = surface;
  if (winner)
    return winner.map((row, y) => row.map((one, x) => surely(one, share?.[y]?.[x] ?? 1, classes.length, theme)));
  const all = (value ?? []).flat().filter((one): one is number => one !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const far = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return (value ?? []).map((row) =>
    row.map((one) =>
      low < 0 ? diverging((one ?? 0) / far, theme) : sequential(((one ?? low) - low) / (high - low || 1), theme),
    ),
  );
}

type Place = readonly [number, number];

function paint(pen: CanvasRenderingContext2D, surface: Surface, asked: Place | null, theme: Theme): void {
  const colours = cellColours(surface, theme);
  const [high, wide] = [colours.length, colours[0]?.length ?? 0];
  if (!high || !wide) return;
  const small = document.createElement("canvas");
  [small.width, small.height] = [wide, high];
  const image = new ImageData(wide, high);
  colours.forEach((row, y) => {
    row.forEach((colour, x) => {
      // Rows come from the lower end upwards.
      image.data.set([...colour, 255], 4 * ((high - 1 - y) * wide + x));
    });
  });
  small.getContext("2d")?.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = true;
  pen.drawImage(small, 0, 0, SIDE, SIDE);
  const [[x0, x1], [y0, y1]] = [surface.x, surface.y];
  const at = ([x, y]: Place): Place => [((x - x0) / (x1 - x0)) * SIDE, (1 - (y - y0) / (y1 - y0)) * SIDE];
  pen.lineWidth = 1.2;
  pen.strokeStyle = `rgb(${PAPER[theme].join(" ")})`;
  for (const point of surface.points) {
    pen.beginPath();
    pen.arc(...at([point.x, point.y]), 4.2, 0, 2 * Math.PI);
    pen.fillStyle = point.class === null ? "#8a8fa0" : colourOf(point.class, theme);
    pen.fill();
    pen.stroke();
  }
  if (!asked) return;
  const [x, y] = at(asked);
  pen.strokeStyle = theme === "dark" ? "#ffffff" : "#000000";
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.arc(x, y, 10, 0, 2 * Math.PI);
  pen.stroke();
}

/** The point that the network was asked about, where it is one. */
function usePlace(): Place | null {
  const subject = useInsight((s) => s.subject);
  const [x, y, more] = subject && "values" in subject ? subject.values : [];
  return x !== undefined && y !== undefined && more === undefined ? [x, y] : null;
}

function Side({ classes, asked }: { classes: readonly string[]; asked: boolean }) {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  return (
    <div className="surface-side">
      <p className="soft">{classes.length ? word.surfaceHint : word.surfaceOfValues}</p>
      <ul className="run-legend">
        {classes.map((name, i) => (
          <li key={name}>
            <i style={{ background: colourOf(i, theme) }} />
            <span>{name}</span>
          </li>
        ))}
      </ul>
      <p className="soft">{word.clickSurface}</p>
      {asked && <Answers />}
    </div>
  );
}

/** What the network says over the plane of its two inputs, with the data, as it forms. */
export function SurfacePicture() {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  const run = useInsight((s) => s.run);
  const frame = useInsight(frameOf);
  const sheet = useRef<HTMLCanvasElement>(null);
  const key = run && frame !== null ? `${run} ${frame}` : null;
  const { found, why } = useFetched("surface", key, () => insightApi.surface(run ?? "", frame, CELLS), 0);
  const asked = usePlace();
  const [px, py] = asked ?? [];
  useEffect(() => {
    const pen = sheet.current?.getContext("2d");
    const place: Place | null = px !== undefined && py !== undefined ? [px, py] : null;
    if (pen && found) paint(pen, found, place, theme);
  }, [found, px, py, theme]);
  if (why) return <p className="soft centred">{why}</p>;
  if (!found) return <p className="soft centred">{word.opening}</p>;
  const [x = "x", y = "y"] = found.names;
  const point = (event: MouseEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const [across, up] = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
    ask({
      values: [found.x[0] + across * (found.x[1] - found.x[0]), found.y[0] + up * (found.y[1] - found.y[0])],
    });
  };
  return (
    <div className="surface" data-epoch={found.epoch}>
      <figure>
        <canvas
          ref={sheet}
          width={SIDE}
          height={SIDE}
          role="img"
          aria-label={fill(word.surfaceOf, { x, y, epoch: found.epoch })}
          onClick={point}
          onKeyDown={() => undefined}
        />
        <figcaption className="across">
          <span>{brief(found.x[0])}</span>
          <b>{x}</b>
          <span>{brief(found.x[1])}</span>
        </figcaption>
        <span className="upwards">
          <span>{brief(found.y[1])}</span>
          <b>{y}</b>
          <span>{brief(found.y[0])}</span>
        </span>
      </figure>
      <Side classes={found.classes} asked={asked !== null} />
    </div>
  );
}
