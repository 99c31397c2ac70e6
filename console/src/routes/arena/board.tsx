// The board: a lane for each player. It is drawn at the rate of the screen, between the ticks, without going through React.
import { useEffect, useEffectEvent, useRef } from 'react'
import { classes } from '../../parts/classes.ts'

/** The track is at least so long, and longer once a player comes near its end. */
const LENGTH_MIN = 30
const MARGIN = 1.15

export type Positions = readonly [number, number]

export interface Runner {
  name: string
  /** Beside the name: the rating, "you". */
  note: string
  isYou: boolean
}

interface BoardProps {
  runners: readonly [Runner, Runner]
  /** Where they are now, between two ticks. */
  read: () => Positions
}

export function Board({ runners, read }: BoardProps) {
  const box = useRef<HTMLDivElement>(null)
  const draw = useEffectEvent(() => {
    if (box.current !== null) place(box.current, read())
  })
  useEffect(() => {
    let frame = requestAnimationFrame(function next() {
      draw()
      frame = requestAnimationFrame(next)
    })
    return () => cancelAnimationFrame(frame)
  }, [])
  return (
    <div ref={box} className="flex min-h-64 flex-1 flex-col gap-4 max-sm:min-h-56">
      {runners.map((runner, side) => (
        <Lane key={side} runner={runner} />
      ))}
    </div>
  )
}

function Lane({ runner: { name, note, isYou } }: { runner: Runner }) {
  return (
    <div
      data-lane
      className={classes(
        'relative flex min-h-24 flex-1 flex-col overflow-hidden rounded-md border border-line p-3',
        isYou ? 'bg-accent-soft' : 'bg-raised',
      )}
    >
      <div className="flex items-baseline gap-2">
        <span className="min-w-0 truncate text-lead font-semibold" dir="auto">
          {name}
        </span>
        <span className="text-quiet">{note}</span>
        <span data-score className="ml-auto text-display font-semibold" />
      </div>
      <div className="relative flex-1" aria-hidden="true">
        <div className="absolute inset-x-0 top-1/2 border-t border-dashed border-line-strong" />
        <div
          data-trail
          className={classes(
            'absolute top-1/2 left-0 h-2 -translate-y-1/2 rounded-full opacity-60',
            isYou ? 'bg-accent' : 'bg-(--line-strong)',
          )}
        />
        <div
          data-runner
          className={classes(
            'absolute top-1/2 size-10 -translate-1/2 rounded-full border-4 border-surface',
            isYou ? 'bg-accent' : 'bg-(--line-strong)',
          )}
        />
      </div>
    </div>
  )
}

function place(box: HTMLElement, positions: Positions): void {
  const low = Math.min(0, ...positions)
  const high = Math.max(LENGTH_MIN, ...positions.map((position) => position * MARGIN))
  box.querySelectorAll<HTMLElement>('[data-lane]').forEach((lane, side) => {
    const position = positions[side] ?? 0
    const share = (position - low) / (high - low)
    const reached = `calc(20px + ${share} * (100% - 40px))`
    const runner = lane.querySelector<HTMLElement>('[data-runner]')
    if (runner !== null) runner.style.left = reached
    const trail = lane.querySelector<HTMLElement>('[data-trail]')
    if (trail !== null) trail.style.width = reached
    const score = lane.querySelector<HTMLElement>('[data-score]')
    const text = String(Math.round(position))
    if (score !== null && score.textContent !== text) score.textContent = text
  })
}

const STILL = '(prefers-reduced-motion: reduce)'

/** Moves from the state before to the last one, in the time of a tick. Without motion it shows the last one. */
export class Interpolation {
  #from: Positions = [0, 0]
  #to: Positions = [0, 0]
  #at = 0
  readonly #tickMs: number

  constructor(tickMs: number, start: Positions) {
    this.#tickMs = tickMs
    this.#from = start
    this.#to = start
  }

  push(positions: Positions): void {
    this.#from = this.read()
    this.#to = positions
    this.#at = performance.now()
  }

  readonly read = (): Positions => {
    const share = matchMedia(STILL).matches ? 1 : Math.min(1, (performance.now() - this.#at) / this.#tickMs)
    return [mix(this.#from[0], this.#to[0], share), mix(this.#from[1], this.#to[1], share)]
  }
}

const mix = (from: number, to: number, share: number): number => from + (to - from) * share
