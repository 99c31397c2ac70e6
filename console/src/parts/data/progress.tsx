// How far something is, in words and as a bar.
import { number } from '../../clock/format.ts'

interface ProgressProps {
  label: string
  done: number
  /** Null: not known yet. */
  total: number | null
  /** What is counted: tests judged. */
  unit: string
}

export function ProgressBar({ label, done, total, unit }: ProgressProps) {
  const text = total === null ? `${number(done)} ${unit}` : `${number(done)} of ${number(total)} ${unit}`
  return (
    <div className="max-w-md">
      <p className="mb-1">{text}</p>
      {total !== null && (
        <progress
          aria-label={label}
          value={Math.min(done, total)}
          max={Math.max(1, total)}
          className="block h-2 w-full appearance-none overflow-hidden rounded-full bg-quiet-bg [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-quiet-bg [&::-webkit-progress-value]:bg-accent"
        />
      )}
    </div>
  )
}
