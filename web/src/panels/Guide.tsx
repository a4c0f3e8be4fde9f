import { useEffect } from "react";
import { add } from "../app/actions";
import { toggleDock } from "../app/preferences";
import { type StudioState, useStudio } from "../app/store";
import { words } from "../app/words";
import { facesOf, readTyped, score, withSizes } from "./faces";

interface Step {
  en: string;
  zh: string;
  /** What a person types into the quick box for this step. */
  typed?: string;
  done: (state: StudioState) => boolean;
}

const drawn = (count: number) => (state: StudioState) => state.drawing.capsule.size >= count;

const STEPS: Step[] = [
  {
    en: "A digit is a picture of 8×8 numbers: a matrix array with one channel. Press / and type",
    zh: "一个数字是 8×8 的图片：一个单通道的矩阵数组。按 / 键并输入",
    typed: "2D-data 8x8x1",
    done: drawn(1),
  },
  {
    en: "32 kernels of 3×3 look for strokes. What comes out has 32 channels: read it under the capsule.",
    zh: "32 个 3×3 的卷积核寻找笔画，输出有 32 个通道：见胶囊下方。",
    typed: "2D-ReLU kernels=32 kernel=3 padding=1",
    done: drawn(2),
  },
  {
    en: "Keep the strongest of every 2×2: the picture halves.",
    zh: "每 2×2 取最大值：图片缩小一半。",
    typed: "2D-maximum window=2",
    done: drawn(3),
  },
  {
    en: "64 kernels look for shapes made of strokes.",
    zh: "64 个卷积核寻找由笔画组成的形状。",
    typed: "2D-ReLU kernels=64 kernel=3 padding=1",
    done: drawn(4),
  },
  { en: "Halve it again.", zh: "再缩小一半。", typed: "2D-maximum window=2", done: drawn(5) },
  {
    en: "Lay all numbers in one row: the studio proposes a reshaping connection by itself.",
    zh: "把所有数字排成一行：工作室会自动建议变形连接。",
    typed: "1D-identical",
    done: drawn(6),
  },
  {
    en: "A full connection joins every number to 128 others.",
    zh: "全连接把每个数与另外 128 个数相连。",
    typed: "1D-ReLU 128",
    done: drawn(7),
  },
  {
    en: "Ten numbers that add up to one: how sure the network is of each digit.",
    zh: "十个和为一的数：网络对每个数字的把握。",
    typed: "1D-softmax 10",
    done: drawn(8),
  },
  {
    en: "It is well formed: LeNet is drawn. Open the training dock.",
    zh: "结构正确：LeNet 画好了。打开训练面板。",
    done: (state) => state.dock,
  },
  { en: "Press Start training, and watch it learn the digits.", zh: "按“开始训练”，看它学习数字。", done: () => false },
];

function doStep(step: Step): void {
  const { catalogue, scene } = useStudio.getState();
  if (!catalogue) return;
  if (!step.typed) return toggleDock();
  const typed = readTyped(step.typed);
  const [best] = facesOf(catalogue)
    .map((face) => ({ face, score: score(face, typed.query) }))
    .sort((a, b) => b.score - a.score);
  const last = [...scene.capsule.keys()].at(-1) ?? null;
  if (best) add(best.face, null, last, withSizes(best.face, typed));
}

/** The guided first drawing: one thing at a time, by hand or by its button. */
export function Guide() {
  const at = useStudio((s) => s.guide);
  const language = useStudio((s) => s.language);
  const ahead = useStudio((s) => (at === null ? null : STEPS[at]?.done(s) ? at + 1 : at));
  useEffect(() => {
    if (ahead !== at) useStudio.setState({ guide: ahead });
  }, [ahead, at]);
  const step = at === null ? undefined : STEPS[at];
  if (at === null || !step) return null;
  const word = words(language);
  return (
    <div className="guide" role="region" aria-label={word.guided} aria-live="polite">
      <span className="guide-count">
        {at + 1} / {STEPS.length}
      </span>
      <p>{step[language]}</p>
      {step.typed && <code>{step.typed}</code>}
      <div>
        <button type="button" className="button" onClick={() => useStudio.setState({ guide: null })}>
          {word.skipGuide}
        </button>
        {at < STEPS.length - 1 && (
          <button type="button" className="button primary" onClick={() => doStep(step)}>
            {word.next}
          </button>
        )}
      </div>
    </div>
  );
}
