/** What dialogs and forms of exchange have in common. */

import { useEffect, useState } from "react";
import { api } from "../api/client";

/** The file of weights that lies beside a drawing, such as an import leaves. */
export function useWeights(id: string | null): string | null {
  const [file, setFile] = useState<string | null>(null);
  useEffect(() => {
    let current = true;
    setFile(null);
    if (id)
      api.weights(id).then(
        (found) => current && setFile(found.file),
        () => undefined,
      );
    return () => {
      current = false;
    };
  }, [id]);
  return file;
}

/** How many seconds something has been going on. */
export function useSeconds(going: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (!going) return;
    setSeconds(0);
    const timer = setInterval(() => setSeconds((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [going]);
  return seconds;
}
