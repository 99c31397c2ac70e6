// Icons of 16 × 16, drawn with a stroke of the text's colour. They only accompany words.

const PATHS = {
  overview: 'M2 13V9m4 4V4m4 9V7m4 6V2',
  jobs: 'M3 4h10M3 8h10M3 12h6',
  judge: 'm5 5-3 3 3 3m6-6 3 3-3 3M9 3 7 13',
  challenge: 'M2 8h9m0 0L8 5m3 3-3 3m5-8v10',
  pool: 'M3 3h10v4H3zM3 9h10v4H3zM5.5 5h0m0 6h0',
  desk: 'M2 10h3l1 2h4l1-2h3M3 4l-1 6v3h12v-3l-1-6z',
  arena: 'm3 3 7 7m0-7-7 7m-1 3 2-2m8 2-2-2m3-8h0',
  admin: 'M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4z',
  docs: 'M3 3h4a1.5 1.5 0 0 1 1 .5A1.5 1.5 0 0 1 9 3h4v9H9.5a1.5 1.5 0 0 0-1.5 1 1.5 1.5 0 0 0-1.5-1H3zM8 3.5V13',
  home: 'M2.5 7.5 8 3l5.5 4.5M4 7v6h8V7',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10m3.5-1.5L14 14',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  cross: 'm4 4 8 8m0-8-8 8',
  warn: 'M8 2.5 14.5 13h-13zM8 6.5v3m0 1.8v.2',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12m0-6.5V11M8 5v.2',
  wait: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 5v3.2l2 1.3',
  run: 'M5 3.5v9l7-4.5z',
  pause: 'M5.5 3.5v9m5-9v9',
  replay: 'M3 8a5 5 0 1 0 1.6-3.7M4.5 1.5v3h3',
  more: 'M4 8h0m4 0h0m4 0h0',
  down: 'm4 6 4 4 4-4',
  right: 'm6 4 4 4-4 4',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4',
  plus: 'M8 3v10M3 8h10',
  bin: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5 5 13h6l.5-8.5',
  person: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5m-5 5.5c.5-2.5 2.5-4 5-4s4.5 1.5 5 4',
  link: 'M6.5 9.5 9.5 6.5M7 4.5 8.5 3A3 3 0 0 1 13 7.5L11.500 9M9 11.500 7.500 13A3 3 0 0 1 3 8.500L4.500 7',
  download: 'M8 2v8m0 0L5 7m3 3 3-3M3 13h10',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      className={`size-4 shrink-0 ${className}`}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
