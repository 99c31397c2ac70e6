// The figures of submissions, as a table and as JSON.
import { percentile, spreadOf, type Spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { Floor } from './floors.ts'
import type { Figures } from './promises.ts'
import { TESTS, type Way } from './ways.ts'

export const AT_ONCE = 8

export interface Measured extends Figures {
  way: Way
  floor: Floor | null
  perSecond: number[]
  aloneMs: number[]
  inBox: number[]
  floorPerSecond: number[]
  toFloor: number[]
  compilingToFloor: number[]
}

/** For whoever watches. */
export const lastOf = ({ name, floor, perSecond, inBox, floorPerSecond }: Measured): string =>
  `${name}  ${perSecond.at(-1)?.toFixed(1)} submissions/s, slots in a box for ${percent(inBox.at(-1) ?? NaN)}` +
  (floor === null ? '' : `, ${floor.title} alone ${floorPerSecond.at(-1)?.toFixed(1)}/s`)

export function textOf(measured: readonly Measured[]): string {
  const title = `Submissions to a problem of ${TESTS} tests, over HTTP, ${AT_ONCE} at once, verdicts on disk (median, least–most)`
  const rows = measured.map(({ name, floor, perSecond, aloneMs, inBox, floorPerSecond, toFloor, compilingToFloor }) => {
    const alike =
      floor === null
        ? ['', '', '']
        : [
            `${floor.title}: ${shown(spreadOf(floorPerSecond), 1)}`,
            percentile(toFloor, 50).toFixed(2),
            compilingToFloor.length === 0 ? '' : shown(spreadOf(compilingToFloor), 2),
          ]
    return [name, shown(spreadOf(perSecond), 1), shown(spreadOf(aloneMs), 0), percent(percentile(inBox, 50)), ...alike]
  })
  const heads = [
    '',
    'submissions/s',
    'one alone, ms',
    'slots in a box',
    'alone in a box, /s',
    'a submission to that',
    'compiling to that',
  ]
  return `${title}\n\n${table(heads, rows)}`
}

export const jsonOf = ({ name, perSecond, aloneMs, inBox, floorPerSecond, toFloor, compilingToFloor }: Measured) => ({
  way: name,
  submissionsPerSecond: spreadOf(perSecond),
  oneAloneMs: spreadOf(aloneMs),
  shareInBox: spreadOf(inBox),
  ...(toFloor.length === 0 ? {} : { aloneInABoxPerSecond: spreadOf(floorPerSecond), toThat: spreadOf(toFloor) }),
  ...(compilingToFloor.length === 0 ? {} : { compilingToThat: spreadOf(compilingToFloor) }),
})

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`

const shown = ({ median, min, max }: Spread, digits: number): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`
