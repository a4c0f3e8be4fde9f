/** Colours of numbers: equal steps of a number look like equal steps, on paper and in the dark. */

import type { Theme } from "../glyphs/forms";

export type Rgb = [number, number, number];

const companded = (c: number) => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055);
const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

/** Red, green and blue, from 0 to 1 where the screen can show it, of a colour given as OKLCH. */
function unbounded(lightness: number, chroma: number, hue: number): Rgb {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    companded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    companded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    companded(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** A colour with the wished lightness and hue; what is too strong for the screen is made paler, not darker. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  let [low, high] = [0, chroma];
  const fits = (c: number) => unbounded(lightness, c, hue).every((one) => one >= -0.0005 && one <= 1.0005);
  if (!fits(high))
    for (let i = 0; i < 16; i++) {
      const middle = (low + high) / 2;
      if (fits(middle)) low = middle;
      else high = middle;
    }
  const found = unbounded(lightness, fits(high) ? high : low, hue);
  return found.map((c) => Math.round(255 * Math.min(1, Math.max(0, c)))) as Rgb;
}

/** How light a colour looks, from 0 to 1. */
export function lightnessOf([red, green, blue]: Rgb): number {
  const [r, g, b] = [linear(red / 255), linear(green / 255), linear(blue / 255)];
  return (
    0.2104542553 * Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) +
    0.793617785 * Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) -
    0.0040720468 * Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  );
}

/** The contrast of two colours, from 1 to 21, as readers of small print need it. */
export function contrast(first: Rgb, second: Rgb): number {
  const bright = (c: Rgb) => 0.2126 * linear(c[0] / 255) + 0.7152 * linear(c[1] / 255) + 0.0722 * linear(c[2] / 255);
  const [a, b] = [bright(first), bright(second)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const STEPS = 256;
type Scale = readonly Rgb[];

function made(colour: (share: number) => Rgb): Scale {
  return Array.from({ length: STEPS }, (_, i) => colour(i / (STEPS - 1)));
}

/** From little to much: always away from the paper, from yellow over red to violet on white, and the other way at night. */
const SEQUENTIAL: Record<Theme, Scale> = {
  light: made((t) => oklch(0.955 - 0.6 * t, 0.055 + 0.16 * Math.sin(Math.PI * Math.min(1, t * 0.85)), 95 - 165 * t)),
  dark: made((t) => oklch(0.3 + 0.63 * t, 0.07 + 0.13 * Math.sin(Math.PI * (0.15 + t * 0.7)), 300 + 155 * t)),
};

/** From below to above nought: amber, paper, violet, as everywhere in the studio. */
const DIVERGING: Record<Theme, Scale> = {
  light: made((t) => {
    const far = Math.abs(2 * t - 1);
    return t < 0.5 ? oklch(0.975 - 0.4 * far, 0.15 * far, 66) : oklch(0.975 - 0.52 * far, 0.23 * far, 284);
  }),
  dark: made((t) => {
    const far = Math.abs(2 * t - 1);
    return t < 0.5 ? oklch(0.25 + 0.55 * far, 0.15 * far, 75) : oklch(0.25 + 0.48 * far, 0.2 * far, 288);
  }),
};

/** Ink on paper: how strong grey pictures are shown. */
const GREY: Record<Theme, Scale> = {
  light: made((t) => oklch(0.985 - 0.8 * t, 0.01, 280)),
  dark: made((t) => oklch(0.2 + 0.77 * t, 0.01, 280)),
};

const pick = (scale: Scale, share: number): Rgb =>
  scale[Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1))] ?? [128, 128, 128];

export const sequential = (share: number, theme: Theme): Rgb => pick(SEQUENTIAL[theme], share);
export const grey = (share: number, theme: Theme): Rgb => pick(GREY[theme], share);

/** The colour of a number between -1 and 1. */
export const diverging = (value: number, theme: Theme): Rgb => pick(DIVERGING[theme], (value + 1) / 2);

const NIGHT: Rgb = [0, 0, 0];
const DAY: Rgb = [255, 255, 255];

/** Dark or light ink, whichever is read better on a colour. */
export const inkOn = (colour: Rgb): Rgb => (contrast(colour, NIGHT) >= contrast(colour, DAY) ? NIGHT : DAY);

export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;
