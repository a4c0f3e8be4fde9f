import { lazy, Suspense, useEffect, useState } from "react";
import { Notices } from "../panels/Notices";
import { Start } from "./Start";
import { Studio } from "./Studio";
import { loadCatalogue } from "./session";

const Sweeps = lazy(() => import("../sweeps/Sweeps").then((module) => ({ default: module.Sweeps })));
const Runs = lazy(() => import("../runs/Runs").then((module) => ({ default: module.Runs })));

/** What the address names: a drawing by its id, the runs, the sweeps, or nothing. */
const read = () => /^#\/(?:drawing\/([\w-]+)|(runs|sweeps))/.exec(location.hash)?.slice(1, 3) ?? [];
const PAGES: Record<string, typeof Runs> = { runs: Runs, sweeps: Sweeps };

/** The page: the start screen, a drawing, the runs or the sweeps, as the address says. */
export function App() {
  const [[id, page], setPlace] = useState(read);
  useEffect(() => {
    void loadCatalogue();
    const follow = () => setPlace(read());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  const Page = page ? PAGES[page] : undefined;
  return (
    <>
      {id ? (
        <Studio key={id} id={id} />
      ) : Page ? (
        <Suspense fallback={null}>
          <Page />
        </Suspense>
      ) : (
        <Start />
      )}
      <Notices />
    </>
  );
}
