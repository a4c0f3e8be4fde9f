import { useEffect, useRef } from "react";

const NAMED: [RegExp, string][] = [
  [/∗/g, "\\ast "],
  [/∘/g, "\\circ "],
  [/Σ/g, "\\sum "],
  [/√/g, "\\surd "],
  [/…/g, "\\dots "],
  [/→/g, "\\to "],
  [/×/g, "\\times "],
  [/·/g, "\\cdot "],
  [/\b(max|min|exp|log|tanh)\b/g, "\\$1 "],
];

/** Formulas of the catalogue are written for people; KaTeX is told what their signs mean. */
const toTex = (text: string) =>
  text.includes("\\") ? text : NAMED.reduce((tex, [sign, name]) => tex.replace(sign, name), text);

/** A formula, built as elements: no markup in strings, which the page's policy would refuse. */
export function Formula({ tex }: { tex: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let current = true;
    void Promise.all([import("katex"), import("katex/dist/katex.min.css")]).then(([{ default: katex }]) => {
      const options = { throwOnError: false, displayMode: false, strict: false, output: "html" } as const;
      if (current && box.current) katex.render(toTex(tex), box.current, options);
    });
    return () => {
      current = false;
    };
  }, [tex]);
  return (
    <div className="formula" ref={box} role="img" aria-label={tex}>
      {""}
    </div>
  );
}
