import { useEffect, useState } from "react";
import { Notices } from "../panels/Notices";
import { Start } from "./Start";
import { Studio } from "./Studio";
import { loadCatalogue } from "./session";

const read = () => /^#\/drawing\/([\w-]+)/.exec(location.hash)?.[1] ?? null;

/** The page: the start screen, or a drawing, as the address says. */
export function App() {
  const [id, setId] = useState(read);
  useEffect(() => {
    void loadCatalogue();
    const follow = () => setId(read());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return (
    <>
      {id ? <Studio key={id} id={id} /> : <Start />}
      <Notices />
    </>
  );
}
