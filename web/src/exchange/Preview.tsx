import { useEffect, useState } from "react";
import { api } from "../api/client";
import { useStudio } from "../app/store";
import { words } from "../app/words";

const PAUSE = 250;

/** A figure as it would be exported, drawn anew when a person has stopped choosing. */
export function Preview({ id, looks }: { id: string; looks: string }) {
  const word = words(useStudio((s) => s.language));
  const [picture, setPicture] = useState("");
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    const stopping = new AbortController();
    const draw = async () => {
      try {
        const drawn = await api.figure(id, looks, stopping.signal);
        setWrong("");
        setPicture(drawn);
      } catch (error) {
        if (!stopping.signal.aborted) setWrong((error as Error).message);
      }
    };
    const timer = setTimeout(() => void draw(), PAUSE);
    return () => {
      clearTimeout(timer);
      stopping.abort();
    };
  }, [id, looks]);
  useEffect(() => () => URL.revokeObjectURL(picture), [picture]);
  return (
    <div className="export-preview" data-drawn={picture !== "" && !wrong}>
      {wrong ? (
        <p>
          {word.noPreview} {wrong}
        </p>
      ) : (
        picture && <img src={picture} alt={word.preview} />
      )}
    </div>
  );
}
