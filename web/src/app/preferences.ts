/** Choices that stay with the browser: theme, language, whether the dock is open. */

import { useInsight } from "../insight/mode";
import { useStudio } from "./store";

function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing still shows the choice now.
  }
}

export function applyPreferences(): void {
  const { theme, language } = useStudio.getState();
  document.documentElement.dataset.theme = theme;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

export function toggleTheme(): void {
  const theme = useStudio.getState().theme === "dark" ? "light" : "dark";
  useStudio.setState({ theme });
  store("inkcap-theme", theme);
  applyPreferences();
}

export function toggleLanguage(): void {
  const language = useStudio.getState().language === "zh" ? "en" : "zh";
  useStudio.setState({ language });
  store("inkcap-language", language);
  applyPreferences();
}

export function toggleDock(): void {
  // What lies in the dock's place makes room for it.
  const dock = useInsight.getState().sheet ? true : !useStudio.getState().dock;
  useInsight.setState({ sheet: null });
  useStudio.setState({ dock });
  store("inkcap-dock", dock ? "open" : "shut");
}
