import { resolve } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** KaTeX names each font three times; every browser that runs the studio reads the smallest form. */
const smallestFonts: Plugin = {
  name: "smallest-fonts",
  enforce: "pre",
  transform(code, id) {
    if (!id.includes("katex")) return null;
    return id.split("?")[0]?.endsWith(".css")
      ? code.replace(/,\s*url\([^)]*\.(woff|ttf)\)\s*format\((["'])(woff|truetype)\2\)/g, "")
      : null;
  },
};

// The studio's server answers `/` and `/static/{name}`: one flat folder, no path of the disk in any request.
export default defineConfig({
  base: "/",
  plugins: [smallestFonts],
  build: {
    outDir: resolve(import.meta.dirname, "../src/inkcap/studio/web"),
    emptyOutDir: true,
    assetsDir: "static",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      "/api": { target: process.env.INKCAP_STUDIO ?? "http://127.0.0.1:8765", ws: true },
    },
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
