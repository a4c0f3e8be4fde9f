/** The words of measures and warnings, by their names. */

import type { Word } from "../app/words";
import type { Measure } from "./measures";
import type { Trouble } from "./warnings";

const named = (kind: string, word: string) => `${kind}${word.charAt(0).toUpperCase()}${word.slice(1)}` as Word;

export const measureWord = (measure: Measure): Word => named("measure", measure);
/** What a measure is, as a sentence. */
export const tellsWord = (measure: Measure): Word => named("tells", measure);
export const warnWord = (kind: Trouble): Word => named("warn", kind);
/** Where the trouble comes from and what helps. */
export const tellWord = (kind: Trouble): Word => named("tell", kind);
