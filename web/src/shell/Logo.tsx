export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path className="logo-sun" d="M9.5 20.5a6.5 6.5 0 0 1 13 0Z" />
      <path d="M3 19.5C6.7 13.5 11 10.5 16 10.5s9.3 3 13 9M3 24h26M16 3.5v3M6.5 6.8l1.7 2.4M25.5 6.8l-1.7 2.4" />
    </svg>
  );
}
