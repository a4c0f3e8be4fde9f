/** The ink cap. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 22 22" aria-hidden="true">
      <path className="cap" d="M2 12C2 6 6 2 11 2s9 4 9 10c-3 1.6-6 2-9 2s-6-.4-9-2Z" />
      <path className="stem" d="M9 14v6h4v-6M5 12.5v3M17 12.5v4" />
    </svg>
  );
}
