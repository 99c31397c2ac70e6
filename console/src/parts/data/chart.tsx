// A line over time, drawn by uPlot, which is loaded when the first chart is shown. Charts with the same `group` share the cursor.
import { useEffect, useEffectEvent, useRef } from 'react'
import type UPlot from 'uplot'
import { exact } from '../../clock/format.ts'

export interface ChartLine {
  label: string
  /** A token: `--accent`, `--bad-fg`. */
  colour: string
  values: readonly (number | null)[]
}

interface ChartProps {
  title: string
  /** Seconds since 1970, one per value. */
  times: readonly number[]
  lines: readonly ChartLine[]
  /** How a value is written: 12/s, 820 ms. */
  format: (value: number) => string
  group?: string
  height?: number
  /** Where the axis begins: at zero, or near the least value. */
  base?: 'zero' | 'least'
}

export function Chart({ title, times, lines, format, group, height = 120, base = 'zero' }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | null>(null)
  const shape = lines.map(({ label, colour }) => `${label} ${colour}`).join()

  const draw = useEffectEvent((Plot: typeof UPlot, element: HTMLElement) => {
    plot.current?.destroy()
    plot.current = new Plot(optionsOf(element, lines, format, { height, group, base }), dataOf(times, lines), element)
  })

  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    let isGone = false
    const load = async () => {
      const [{ default: Plot }] = await Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')])
      if (!isGone) draw(Plot, element)
    }
    void load()
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    const media = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => void load()
    media.addEventListener('change', redraw)
    const theme = new MutationObserver(redraw)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      isGone = true
      theme.disconnect()
      resize.disconnect()
      media.removeEventListener('change', redraw)
      plot.current?.destroy()
      plot.current = null
    }
  }, [shape, height, group])

  useEffect(() => {
    plot.current?.setData(dataOf(times, lines))
  }, [times, lines])

  return (
    <figure className="min-w-0">
      <figcaption className="flex flex-wrap items-center gap-x-3 text-small text-quiet">
        <span className="font-medium text-text">{title}</span>
        {lines.map((line) => (
          <span key={line.label} className="inline-flex items-center gap-1">
            <span aria-hidden="true" className="inline-block h-0.5 w-3" style={{ background: `var(${line.colour})` }} />
            {line.label} <span className="text-text">{lastOf(line.values, format)}</span>
          </span>
        ))}
      </figcaption>
      <div ref={box} aria-hidden="true" style={{ height }} />
    </figure>
  )
}

const lastOf = (values: readonly (number | null)[], format: (value: number) => string): string => {
  const last = values.findLast((value) => value !== null)
  return typeof last === 'number' ? format(last) : '–'
}

const dataOf = (times: readonly number[], lines: readonly ChartLine[]): UPlot.AlignedData => [
  [...times],
  ...lines.map(({ values }) => [...values]),
]

interface Shape {
  height: number
  group: string | undefined
  base: 'zero' | 'least'
}

function optionsOf(
  element: HTMLElement,
  lines: readonly ChartLine[],
  format: (value: number) => string,
  { height, group, base }: Shape,
): UPlot.Options {
  const axis = { stroke: colourOf(element, '--text-quiet'), grid: { stroke: colourOf(element, '--line'), width: 1 } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    cursor: { y: false, ...(group === undefined ? {} : { sync: { key: group } }) },
    scales: { y: base === 'zero' ? { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } : {} },
    axes: [
      { ...axis, ticks: { show: false }, size: 24, space: 72, values: timesOf },
      { ...axis, ticks: { show: false }, size: 56, values: (_plot, values) => differing(values.map(format)) },
    ],
    series: [
      {},
      ...lines.map(({ label, colour }) => ({
        label,
        stroke: colourOf(element, colour),
        width: 1.5,
        points: { show: false },
      })),
    ],
  }
}

/** Of steps that are written alike, the first: a count has no halves. */
const differing = (texts: readonly string[]): string[] =>
  texts.map((text, index) => (text === texts[index - 1] ? '' : text))

const MINUTE_SEC = 60
const DAY_SEC = 86_400

/** As exact as the steps of the axis need: 10:00:05, 10:05, 2026-01-31. */
function timesOf(_plot: UPlot, seconds: number[], _axis: number, _space: number, stepSec: number): string[] {
  const texts = seconds.map((at) => exact(at * 1000))
  if (stepSec >= DAY_SEC) return texts.map((text) => text.slice(0, 10))
  return texts.map((text) => text.slice(11, stepSec >= MINUTE_SEC ? 16 : 19))
}

/** A canvas knows no custom properties. */
function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${token})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
