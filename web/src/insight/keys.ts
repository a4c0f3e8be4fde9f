/** Keys of what is seen of a training: they open it, and while it is seen go through measures and epochs. */

import { nextMeasure, stepEpoch, toggleInsight, togglePlay, toggleSheet, useInsight } from "./mode";

export const INSIGHT_HELP = [
  {
    keys: "O",
    en: "training on the network: colours by error, output, weight …",
    zh: "在网络上显示训练：误差、输出、权重……",
  },
  { keys: "M", en: "colour by the next measure", zh: "换下一种度量着色" },
  { keys: ", / .", en: "earlier / later epoch", zh: "前一轮 / 后一轮" },
  { keys: "Space", en: "play the epochs", zh: "播放各轮次" },
  { keys: "P", en: "playground: draw a digit, see the answer", zh: "试验场：画一个数字，看回答" },
  { keys: "W", en: "what goes wrong: confusion matrix and worst answers", zh: "混淆矩阵与最差的回答" },
] as const;

const whileOn = (act: () => void) => () => {
  if (useInsight.getState().on) act();
};

export const INSIGHT_KEYS: Record<string, () => void> = {
  o: toggleInsight,
  m: whileOn(nextMeasure),
  ",": whileOn(() => stepEpoch(-1)),
  ".": whileOn(() => stepEpoch(1)),
  " ": whileOn(togglePlay),
  p: () => toggleSheet("playground"),
  w: () => toggleSheet("evaluation"),
};
