import { useStudio } from "../app/store";
import { words } from "../app/words";
import { showGallery } from "./keys";
import { enter } from "./mode";

/** The mathematics in the menu ⋯. */
export function TheoryItems() {
  const word = words(useStudio((s) => s.language));
  const items: [string, string, () => void][] = [
    [word.replay, "D", () => enter("replay")],
    [word.grow, "G", () => enter("grow")],
    [word.walk, "S", () => enter("walk")],
    [word.gallery, "E", showGallery],
  ];
  return items.map(([text, key, act]) => (
    <button type="button" role="menuitem" key={key} onClick={act}>
      {text} <kbd>{key}</kbd>
    </button>
  ));
}
