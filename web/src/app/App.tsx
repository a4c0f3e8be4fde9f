import { lazy, Suspense, useEffect, useState } from "react";
import { Notices } from "../panels/Notices";
import { Start } from "./Start";
import { Studio } from "./Studio";
import { loadCatalogue } from "./session";

const Runs = lazy(() => import("../runs/Runs").then((module) => ({ default: module.Runs })));

/** What the address names: a drawing by its id, the runs, or nothing. */
const read = () => /^#\/(?:drawing\/([\w-]+)|(runs))/.exec(location.hash)?.slice(1, 3) ?? [];
const RUNS = "runs";

/** The page: the start screen, a drawing, or the runs, as the address says. */
export function App() {
  const [[id, page], setPlace] = useState(read);
  useEffect(() => {
    void loadCatalogue();
    const follow = () => setPlace(read());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return (
    <>
      {id ? (
        <Studio key={id} id={id} />
      ) : page === RUNS ? (
        <Suspense fallback={null}>
          <Runs />
        </Suspense>
      ) : (
        <Start />
      )}
      <Notices />
    </>
  );
}
