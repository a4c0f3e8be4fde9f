import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { applyPreferences } from "./app/preferences";
import "./app/paper.css";
import "./app/start.css";
import "./canvas/canvas.css";
import "./canvas/marks.css";
import "./canvas/hands.css";
import "./panels/boxes.css";
import "./panels/panels.css";
import "./panels/groups.css";
import "./panels/data.css";
import "./panels/dock.css";

applyPreferences();
const root = document.getElementById("studio");
if (root) createRoot(root).render(<App />);
