/** Numbers that people type or paste. */

export const readNumbers = (text: string): number[] =>
  text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
